// What is under the pointer, as text beside it.

import {byId, element} from "../base/dom.js";
import {markText} from "./marks.js";
import {visible} from "../base/names.js";
import {CELL, ENDS} from "../base/spans.js";
import {counted, duration, exact} from "../base/times.js";

const OUTCOMES = {
    raise: "ended by an exception",
    suspend: "suspended here",
    close: "closed, cancelled or collected",
    lost: "its end was lost",
    open: "still in progress at the end of the trace",
};

/** Return the lines about a place of the time line: [[class, text]]. */
export function linesAbout(place, trace) {
    if (place.mark) {
        const [title, text] = markText(place.mark, trace);
        return [
            ["name", title],
            ["quiet", text],
            ["quiet", `at ${exact(place.mark.time_ns)}`],
        ];
    }
    if (place.row < 0 || place.row === undefined) return [];
    const {spans, row} = place,
        func = trace.functions[spans.function[row]],
        name = trace.name(spans.function[row]);
    if (spans.ended[row] >= CELL)
        return [
            ["name", `${counted(spans.count[row], "short call")}, most of the time ${name}`],
            [
                "quiet",
                `${duration(spans.busy[row])} in ${duration(spans.end[row] - spans.begin[row])}. Zoom in.`,
            ],
        ];
    const took = spans.end[row] - spans.begin[row],
        lines = [
            ["name", name],
            ["time", exact(took)],
        ];
    const outcome = OUTCOMES[ENDS[spans.ended[row]]];
    if (spans.resumed[row]) lines.push(["quiet", "resumed: a part of a call that was suspended before"]);
    if (outcome) lines.push([spans.ended[row] === 1 ? "bad" : "quiet", outcome]);
    lines.push(["quiet", `begins at ${exact(spans.begin[row])}, level ${spans.depth[row]}`]);
    if (func?.native || func?.c)
        lines.push([
            "quiet",
            func.native ? `native function${func.object ? ` of ${visible(func.object)}` : ""}` : "C function",
        ]);
    else if (func?.file) lines.push(["quiet", `${visible(func.file, 120)}:${func.line}`]);
    return lines;
}

/** Show lines beside a place of the page; none: hide it. */
export function showTooltip(lines, x = 0, y = 0) {
    const tip = byId("tooltip");
    tip.hidden = lines.length === 0;
    if (tip.hidden) return;
    tip.replaceChildren(
        ...lines.map(([className, text]) => element("div", {className}, element("bdi", {}, text))),
    );
    const {offsetWidth, offsetHeight} = tip;
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - offsetWidth - 6))}px`;
    tip.style.top = `${y + 18 + offsetHeight > innerHeight ? Math.max(4, y - offsetHeight - 10) : y + 18}px`;
}
