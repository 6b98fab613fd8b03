// Lanes of an exported page that are made of runs: of tasks, greenlets and CPUs. As task_lanes.py on the server.

import {CELL, SUSPEND, firstEndingAfter, lastBeginningBy} from "../base/spans.js";

/** The runs of a lane: columns of begin, end, the thread's lane, and the level of the root there. */
export class Runs {
    constructor(lane, columns) {
        this.lane = lane;
        Object.assign(this, columns);
        this.rows = null;
    }

    /** Return the run at a time; -1: it does not run then. */
    at(time) {
        const run = lastBeginningBy(this.n, (i) => this.begin[i], time);
        return run >= 0 && this.end[run] >= time ? run : -1;
    }

    /** Return a call of a thread as it is in this lane: itself, if it is in no run. */
    placed(head) {
        const run = this.at(head.begin_ns);
        if (run < 0 || this.place[run] !== head.lane || head.depth < this.depth[run]) return head;
        return {...head, lane: this.lane.number, depth: head.depth - this.depth[run]};
    }

    /** Return the rows of the lane, from those of the threads' lanes; they are made when they are needed. */
    rowsOf(threads) {
        this.rows ??= columnsOf(this.levels(threads));
        return this.rows;
    }

    levels(threads) {
        const levels = [];
        for (let run = 0; run < this.n; run++) {
            const rows = threads[this.place[run]],
                base = this.depth[run];
            for (const {depth, first, last} of rows.depths) {
                if (depth < base) continue;
                const before = levels[depth - base]?.length ?? 0;
                levels[depth - base] ??= [];
                this.take(rows, {first, last}, run, levels[depth - base]);
                if (levels[depth - base].length === before) break; // deeper calls are within these
            }
        }
        return levels;
    }

    /** Add the rows of a level that lie in a run, cut at its ends. */
    take(rows, {first, last}, run, level) {
        const from = this.begin[run],
            to = Math.max(this.end[run], from + 1);
        for (let i = firstReaching(rows, first, last, from); i < last && rows.begin[i] < to; i++) {
            const begin = Math.max(rows.begin[i], from),
                end = Math.min(rows.end[i], this.end[run]);
            if (begin > end) continue;
            const isCell = rows.ended[i] === CELL,
                isCut = !isCell && end < rows.end[i];
            level.push([
                begin,
                end,
                isCell ? rows.busy[i] : end - begin,
                rows.count[i],
                rows.function[i],
                isCut ? SUSPEND : rows.ended[i],
                rows.resumed[i] || (!isCell && begin > rows.begin[i]) ? 1 : 0,
            ]);
        }
    }
}

/** Return the first row that ends after a time, or begins there: a call may take no time. */
function firstReaching(rows, first, last, time) {
    let i = firstEndingAfter(rows, first, last, time);
    while (i > first && rows.begin[i - 1] >= time) i--;
    return i;
}

const COLUMNS = [
    ["begin", Float64Array],
    ["end", Float64Array],
    ["busy", Float64Array],
    ["count", Uint32Array],
    ["function", Uint32Array],
    ["ended", Uint8Array],
    ["resumed", Uint8Array],
];

function columnsOf(levels) {
    const all = levels.flat(),
        made = {n: all.length, depths: []};
    COLUMNS.forEach(([name, Type], place) => {
        made[name] = Type.from(all, (row) => row[place]);
    });
    let first = 0;
    levels.forEach((level, depth) => {
        if (level.length) made.depths.push({depth, first, last: first + level.length});
        first += level.length;
    });
    return made;
}
