// Spans as the server sends them: columns of numbers, and finding rows in them. Pure functions.

export const ENDS = ["return", "raise", "suspend", "close", "lost", "open"];
export const CELL = ENDS.length;
export const RAISE = 1,
    SUSPEND = 2,
    LOST = 4,
    OPEN = 5;
const MAGIC = 0x31534746; // "FGS1"

/** Return the columns of an answer, and where the rows of each depth begin. */
export function decodeSpans(buffer) {
    const header = new DataView(buffer);
    if (buffer.byteLength < 8 || header.getUint32(0, true) !== MAGIC)
        throw new Error("not an answer with spans");
    const n = header.getUint32(4, true);
    let at = 8;
    const column = (Type) => {
        const made = new Type(buffer, at, n);
        at += Math.ceil(made.byteLength / 8) * 8;
        return made;
    };
    const spans = {
        n,
        begin: column(Float64Array),
        end: column(Float64Array),
        busy: column(Float64Array),
        count: column(Uint32Array),
        function: column(Uint32Array),
        depth: column(Uint32Array),
        ended: column(Uint8Array),
        resumed: column(Uint8Array),
    };
    const depths = depthsOf(spans);
    for (const level of depths) sortByBegin(spans, level);
    return {...spans, depths};
}

/** Put the rows of a depth into the order of time: spans and cells come one after the other. */
function sortByBegin(spans, {first, last}) {
    let sorted = true;
    for (let i = first + 1; i < last && sorted; i++) sorted = spans.begin[i - 1] <= spans.begin[i];
    if (sorted) return;
    const order = Uint32Array.from({length: last - first}, (_, i) => first + i);
    order.sort((a, b) => spans.begin[a] - spans.begin[b]);
    for (const name of ["begin", "end", "busy", "count", "function", "ended", "resumed"]) {
        const column = spans[name];
        column.set(
            Array.from(order, (i) => column[i]),
            first,
        );
    }
}

/** Return the depths that occur, with their rows: [{depth, first, last}]. Rows are in the order of depth. */
function depthsOf({n, depth}) {
    const found = [];
    for (let i = 0; i < n; i++) {
        if (i === 0 || depth[i] !== depth[i - 1]) found.push({depth: depth[i], first: i, last: i + 1});
        else found[found.length - 1].last = i + 1;
    }
    return found;
}

/** Return the first row of `first`..`last` that ends after a time. Rows of one depth hardly overlap. */
export function firstEndingAfter(spans, first, last, time) {
    let low = first,
        high = last;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (spans.end[middle] > time) high = middle;
        else low = middle + 1;
    }
    return low;
}

/** Return the last of `n` stretches that begins by a time; -1: none does. `beginOf` gives the begin of one. */
export function lastBeginningBy(n, beginOf, time) {
    let low = 0,
        high = n;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (beginOf(middle) <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/** Return the row at a time and depth, or the nearest within some ns of it; -1: there is none. */
export function rowAt(spans, depth, time, within) {
    const level = spans.depths.find((entry) => entry.depth === depth);
    if (!level) return -1;
    const i = firstEndingAfter(spans, level.first, level.last, time - within);
    let best = -1,
        least = Infinity;
    for (let k = Math.max(level.first, i - 2); k < Math.min(level.last, i + 4); k++) {
        const away = Math.max(spans.begin[k] - time, time - spans.end[k], 0);
        if (away <= within && away < least) [best, least] = [k, away];
    }
    return best;
}
