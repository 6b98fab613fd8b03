// The overview of the whole trace above the time line, with the part that is shown.

import {byId} from "../base/dom.js";
import {freshPen} from "./painter.js";

const MOST_LANES = 32,
    PIXELS = 512;

/** The overview of a trace. */
export class Minimap {
    constructor(trace, store) {
        this.trace = trace;
        this.store = store;
        this.lanes = trace.lanes
            .filter((lane) => lane.kind === "thread") // their threads' lanes have all of their calls
            .sort((a, b) => b.calls - a.calls)
            .slice(0, MOST_LANES)
            .sort((a, b) => a.number - b.number);
    }

    /** Return what it needs of lanes: the outermost calls, few pixels. */
    wishes() {
        return this.lanes.map((lane) => {
            const {begin, end} = this.trace.whole,
                part = {begin: Math.floor(begin), end: Math.ceil(end), pixels: PIXELS};
            return {lane: lane.number, part, first: 0, last: 0, noMarks: true, key: `minimap,${lane.number}`};
        });
    }

    /** Draw it. */
    draw(view, {colours, range, unknown}) {
        const canvas = byId("minimap"),
            width = canvas.clientWidth,
            height = canvas.clientHeight;
        const pen = freshPen(canvas, width, height),
            {begin, end} = this.trace.whole,
            x = (ns) => ((ns - begin) / (end - begin)) * width;
        const each = Math.min(8, Math.max(1, (height - 8) / Math.max(this.lanes.length, 1)));
        const top = (height - each * this.lanes.length) / 2;
        this.wishes().forEach((wish, row) => {
            const {kept} = this.store,
                spans = (kept.get(wish.key) ?? kept.get(`old ${wish.key}`))?.spans;
            for (let i = 0; spans && i < spans.n; i++) {
                const [red, green, blue] = this.trace.colours[spans.function[i]] || unknown;
                pen.fillStyle = `rgb(${red},${green},${blue})`;
                pen.fillRect(
                    x(spans.begin[i]),
                    top + row * each,
                    Math.max(x(spans.end[i]) - x(spans.begin[i]), 0.7),
                    Math.max(each - 1, 1),
                );
            }
        });
        if (range) {
            pen.fillStyle = colours.shade;
            pen.fillRect(x(range.begin), 0, Math.max(1, x(range.end) - x(range.begin)), height);
        }
        const from = Math.max(0, x(view.begin)),
            to = Math.min(width, x(view.end));
        pen.fillStyle = colours.dim;
        pen.fillRect(0, 0, from, height);
        pen.fillRect(to, 0, width - to, height);
        pen.strokeStyle = colours.accent;
        pen.lineWidth = 1.5;
        pen.strokeRect(
            Math.max(from, 0.75),
            0.75,
            Math.max(Math.min(to, width - 0.75) - Math.max(from, 0.75), 2),
            height - 1.5,
        );
    }
}
