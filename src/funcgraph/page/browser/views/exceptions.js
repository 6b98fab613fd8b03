// Exceptions: their kinds, and one of them followed from the call that raised it to the one that handled it.

import {element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {count, exact} from "../base/times.js";
import {
    answerPanel,
    answerRow,
    answerTable,
    copyButton,
    exceptionCell,
    functionName,
    importsOption,
    partOf,
    shownOf,
    threadOption,
} from "./answer_panel.js";

/** Make the view. */
export function exceptionsView(panel, page) {
    const {nth, imports} = page.state.values;
    return answerPanel(panel, page, {
        bar: [nth > 0 ? allKinds(page) : null, importsOption(page), threadOption(page)],
        name: "exceptions",
        question: {number: nth > 0 ? Math.round(nth) : undefined, imports, ...partOf(page)},
        content: (answer) => (answer.one ? one(page, answer) : kinds(page, answer)),
    });
}

const follow = (page, nth) => page.state.set({nth}, {step: true});
const allKinds = (page) => element("button", {onclick: () => follow(page, 0)}, "All kinds");
const typeOf = ({type}) => element("bdi", {className: "bad"}, visible(type || "an exception", 100));

function kinds(page, answer) {
    if (!answer.exceptions)
        return [element("p", {className: "hint"}, "No call of this part was ended by an exception.")];
    const rows = answer.groups.map(({count: number, first, became}) => {
        const onclick = () => follow(page, first.number);
        return answerRow([
            exceptionCell(typeOf(first), first.raised_in, onclick),
            count(number),
            count(first.number),
            element("bdi", {}, visible(became, 200)),
        ]);
    });
    const heads = [
        ["Exception", "A click follows the first one"],
        ["Times", ""],
        ["First", "Its number, in the order of raising"],
        ["What became of it", "", true],
    ];
    return [
        element("h2", {className: "wing-title"}, answer.head),
        answerTable("Kinds of exceptions", heads, rows),
        ...shownOf(rows.length, answer.kinds, " kinds"),
    ];
}

/** One exception: what raised it, what it passed, what became of it; each leads to the time line. */
function one(page, {one: raised, exceptions}) {
    const step = (title, number, isThere) =>
        element("button", {disabled: !isThere, onclick: () => follow(page, number)}, title);
    const steps = element(
        "div",
        {className: "buttons"},
        step("← Previous", raised.number - 1, raised.number > 1),
        step("Next →", raised.number + 1, raised.number < exceptions),
        raised.evidence ? copyButton(raised.evidence.report) : null,
    );
    const rows = raised.frames.map((frame, place) => {
        const line = place ? raised.frames[place - 1].caller_line : 0;
        return frameRow(
            page,
            place ? "through" : "raised in",
            frame.number,
            frame.function,
            frame.call,
            line,
        );
    });
    if (raised.more_frames)
        rows.push(
            element(
                "li",
                {},
                element("span", {className: "what quiet"}, "and"),
                `${count(raised.more_frames)} more calls`,
            ),
        );
    if (raised.handler === null)
        rows.push(
            element(
                "li",
                {},
                element("span", {className: "what quiet"}, "then"),
                visible(raised.became, 200),
            ),
        );
    else
        rows.push(
            frameRow(
                page,
                OUTCOMES[raised.fate],
                raised.handler_number,
                raised.handler,
                raised.handler_call,
                raised.handler_line,
            ),
        );
    return [
        element(
            "header",
            {className: "answer-head"},
            element("h2", {}, typeOf(raised)),
            element(
                "p",
                {className: "quiet"},
                `exception ${count(raised.number)} of ${count(exceptions)}, at ${exact(raised.time_ns)}`,
            ),
            steps,
        ),
        element("ol", {className: "frames", "aria-label": "Calls that it ended"}, ...rows),
        raised.cause ? element("p", {}, "Caused by ", element("bdi", {}, visible(raised.cause, 400))) : null,
        raised.after ? after(page, raised.after) : null,
    ];
}

const OUTCOMES = {handled: "handled in", replaced: "replaced in", open: "received by"};

function frameRow(page, what, number, name, call, line) {
    const func = page.trace.functions[number];
    const where = [func?.file ? `${visible(func.file, 200)}:${func.line}` : "", line ? `line ${line}` : ""]
        .filter(Boolean)
        .join(", ");
    return element(
        "li",
        {},
        element("span", {className: "what quiet"}, what),
        functionName(page, number, name, call ? () => page.go(call) : null),
        where ? element("span", {className: "where quiet"}, where) : null,
    );
}

function after(page, before) {
    const link = element(
        "button",
        {className: "link", onclick: () => follow(page, before.number)},
        `exception ${count(before.number)}`,
    );
    return element(
        "p",
        {className: "quiet"},
        "After ",
        link,
        `, ${visible(before.type || "an exception", 100)} of ${visible(before.raised_in, 200)}, which the same call had received.`,
    );
}
