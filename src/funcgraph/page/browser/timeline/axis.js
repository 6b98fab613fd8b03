// The time axis: ticks with units, the selected range, the time under the pointer.

import {byId} from "../base/dom.js";
import {freshPen} from "./painter.js";
import {axisStep, duration, tick} from "../base/times.js";

/** Return the times of ticks in a part of time that is `width` pixels wide: {step, times}. */
export function ticks({begin, end}, width, least = 110) {
    const step = axisStep((end - begin) / width, least),
        times = [];
    for (let i = Math.ceil(begin / step); i * step <= end; i++) times.push(i * step);
    return {step, times};
}

/** Draw the axis. */
export function drawAxis(view, {font, colours, range, pointer, width}) {
    const canvas = byId("axis"),
        height = canvas.clientHeight; // it has the width of the lanes, and that of their scroll bar
    const pen = freshPen(canvas, canvas.clientWidth, height),
        {step, times} = ticks(view, width);
    const x = (ns) => ((ns - view.begin) / (view.end - view.begin)) * width;
    pen.font = font;
    pen.textBaseline = "middle";
    if (range) {
        pen.fillStyle = colours.shade;
        pen.fillRect(x(range.begin), 0, x(range.end) - x(range.begin), height);
    }
    for (const ns of times) {
        pen.fillStyle = colours.strong;
        pen.fillRect(Math.round(x(ns)), height - 7, 1, 7);
        pen.fillStyle = colours.quiet;
        pen.fillText(tick(ns, step), Math.round(x(ns)) + 5, height / 2);
    }
    if (range)
        tag(pen, (x(range.begin) + x(range.end)) / 2, duration(range.end - range.begin), {
            width,
            height,
            colours,
            strong: true,
        });
    else if (pointer !== null)
        tag(pen, pointer, tick(view.begin + (pointer / width) * (view.end - view.begin), step / 100), {
            width,
            height,
            colours,
        });
}

function tag(pen, middle, text, {width, height, colours, strong}) {
    const wide = pen.measureText(text).width + 12,
        x = Math.min(Math.max(middle - wide / 2, 2), width - wide - 2);
    pen.fillStyle = strong ? colours.accent : colours.group;
    pen.beginPath();
    pen.roundRect(x, 3, wide, height - 6, 4);
    pen.fill();
    if (!strong) {
        pen.strokeStyle = colours.strong;
        pen.stroke();
    }
    pen.fillStyle = strong ? colours.back : colours.text;
    pen.fillText(text, x + 6, height / 2);
}
