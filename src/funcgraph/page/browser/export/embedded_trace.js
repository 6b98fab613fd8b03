// The trace in an exported page: its columns, and pictures of parts. export_rows.py writes what this reads.

import {Runs} from "./embedded_runs.js";
import {CELL, firstEndingAfter} from "../base/spans.js";

/** Return the trace that a page holds, as its text. */
export async function openEmbedded(base64) {
    const packed = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new EmbeddedTrace(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** Reads columns: the width of their numbers in bytes, then the lowest bytes of all, then the next ones. */
class ColumnReader {
    constructor(bytes, at) {
        this.bytes = bytes;
        this.at = at;
    }

    read(n, Type) {
        const column = new Type(n),
            width = this.bytes[this.at++];
        let factor = 1;
        for (let plane = 0; plane < width; plane++, factor *= 256) {
            for (let i = 0; i < n; i++) column[i] += this.bytes[this.at + i] * factor;
            this.at += n;
        }
        return column;
    }
}

/** A trace: `head` has what is said once, `lanes` the columns of each lane. */
export class EmbeddedTrace {
    constructor(bytes) {
        const size = new DataView(bytes.buffer).getUint32(0, true);
        this.head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
        const reader = new ColumnReader(bytes, 4 + size);
        this.rows = this.head.lanes.map((lane) => readLane(reader, lane.levels));
        this.runs = this.head.runs.map((lane) => new Runs(lane, readRuns(reader, lane.spans)));
        this.hasCells = this.rows.some(({ended}) => ended.includes(CELL));
        this.values = new Map();
        for (const [key, value] of this.head.values) this.values.set(key, value);
    }

    /** Return the runs of which a lane is made; undefined: it is that of a thread. */
    runsOf(lane) {
        return this.runs[lane - this.rows.length];
    }

    /** Return the rows of a lane, also of one that is made of runs. */
    rowsOf(lane) {
        return this.runsOf(lane)?.rowsOf(this.rows) ?? this.rows[lane];
    }

    /** Return all lanes. */
    get lanes() {
        return [...this.head.lanes, ...this.head.runs];
    }

    /** Return the recorded values of a place: `what` is "b" for the begin of a call, "e" for an end. */
    valuesAt(what, lane, time, depth) {
        return this.values.get(`${what}${lane},${time},${depth}`);
    }

    source(number) {
        return this.head.sources[number] ?? null;
    }

    marks({lane, begin, end, most = 1000}) {
        const runs = this.runsOf(lane),
            inPart = ({time_ns: time}) => time >= begin && time < end;
        if (!runs) return (this.head.marks[lane] ?? []).filter(inPart).slice(0, most);
        const found = [];
        for (let run = 0; run < runs.n && runs.begin[run] < end; run++) {
            if (runs.end[run] < begin) continue;
            const inRun = ({time_ns: time}) => time >= runs.begin[run] && time <= runs.end[run];
            found.push(...(this.head.marks[runs.place[run]] ?? []).filter(inRun).filter(inPart));
        }
        return found.slice(0, most);
    }

    /** Return the command that prints a part of a lane from the trace that this was exported from. */
    reportCommand(number, begin, end) {
        const lane = this.lanes[number],
            words = ["funcgraph", "report", "--task", String(lane.tid), "--imports"];
        if (lane.buffer !== null) words.push("-B", quoted(lane.buffer));
        words.push("--from", this.time(begin), "--to", this.time(end), quoted(this.head.file));
        return words.join(" ");
    }

    /** Return a time as `--from` takes it. */
    time(relative) {
        const ns = BigInt(this.head.trace.begin_ns) + BigInt(Math.round(relative));
        if (!this.head.has_times) return String(ns);
        return `${ns / 1_000_000_000n}.${String(ns % 1_000_000_000n).padStart(9, "0")}`;
    }

    /** Return what a picture of a part shows: what is shorter than a pixel is in cells. */
    spans({lane, begin, end, pixels, first = 0, last = Infinity}) {
        const rows = this.rowsOf(lane),
            picture = new Picture(begin, (end - begin) / pixels);
        for (const level of rows.depths) {
            if (level.depth < first || level.depth > last) continue;
            for (let i = firstEndingAfter(rows, level.first, level.last, begin); i < level.last; i++) {
                if (rows.begin[i] >= end) break;
                picture.add(rows, i, level.depth);
            }
            picture.endDepth(level.depth);
        }
        return picture.columns();
    }
}

function readLane(reader, levels) {
    const n = levels.reduce((sum, [, size]) => sum + size, 0),
        begin = reader.read(n, Float64Array),
        took = reader.read(n, Float64Array),
        func = reader.read(n, Uint32Array),
        kind = reader.read(n, Uint8Array);
    const ended = kind.map((value) => value & 127),
        resumed = kind.map((value) => value >> 7);
    const busy = took.slice(),
        count = new Uint32Array(n).fill(1),
        cells = ended.reduce((sum, value) => sum + (value === CELL), 0);
    const cellBusy = reader.read(cells, Float64Array),
        cellCount = reader.read(cells, Uint32Array);
    for (let i = 0, cell = 0; i < n; i++)
        if (ended[i] === CELL) [busy[i], count[i]] = [cellBusy[cell], cellCount[cell++]];
    const depths = [];
    let first = 0;
    for (const [depth, size] of levels) {
        for (let i = first + 1; i < first + size; i++) begin[i] += begin[i - 1];
        depths.push({depth, first, last: first + size});
        first += size;
    }
    const end = took.map((value, i) => begin[i] + value);
    return {n, begin, end, busy, count, function: func, ended, resumed, depths};
}

function readRuns(reader, n) {
    const begin = reader.read(n, Float64Array),
        took = reader.read(n, Float64Array),
        place = reader.read(n, Uint32Array),
        depth = reader.read(n, Uint32Array);
    for (let i = 1; i < n; i++) begin[i] += begin[i - 1];
    return {n, begin, end: took.map((value, i) => begin[i] + value), place, depth};
}

/** Collects the rows of a picture. */
class Picture {
    constructor(begin, pixel) {
        this.begin = begin;
        this.pixel = pixel;
        this.rows = [];
        this.depths = [];
        this.cell = null;
    }

    add(rows, i, depth) {
        const isCell = rows.ended[i] === CELL;
        if (!isCell && rows.end[i] - rows.begin[i] >= this.pixel) {
            this.flush();
            this.push(rows, i, depth);
            return;
        }
        const slot = Math.floor((rows.begin[i] - this.begin) / this.pixel);
        if (this.cell?.slot !== slot) {
            this.flush();
            this.cell = {slot, rows, i, depth, many: 0, end: 0, busy: 0, count: 0, function: 0, weight: 0};
        }
        const {cell} = this,
            busy = rows.busy[i];
        cell.many++;
        cell.end = Math.max(cell.end, rows.end[i]);
        cell.busy += busy;
        cell.count += rows.count[i];
        // Whatever has more than half of the time is left in the end.
        if (cell.weight <= 0) [cell.function, cell.weight] = [rows.function[i], busy + 1];
        else cell.weight += rows.function[i] === cell.function ? busy : -busy;
    }

    flush() {
        const {cell} = this;
        this.cell = null;
        if (!cell) return;
        if (cell.many === 1) this.push(cell.rows, cell.i, cell.depth);
        else
            this.rows.push([
                cell.rows.begin[cell.i],
                cell.end,
                cell.busy,
                cell.count,
                cell.function,
                cell.depth,
                CELL,
                0,
            ]);
    }

    push(rows, i, depth) {
        this.rows.push([
            rows.begin[i],
            rows.end[i],
            rows.busy[i],
            rows.count[i],
            rows.function[i],
            depth,
            rows.ended[i],
            rows.resumed[i],
        ]);
    }

    endDepth(depth) {
        this.flush();
        const first = this.depths.at(-1)?.last ?? 0;
        if (this.rows.length > first) this.depths.push({depth, first, last: this.rows.length});
    }

    columns() {
        const column = (Type, place) => Type.from(this.rows, (row) => row[place]);
        return {
            n: this.rows.length,
            begin: column(Float64Array, 0),
            end: column(Float64Array, 1),
            busy: column(Float64Array, 2),
            count: column(Uint32Array, 3),
            function: column(Uint32Array, 4),
            depth: column(Uint32Array, 5),
            ended: column(Uint8Array, 6),
            resumed: column(Uint8Array, 7),
            depths: this.depths,
        };
    }
}

/** Return a word as a shell takes it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
