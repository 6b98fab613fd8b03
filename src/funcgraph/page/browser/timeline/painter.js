// A canvas for boxes and one for text above it: sizes, WebGL2 or not, labels in boxes.

import {CanvasBoxes} from "./canvas_boxes.js";
import {isFramed} from "../base/dom.js";
import {GlBoxes} from "./gl_boxes.js";

/**
 * Return what draws boxes on a canvas: WebGL2 unless there is none, or the link says `?boxes=2d`. In a frame it
 * is the 2D canvas: a notebook may have more frames than the 16 contexts that a browser keeps.
 */
export function boxPainter(canvas) {
    if (!isFramed && new URLSearchParams(location.search).get("boxes") !== "2d") {
        try {
            return new GlBoxes(canvas);
        } catch {
            // a 2D canvas draws the same
        }
    }
    return new CanvasBoxes(canvas);
}

/** Give a canvas the pixels for its size, and return pixels of the screen for each of ours. */
export function fit(canvas, width, height) {
    const scale = globalThis.devicePixelRatio || 1;
    const [wide, high] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    return scale;
}

/** Return a pen for a canvas, in our pixels, with the canvas empty. */
export function freshPen(canvas, width, height) {
    const scale = fit(canvas, width, height),
        pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
}

const widths = new Map();

function widthOf(pen, text) {
    const key = `${pen.font}\u0000${text}`;
    let width = widths.get(key);
    if (width === undefined) {
        if (widths.size > 20_000) widths.clear();
        width = pen.measureText(text).width;
        widths.set(key, width);
    }
    return width;
}

/** Return as much of a text as has room; "": nothing that is worth reading. */
export function fitted(pen, text, room) {
    if (widthOf(pen, text) <= room) return text;
    let low = 0,
        high = Math.min(text.length, Math.ceil(room / 3));
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(text.slice(0, middle)).width + 8 <= room) low = middle;
        else high = middle - 1;
    }
    return low < 2 ? "" : `${text.slice(0, low)}…`;
}

/** Write names into boxes. */
export function writeLabels(pen, labels, nameOf, colour, faint) {
    pen.textBaseline = "middle";
    for (const label of labels) {
        const text = fitted(pen, nameOf(label.function), label.right - label.x - 8);
        if (!text) continue;
        pen.fillStyle = label.faint ? faint : colour;
        pen.fillText(text, label.x + 4, label.y + label.height / 2 + 0.5);
    }
}
