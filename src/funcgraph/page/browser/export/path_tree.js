// A merged call tree, and what a person does with it, in an exported page: as path_tree.py on the server.

export const NO_PARENT = -1;
const MOST_CALLERS = 200;

/** Paths of functions, each once, after the path without its last function. */
export class PathTree {
    constructor() {
        this.parent = [];
        this.function = [];
        this.calls = [];
        this.own = [];
        this.raised = [];
        this.places = new Map();
    }

    get size() {
        return this.parent.length;
    }

    /** Add figures to a path, which is there then; return its place. */
    add(parent, func, calls = 0, own = 0, raised = 0) {
        const key = `${parent},${func}`;
        let place = this.places.get(key);
        if (place === undefined) {
            place = this.size;
            this.places.set(key, place);
            this.parent.push(parent);
            this.function.push(func);
            for (const column of [this.calls, this.own, this.raised]) column.push(0);
        }
        this.calls[place] += calls;
        this.own[place] += own;
        this.raised[place] += raised;
        return place;
    }

    /** Return of each path the time in it and below. */
    totals() {
        const totals = [...this.own];
        for (let place = this.size - 1; place >= 0; place--)
            if (this.parent[place] !== NO_PARENT) totals[this.parent[place]] += totals[place];
        return totals;
    }

    /** Return the functions of a path, the first caller first. */
    path(place) {
        const found = [];
        for (let at = place; at !== NO_PARENT; at = this.parent[at]) found.unshift(this.function[at]);
        return found;
    }

    /** Return how often a path has its own last function before it. */
    repeats(place, func = this.function[place]) {
        let found = 0;
        for (let at = this.parent[place]; at !== NO_PARENT; at = this.parent[at])
            found += this.function[at] === func;
        return found;
    }

    /** Call a function with each place, and its figures. */
    each(run) {
        for (let place = 0; place < this.size; place++)
            run(
                place,
                this.parent[place],
                this.function[place],
                this.calls[place],
                this.own[place],
                this.raised[place],
            );
    }
}

const above = (places, parent) => (parent === NO_PARENT ? NO_PARENT : places[parent]);

/** Leave functions out as if they had been inlined. */
export function hide(tree, functions) {
    const made = new PathTree(),
        places = [];
    tree.each((place, parent, func, calls, own, raised) => {
        const at = above(places, parent);
        if (functions.has(func)) {
            places.push(at);
            if (at !== NO_PARENT) made.own[at] += own;
        } else places.push(made.add(at, func, calls, own, raised));
    });
    return made;
}

/** Leave out functions, all that they call, and their time. */
export function without(tree, functions) {
    const made = new PathTree(),
        places = [];
    tree.each((place, parent, func, ...figures) => {
        const at = above(places, parent);
        places.push(at === null || functions.has(func) ? null : made.add(at, func, ...figures));
    });
    return made;
}

/** Leave only what runs in these functions. */
export function focus(tree, functions) {
    const inside = [],
        needed = new Array(tree.size).fill(false);
    tree.each((place, parent, func) =>
        inside.push(functions.has(func) || (parent !== NO_PARENT && inside[parent])),
    );
    for (let place = tree.size - 1; place >= 0; place--) {
        needed[place] ||= inside[place];
        if (needed[place] && tree.parent[place] !== NO_PARENT) needed[tree.parent[place]] = true;
    }
    const made = new PathTree(),
        places = [];
    tree.each((place, parent, func, calls, own, raised) => {
        const left = inside[place] ? own : 0;
        places.push(needed[place] ? made.add(above(places, parent), func, calls, left, raised) : NO_PARENT);
    });
    return made;
}

/** Count a call of a function that is in progress where that is. */
export function mergeRecursion(tree) {
    const made = new PathTree(),
        places = [];
    tree.each((place, parent, func, ...figures) => {
        let at = above(places, parent);
        for (let up = at; up !== NO_PARENT; up = made.parent[up])
            if (made.function[up] === func) {
                at = made.parent[up];
                break;
            }
        places.push(made.add(at, func, ...figures));
    });
    return made;
}

/** Make one of calls within a group: only calls from group to group are left. */
export function collapse(tree, groupOf) {
    const made = new PathTree(),
        places = [];
    tree.each((place, parent, func, calls, own, raised) => {
        const group = groupOf(func),
            at = above(places, parent);
        if (at !== NO_PARENT && made.function[at] === group) {
            made.add(made.parent[at], group, 0, own, raised);
            places.push(at);
        } else places.push(made.add(at, group, calls, own, raised));
    });
    return made;
}

/** Return the tree of callers: what goes on from a path called it. */
export function invert(tree) {
    const made = new PathTree();
    tree.each((place, parent, func, calls, own, raised) => {
        if (!calls && !own && !raised) return;
        let at = NO_PARENT;
        const callers = tree.path(place).slice(-MOST_CALLERS).reverse();
        for (const step of callers) at = made.add(at, step, calls, 0, raised);
        made.own[at] += own;
    });
    return made;
}
