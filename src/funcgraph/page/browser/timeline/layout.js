// Boxes of a lane: from rows of spans to rectangles with colours, the same for WebGL and for the 2D canvas.

import {CELL, LOST, OPEN, RAISE, SUSPEND, firstEndingAfter} from "../base/spans.js";

const GROWTH = 2;

/** Rectangles in arrays: x, y, width, height of each in `at`; red, green, blue, alpha in `colour`. */
export class Boxes {
    constructor() {
        this.n = 0;
        this.at = new Float32Array(4 * 2048);
        this.colour = new Uint8Array(4 * 2048);
    }

    clear() {
        this.n = 0;
    }

    add(x, y, width, height, [red, green, blue], alpha = 255) {
        const i = 4 * this.n++;
        if (i === this.at.length) this.grow();
        this.at[i] = x;
        this.at[i + 1] = y;
        this.at[i + 2] = width;
        this.at[i + 3] = height;
        this.colour[i] = red;
        this.colour[i + 1] = green;
        this.colour[i + 2] = blue;
        this.colour[i + 3] = alpha;
    }

    grow() {
        const at = new Float32Array(this.at.length * GROWTH),
            colour = new Uint8Array(this.colour.length * GROWTH);
        at.set(this.at);
        colour.set(this.colour);
        [this.at, this.colour] = [at, colour];
    }
}

/**
 * Add the boxes of a lane, and return its labels: the rows that are wide enough for text.
 *
 * @param boxes gets them.
 * @param spans the lane's rows.
 * @param view {begin, end, width, scale}: the part of time, its width, pixels of the screen for each of ours.
 * @param row gives {y, height} of a depth.
 * @param look {colours, unknown, raise, dimmed, depths}: colours of functions by number, which are dim.
 */
export function layOut(boxes, spans, view, row, look) {
    const labels = [],
        perNs = view.width / (view.end - view.begin),
        snap = (x) => Math.round(x * view.scale) / view.scale;
    const thin = 1 / view.scale;
    for (const level of spans.depths) {
        if (level.depth >= look.depths) break;
        const {y, height} = row(level.depth),
            high = height > 8 ? height - 1 : height - 0.5;
        let first = firstEndingAfter(spans, level.first, level.last, view.begin);
        for (first = Math.max(level.first, first - 2); first < level.last; first++) {
            if (spans.begin[first] >= view.end) break;
            addRow(boxes, labels, spans, first, {perNs, snap, thin, view, y, high, look});
        }
        addSuspended(boxes, spans, level, {perNs, snap, view, y, high, look});
    }
    return labels;
}

function addRow(boxes, labels, spans, i, {perNs, snap, thin, view, y, high, look}) {
    if (spans.end[i] < view.begin) return;
    const x = snap(Math.max((spans.begin[i] - view.begin) * perNs, -8));
    const right = snap(Math.min((spans.end[i] - view.begin) * perNs, view.width + 8));
    const func = spans.function[i],
        colour = look.colours[func] || look.unknown;
    const faint = look.dimmed && !look.dimmed[func] ? 0.22 : 1;
    if (spans.ended[i] >= CELL) {
        const part = Math.min(1, spans.busy[i] / Math.max(spans.end[i] - spans.begin[i], 1));
        boxes.add(x, y, Math.max(right - x, thin), high, colour, Math.round((140 + 80 * part) * faint));
        return;
    }
    const width = Math.max(right - x - (right - x > 3 ? thin : 0), thin);
    const fades = (spans.ended[i] === OPEN || spans.ended[i] === LOST) && width > 12;
    const tail = fades ? Math.min(36, width / 2) : 0;
    boxes.add(x, y, width - tail, high, colour, Math.round(255 * faint));
    for (let k = 0; k < 6 && fades; k++)
        // no end: it fades out
        boxes.add(
            x + width - tail + (k * tail) / 6,
            y,
            tail / 6,
            high,
            colour,
            Math.round((220 - 36 * k) * faint),
        );
    if (spans.ended[i] === RAISE && width >= 3 && high > 4) {
        const size = Math.min(3, width / 2);
        boxes.add(x + width - size, y, size, high, look.raise, Math.round(255 * faint));
    }
    if (width >= 22 && high > 8)
        labels.push({
            x: Math.max(x, 0),
            right: Math.min(x + width - tail / 2, view.width),
            y,
            height: high,
            function: func,
            faint: faint < 1,
            resumed: spans.resumed[i],
        });
}

/** Add thin lines from where calls were suspended to where they went on, as far as that is certain. */
function addSuspended(boxes, spans, level, {perNs, snap, view, y, high, look}) {
    const waiting = new Map(); // by function: where its only suspended call stopped; null: there are several
    const thick = high > 8 ? 2 : 1;
    for (let i = level.first; i < level.last; i++) {
        const func = spans.function[i];
        if (spans.ended[i] >= CELL) waiting.delete(func);
        if (spans.resumed[i] && waiting.has(func)) {
            const from = waiting.get(func);
            waiting.delete(func);
            if (from !== null && spans.begin[i] > view.begin && from < view.end) {
                const x = snap(Math.max((from - view.begin) * perNs, -8));
                const right = snap(Math.min((spans.begin[i] - view.begin) * perNs, view.width + 8));
                if (right - x >= 2)
                    boxes.add(
                        x,
                        y + high - thick - 2,
                        right - x,
                        thick,
                        look.colours[func] || look.unknown,
                        200,
                    );
            }
        }
        if (spans.ended[i] === SUSPEND) waiting.set(func, waiting.has(func) ? null : spans.end[i]);
    }
}
