// Answers of an exported page from call trees: the tree of a part, the table of functions, the butterfly.

import {matchingFunctions} from "./embedded_calls.js";
import {NO_PARENT, PathTree, collapse, focus, hide, invert, mergeRecursion, without} from "./path_tree.js";
import {CELL, RAISE, lastBeginningBy} from "../base/spans.js";

/** Answers from trees. */
export class TreeAnswers {
    constructor(trace) {
        this.trace = trace;
        this.unit = trace.head.has_times ? "ns" : "calls";
    }

    tree(question) {
        const modules = [],
            tree = this.changed(question, this.part(question), modules),
            totals = tree.totals(),
            nodes = [];
        tree.each((place, parent, func, calls, own, raised) =>
            nodes.push([parent, func, calls, totals[place], own, raised]),
        );
        return {nodes, cut: false, modules, unit: this.unit};
    }

    table(question) {
        const modules = [],
            tree = this.changed(question, this.part(question), modules),
            totals = tree.totals(),
            rows = new Map();
        const limits = this.isWhole(question) && !hasOperations(question) ? this.trace.head.limits : {};
        tree.each((place, parent, func, calls, own, raised) => {
            if (this.trace.head.groups.includes(func)) return;
            if (!rows.has(func)) rows.set(func, [func, 0, 0, 0, ...(limits[func] ?? [null, null]), 0]);
            const row = rows.get(func);
            row[1] += calls;
            row[2] += tree.repeats(place) ? 0 : totals[place];
            row[3] += own;
            row[6] += raised;
        });
        const sorted = [...rows.values()].sort((a, b) => b[3] - a[3] || a[0] - b[0]);
        return {rows: sorted, cut: false, modules, unit: this.unit};
    }

    butterfly(question) {
        const tree = this.changed(question, this.part(question), []),
            totals = tree.totals(),
            number = question.function,
            callers = new Map(),
            callees = new Map(),
            all = {total_ns: 0, own_ns: 0, calls: 0};
        const add = (rows, func, calls, total) => {
            const row = rows.get(func) ?? [func, 0, 0];
            rows.set(func, [func, row[1] + calls, row[2] + total]);
        };
        tree.each((place, parent, func, calls, own) => {
            const caller = parent === NO_PARENT ? NO_PARENT : tree.function[parent];
            if (func === number) {
                const total = tree.repeats(place) ? 0 : totals[place];
                all.calls += calls;
                all.own_ns += own;
                all.total_ns += total;
                add(callers, caller, calls, total);
            }
            // Within another call of the function, it is in the figures of that already.
            if (caller === number)
                add(callees, func, calls, tree.repeats(place, number) === 1 ? totals[place] : 0);
        });
        const ranked = (rows) =>
            [...rows.values()].sort((a, b) => b[2] - a[2] || b[1] - a[1] || a[0] - b[0]);
        return {callers: ranked(callers), callees: ranked(callees), ...all, unit: this.unit};
    }

    isWhole({begin = 0, end = Infinity, lanes}) {
        return lanes === undefined && begin <= 0 && end > this.trace.head.trace.duration_ns;
    }

    /** Return the tree of a part: that of all comes with the page, and is exact. */
    part(question) {
        if (this.isWhole(question)) {
            const tree = new PathTree();
            for (const row of this.trace.head.tree) tree.add(...row);
            return tree;
        }
        const {begin = 0, end = this.trace.head.trace.duration_ns + 1, lanes} = question,
            tree = new PathTree(),
            chosen = lanes === undefined ? this.trace.head.call_lanes : String(lanes).split(",").map(Number);
        for (const lane of chosen) addLane(tree, this.trace.rowsOf(lane), begin, end);
        return tree;
    }

    /** Do to a tree what a question says; `modules` gets the names of groups. */
    changed(question, tree, modules) {
        const {head} = this.trace,
            numbers = (text) => new Set(matchingFunctions(head.functions, text));
        let made = tree;
        if (question.waiting === "0") made = without(made, new Set(head.waiting));
        if (question.hide) made = hide(made, numbers(question.hide));
        if (question.focus) made = focus(made, numbers(question.focus));
        if (question.merge === "recursion") made = mergeRecursion(made);
        if (question.collapse === "module")
            made = collapse(made, (func) => {
                const module = head.functions[func]?.module ?? "";
                if (!modules.includes(module)) modules.push(module);
                return -2 - modules.indexOf(module);
            });
        return question.invert && question.invert !== "0" ? invert(made) : made;
    }
}

const hasOperations = (question) =>
    ["waiting", "hide", "focus", "merge", "collapse", "invert"].some((name) => question[name] !== undefined);

/** Add the rows of a lane in a part, level by level: rows of a level lie in those of the ones above. */
function addLane(tree, rows, begin, end) {
    const above = []; // {at, begin, end}, by level: places of the tree with their stretches
    for (const {first, last} of rows.depths) {
        const level = [];
        for (let i = first; i < last && rows.begin[i] < end; i++) {
            const from = Math.max(rows.begin[i], begin),
                to = Math.min(rows.end[i], end);
            if (to < from || (to === from && rows.begin[i] < begin)) continue;
            const at = addRow(tree, rows, i, parentOf(above, rows.begin[i], from), {end, from, to});
            level.push({at, begin: rows.begin[i], end: rows.end[i]});
        }
        above.push(level);
    }
}

/** Return the place of the nearest stretch above: a kernel's calls may lack their callers. */
function parentOf(above, begin, from) {
    for (let up = above.length - 1; up >= 0; up--) {
        const level = above[up],
            latest = lastBeginningBy(level.length, (i) => level[i].begin, begin);
        if (latest >= 0 && level[latest].end > from) return level[latest].at;
    }
    return NO_PARENT;
}

function addRow(tree, rows, i, parent, {end, from, to}) {
    const isCell = rows.ended[i] === CELL,
        length = rows.end[i] - rows.begin[i],
        own = isCell ? Math.round(rows.busy[i] * (length ? (to - from) / length : 1)) : to - from;
    const calls = rows.resumed[i] ? 0 : rows.count[i],
        raises = rows.ended[i] === RAISE && rows.end[i] <= end ? 1 : 0;
    if (parent !== NO_PARENT) tree.own[parent] -= own;
    return tree.add(parent, rows.function[i], calls, own, raises);
}
