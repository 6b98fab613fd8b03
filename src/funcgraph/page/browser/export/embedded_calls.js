// Answers of an exported page about single calls: which one is there, its values, and others of its function.

import {CELL, ENDS, RAISE} from "../base/spans.js";

const MOST_PARENTS = 1000;

/** Return the last row of `first`..`last` that begins no later than a time; `first` - 1: there is none. */
export function lastBeginning(rows, first, last, time) {
    let low = first,
        high = last;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rows.begin[middle] <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/** Return the numbers of the functions whose names have a text, in any case; `*` and `?` make a pattern. */
export function matchingFunctions(functions, text) {
    const found = [];
    const pattern = /[*?[]/.test(text) ? globOf(text) : null,
        word = text.toLowerCase();
    functions.forEach(({name}, number) => {
        if (pattern ? pattern.test(name) : name.toLowerCase().includes(word)) found.push(number);
    });
    return found;
}

function globOf(text) {
    const parts = text.match(/\*|\?|\[!?\]?[^\]]*\]|[^]/gu).map((part) => {
        if (part === "*") return "[^]*";
        if (part === "?") return "[^]";
        if (part.length > 1 && part.startsWith("[")) return `[${part[1] === "!" ? "^" : ""}${inSet(part)}]`;
        return part.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&");
    });
    return new RegExp(`^${parts.join("")}$`, "u");
}

const inSet = (part) => part.slice(part[1] === "!" ? 2 : 1, -1).replace(/[\\^[\]&]/gu, "\\$&");

/** Answers about calls. */
export class CallAnswers {
    constructor(trace) {
        this.trace = trace;
        this.byFunction = null;
    }

    /** Return the rows of each function in the order of time, as [lane, row]; made when they are needed. */
    rowsOf(number) {
        if (!this.byFunction) {
            this.byFunction = new Map();
            this.trace.rows.forEach((rows, lane) => {
                for (let i = 0; i < rows.n; i++) {
                    if (rows.ended[i] === CELL) continue;
                    if (!this.byFunction.has(rows.function[i])) this.byFunction.set(rows.function[i], []);
                    this.byFunction.get(rows.function[i]).push([lane, i]);
                }
            });
            for (const places of this.byFunction.values())
                places.sort((a, b) => this.begin(a) - this.begin(b) || a[0] - b[0]);
        }
        return this.byFunction.get(number) ?? [];
    }

    begin([lane, i]) {
        return this.trace.rows[lane].begin[i];
    }

    took([lane, i]) {
        return this.trace.rows[lane].end[i] - this.trace.rows[lane].begin[i];
    }

    /** Return what the columns have of a row. */
    head([lane, i], depth = this.depthOf(lane, i)) {
        const rows = this.trace.rows[lane];
        return {
            lane,
            function: rows.function[i] < this.trace.head.functions.length ? rows.function[i] : null,
            begin_ns: rows.begin[i],
            end_ns: rows.end[i],
            depth,
            ended: ENDS[rows.ended[i]],
            resumed: Boolean(rows.resumed[i]),
        };
    }

    depthOf(lane, i) {
        return this.trace.rows[lane].depths.find(({first, last}) => first <= i && i < last).depth;
    }

    /** Return the calls in progress at a time, the innermost first. */
    stackAt(lane, time) {
        const rows = this.trace.rows[lane],
            found = [];
        for (const {depth, first, last} of rows.depths) {
            const i = lastBeginning(rows, first, last, time);
            if (i < first || rows.ended[i] === CELL) continue;
            if (rows.end[i] > time || rows.begin[i] === time) found.unshift({i, depth});
        }
        return found;
    }

    call({lane, time, depth}) {
        const place = this.placeOfCall(lane, time, depth);
        if (!place) return {call: null};
        const {runs, thread, stack} = place,
            detail = this.detail(thread, stack[0], stack.slice(1));
        if (!runs) return {call: detail};
        const parents = detail.parents.map((parent) => runs.placed(parent));
        return {call: {...runs.placed(detail), parents}};
    }

    /**
     * Return where the call in a lane at a time is: in which thread, and the calls in progress there from it on;
     * null: there is none. `runs`: those of the lane, if it is none of a thread.
     */
    placeOfCall(lane, time, depth) {
        const runs = this.trace.runsOf(lane),
            run = runs?.at(time);
        if (run < 0) return null;
        const thread = runs ? runs.place[run] : lane,
            level = depth === undefined ? undefined : depth + (runs ? runs.depth[run] : 0),
            stack = this.stackAt(thread, time),
            at = level === undefined ? 0 : stack.findIndex((entry) => entry.depth === level);
        return stack[at] ? {runs, thread, stack: stack.slice(at)} : null;
    }

    detail(lane, {i, depth}, around) {
        const {trace} = this,
            head = this.head([lane, i], depth),
            began = trace.valuesAt("b", lane, head.begin_ns, depth),
            ended = trace.valuesAt("e", lane, head.end_ns, depth);
        return {
            ...head,
            thread: lane,
            arguments: began?.arguments ?? null,
            result: ended?.result ?? null,
            exception: ended?.exception ?? null,
            total_ns: head.end_ns - head.begin_ns,
            own_ns: this.own(lane, i, depth),
            parents: this.parents(lane, began, around),
            nth: this.nth(lane, i),
            of: this.histogram({function: head.function}).bins.reduce((sum, [, calls]) => sum + calls, 0),
            source: trace.source(head.function),
            caller_source: null,
            report: trace.reportCommand(lane, head.begin_ns, head.end_ns),
        };
    }

    parents(lane, began, around) {
        let line = began?.line ?? null;
        return around.slice(0, MOST_PARENTS).map(({i, depth}) => {
            const parent = {...this.head([lane, i], depth), line};
            line = this.trace.valuesAt("b", lane, parent.begin_ns, depth)?.line ?? null;
            return parent;
        });
    }

    /** Return the time of a stretch without its callees; null: short ones of these cannot be told apart. */
    own(lane, i, depth) {
        const rows = this.trace.rows[lane],
            below = rows.depths.find((level) => level.depth > depth);
        let own = rows.end[i] - rows.begin[i];
        if (!below) return own;
        const first = lastBeginning(rows, below.first, below.last, rows.begin[i] - 1) + 1;
        for (let k = first; k < below.last; k++) {
            if (rows.begin[k] >= rows.end[i]) break;
            if (rows.ended[k] === CELL && rows.end[k] > rows.end[i]) return null;
            own -= rows.busy[k];
        }
        return Math.max(own, 0);
    }

    nth(lane, i) {
        const {trace} = this;
        if (trace.hasCells) return null;
        const places = this.rowsOf(trace.rows[lane].function[i]);
        if (places.some(([other, k]) => trace.rows[other].resumed[k])) return null;
        return places.findIndex(([other, k]) => other === lane && k === i) + 1;
    }

    step({function: number, time, direction = "next", lane, raised}) {
        const fits = (place) =>
            (lane === undefined || place[0] === lane) &&
            (!raised || this.trace.rows[place[0]].ended[place[1]] === RAISE);
        const places = this.rowsOf(number).filter(fits);
        const found =
            direction === "next"
                ? places.find((place) => this.begin(place) > time)
                : places.findLast((place) => this.begin(place) < time);
        return {call: found ? this.head(found) : null, complete: true};
    }

    longest({function: number, least = 0, most = 20}) {
        const places = this.rowsOf(number).filter((place) => this.took(place) >= least);
        places.sort((a, b) => this.took(b) - this.took(a));
        return {calls: places.slice(0, most).map((place) => this.head(place))};
    }

    /** Return how many calls took how long: of a whole trace as its index has it, of a part from the rows. */
    histogram({function: number}) {
        const known = this.trace.head.histograms[number],
            bins = new Map();
        if (known) return {bins: known};
        for (const place of this.rowsOf(number)) {
            const took = this.took(place),
                least = took < 1 ? 0 : 2 ** Math.floor(Math.log2(took));
            bins.set(least, (bins.get(least) ?? 0) + 1);
        }
        return {bins: [...bins].sort((a, b) => a[0] - b[0])};
    }

    search({text, lane, begin = 0, end = Infinity, values, most = 1000}) {
        const hits = values ? this.withValue(text) : this.named(text);
        const fits = hits.filter(
            (hit) => (lane === undefined || hit.lane === lane) && hit.begin_ns >= begin && hit.begin_ns < end,
        );
        const functions = values
            ? [...new Set(fits.map((hit) => hit.function))]
            : matchingFunctions(this.trace.head.functions, text);
        const shown = fits.slice(0, most).map(({ended, resumed, ...hit}) => hit);
        return {functions, hits: shown, count: fits.length, complete: fits.length <= most};
    }

    named(text) {
        const places = matchingFunctions(this.trace.head.functions, text).flatMap((n) => this.rowsOf(n));
        return places.sort((a, b) => this.begin(a) - this.begin(b)).map((place) => this.head(place));
    }

    withValue(text) {
        const word = text.toLowerCase(),
            found = new Map();
        for (const [key, value] of this.trace.values) {
            const given = (value.arguments ?? []).map(([, shown]) => shown),
                texts = [...given, value.result, value.exception];
            if (!texts.some((shown) => shown?.toLowerCase().includes(word))) continue;
            const [lane, time, depth] = key.slice(1).split(",").map(Number),
                place = this.placeOf(key[0], lane, time, depth);
            if (place) found.set(place.join(), place);
        }
        const places = [...found.values()].sort((a, b) => this.begin(a) - this.begin(b));
        return places.map((place) => this.head(place));
    }

    /** Return the row that begins ("b") or ends ("e") at a time. */
    placeOf(what, lane, time, depth) {
        const rows = this.trace.rows[lane],
            level = rows.depths.find((other) => other.depth === depth);
        if (!level) return null;
        const i = lastBeginning(rows, level.first, level.last, time);
        const times = what === "b" ? rows.begin : rows.end;
        for (let k = i; k >= Math.max(level.first, i - 1); k--)
            if (rows.ended[k] !== CELL && times[k] === time) return [lane, k];
        return null;
    }
}
