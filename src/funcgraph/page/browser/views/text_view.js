// The text of a part of a lane, in the kernel's layout, with the command that prints it.

import {ask} from "../base/api.js";
import {copy, element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {guard} from "../base/status.js";

const MOST_LINES = 500,
    MOST_WIDTH = 1000;

/** Make the view: of the lane of the chosen call, or the first in sight. */
export function textView(panel, page) {
    const controller = new AbortController(),
        {range, trace} = page;
    const lane = page.threadOfCall() ?? page.timeline.seen().find(({lane}) => lane.kind !== "cpu")?.lane.number;
    if (lane === undefined) {
        panel.replaceChildren(
            element("p", {className: "hint"}, "Choose a call, and select a range: its text is here."),
        );
        return {close: () => {}};
    }
    panel.replaceChildren(element("p", {className: "quiet"}, "Reading…"));
    fill(
        panel,
        {
            trace: trace.number,
            lane,
            begin: Math.round(range.begin),
            end: Math.round(range.end),
            most: MOST_LINES,
        },
        controller.signal,
    );
    return {close: () => controller.abort()};
}

async function fill(panel, question, signal) {
    const answer = await guard(ask("text", question, {signal}));
    if (signal.aborted) return;
    if (!answer) {
        panel.replaceChildren();
        return;
    }
    const button = element("button", {onclick: () => copy(answer.command, button)}, "Copy command");
    const text = answer.lines
        .map((line) => visible(line.replaceAll("\t", "        "), MOST_WIDTH))
        .join("\n");
    panel.replaceChildren(
        element("div", {className: "command"}, element("code", {}, visible(answer.command, 1000)), button),
        element(
            "pre",
            {className: "text", tabIndex: 0, "aria-label": "Text of the trace"},
            text || "No line in this part.",
        ),
        ...(answer.cut
            ? [
                  element(
                      "p",
                      {className: "quiet"},
                      `The first ${MOST_LINES} lines. The command above prints all of them.`,
                  ),
              ]
            : []),
    );
}
