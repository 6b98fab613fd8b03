// The part of time that is shown: moving and zooming it. Pure functions on {begin, end} in ns.

export const LEAST_NS = 20; // the closest view

/** Return a part within the whole: no longer than it, and no shorter than can be seen. */
export function clamped({begin, end}, whole) {
    const span = Math.max(whole.end - whole.begin, LEAST_NS),
        margin = span * 0.02;
    const length = Math.min(Math.max(end - begin, LEAST_NS), span + 2 * margin);
    const least = whole.begin - margin,
        most = whole.begin + span + margin - length;
    const middle = (begin + end) / 2,
        from = length === end - begin ? begin : middle - length / 2;
    const at = Math.min(Math.max(from, least), Math.max(least, most));
    return {begin: at, end: at + length};
}

/** Return the part zoomed by a factor around a time: less than 1 shows less time. */
export function zoomed({begin, end}, factor, around, whole) {
    const length = Math.max((end - begin) * factor, LEAST_NS),
        real = length / (end - begin);
    const from = around - (around - begin) * real;
    const wide = (whole.end - whole.begin) * 1.04;
    if (length >= wide) return clamped({begin: whole.begin, end: whole.end}, whole);
    return clamped({begin: from, end: from + length}, whole);
}

/** Return the part moved by a fraction of its length. */
export function moved({begin, end}, fraction, whole) {
    const by = (end - begin) * fraction;
    return clamped({begin: begin + by, end: end + by}, whole);
}

/** Return a part in which a stretch can be seen: as it is if it is seen well, else around the stretch. */
export function showing({begin, end}, stretch, whole) {
    const length = end - begin,
        size = stretch.end - stretch.begin;
    const inside = stretch.begin >= begin + length * 0.02 && stretch.end <= end - length * 0.02;
    if (inside && size > length / 200) return {begin, end};
    const wide = Math.max(size * 3, LEAST_NS),
        middle = (stretch.begin + stretch.end) / 2;
    return clamped({begin: middle - wide / 2, end: middle + wide / 2}, whole);
}

/**
 * Return the piece of a lane to ask for: {begin, end, pixels}. Pieces are on a grid, so that small moves need
 * no new one, and a piece is as detailed as any view that it serves.
 */
export function piece({begin, end}, width, whole) {
    const level = Math.ceil(2 * Math.log2(end - begin) - 1e-9),
        size = 2 ** (level / 2);
    const columns = Math.max(1, Math.ceil(width / 256)) * 256;
    const from = Math.floor(begin / (size / 2)) * (size / 2);
    const first = Math.max(Math.floor(from), Math.floor(whole.begin)),
        last = Math.min(from + 1.5 * size, whole.end + 1);
    const least = Math.max(first + 1, Math.ceil(last));
    const pixels = Math.ceil(((least - first) / size) * columns * Math.SQRT2);
    return {begin: first, end: least, pixels: Math.max(1, pixels)};
}
