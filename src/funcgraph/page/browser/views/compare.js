// Two calls of one function side by side: where they first differ, and what each calls more often.

import {element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {show} from "../base/status.js";
import {count, counted, exact} from "../base/times.js";
import {answerPanel, answerRow, answerTable, evidenceOf} from "./answer_panel.js";
import {noCall} from "./details.js";

const SIDES = ["First", "Second"],
    MOST_LEVELS = 8;

/**
 * Fill a panel with the comparison of two calls. The second one is the chosen one, until they have been compared:
 * then they stay, whatever is chosen to look at.
 */
export function compareView(panel, page, bar) {
    const {call, first, second} = page.state.values,
        other = second ?? call;
    return answerPanel(panel, page, {
        bar: [...bar, keepButton(page), second ? otherButton(page) : null],
        name: "compare",
        question: other && first && !isSame(other, first) ? questionOf(other, first) : null,
        empty: () => (call ? nextStep(page, call, first) : [hint(FIRST_STEP)]),
        content: (answer) => {
            if (!second) page.state.set({second: other});
            return comparison(page, answer, SIDES);
        },
    });
}

const FIRST_STEP =
    "Choose a call on the time line, and keep it as the first one. Then choose another call of its function.";
const hint = (text) => element("p", {className: "hint"}, text);
const isSame = (one, other) => ["lane", "time", "depth"].every((name) => one[name] === other[name]);

const questionOf = (call, first) => ({
    ...call,
    first_lane: first.lane,
    first_time: first.time,
    first_depth: first.depth,
});

const keepButton = (page) =>
    chosenButton(page, "keep", "Keep as the first", (call) => ({first: call, second: null}));
const otherButton = (page) =>
    chosenButton(page, "other", "Compare the chosen call", (call) => ({second: call}));

function chosenButton({state}, name, title, changes) {
    const onclick = () => {
        const {call} = state.values;
        if (call) state.set(changes(call), {step: true});
        else show("Choose a call first: click on one on the time line.");
    };
    return element("button", {id: `compare-${name}`, onclick}, title);
}

/** Return what to do next: keep a call, or choose the other one. */
function nextStep(page, call, first) {
    if (!first)
        return [hint("Keep the chosen call as the first one. Then choose another call of its function.")];
    const button = (title, direction) =>
        element("button", {onclick: () => stepFrom(page, call, direction)}, title);
    return [
        hint(
            "This call is kept. Now choose another call of its function: on the time line, or one of these.",
        ),
        element(
            "div",
            {className: "buttons centred"},
            button("← Previous call", "previous"),
            button("Next call →", "next"),
        ),
    ];
}

function stepFrom(page, call, direction) {
    const number = page.timeline.chosen?.function;
    if (number === undefined || number === null) return;
    page.stepTo({function: number, time: call.time || "0", direction}, noCall(direction));
}

/** Return the parts of a comparison. `sides`: what the calls are called. */
export function comparison(page, answer, sides) {
    const {difference, parting} = answer,
        parts = [heading(page, answer, sides)];
    if (!difference)
        parts.push(
            element("p", {}, "Both make the same calls, with the same values as far as these are recorded."),
        );
    else if (difference.what !== "call") parts.push(place(page, difference, sides));
    if (difference && !parting) parts.push(element("p", {}, "Apart from values, both make the same calls."));
    if (parting) parts.push(place(page, parting, sides), following(answer, sides));
    if (answer.counts.length) parts.push(counts(answer.counts, sides));
    return parts;
}

function heading(page, answer, sides) {
    const lines = [answer.a, answer.b].map((call, side) =>
        element(
            "p",
            {className: "quiet"},
            `${sides[side]}: call ${count(call.number)} took ${exact(call.end_ns - call.begin_ns)} in ${visible(call.thread, 60)} (${call.tid}) `,
            ...evidenceOf(page, answer.evidence[side], "Show it on the time line"),
        ),
    );
    return element(
        "header",
        {className: "answer-head"},
        element("h2", {}, element("bdi", {}, visible(answer.a.function, 300))),
        ...lines,
    );
}

/** Return where both first differ: the calls in progress, and what each does then. */
function place(page, {what, calls, path, text, a, b, evidence}, sides) {
    const rows = [a, b].map((side, number) => {
        if (!side) return answerRow([sides[number], "no further call", ""]);
        const [, name] = side,
            shown = element("bdi", {}, visible(what === "call" ? `${name}()` : name, 300));
        return answerRow([
            sides[number],
            evidenceOf(page, evidence[number], shown),
            evidence[number] ? exact(evidence[number].begin) : "",
        ]);
    });
    const around = path.slice(0, MOST_LEVELS).map((name) => visible(name, 120));
    const more =
        path.length > around.length ? ` … ${counted(path.length - around.length, "more level")}` : "";
    return element(
        "section",
        {"aria-label": `Then ${text}`},
        element("h3", {}, sameText(calls, text)),
        ...(around.length
            ? [element("p", {className: "quiet"}, "Below ", element("bdi", {}, around.join(" → ")), more)]
            : []),
        answerTable(
            "Where they differ",
            [
                ["Call", ""],
                ["Then", "A click shows it on the time line", true],
                ["At", "On the time line"],
            ],
            rows,
        ),
    );
}

function sameText(calls, text) {
    if (!calls) return `The first call has ${text}`;
    return `The first ${calls === 1 ? "call is" : `${count(calls)} calls are`} the same, then ${text}`;
}

function following({after_a: a, after_b: b}, sides) {
    const text = (side, at) => (side[at] ? element("bdi", {}, visible(side[at][1], 200)) : "");
    const rows = Array.from({length: Math.max(a.length, b.length)}, (_, at) => at)
        .slice(1)
        .map((at) => answerRow([text(a, at), text(b, at)]));
    if (!rows.length) return null;
    return element(
        "section",
        {"aria-label": "What follows"},
        element("h3", {}, "What follows"),
        answerTable(
            "What follows",
            [
                ...sides.map((side) => [`In ${inText(side)}`, "", true]),
            ],
            rows,
        ),
    );
}

/** "A" stays, "First" becomes "the first". */
const inText = (side) => (side.length > 1 ? `the ${side.toLowerCase()}` : side);

function counts(rows, sides) {
    const heads = [
        ["Calls of", "", true],
        ...sides.map((side) => [side, `How often ${inText(side)} calls it, at any depth`]),
    ];
    return element(
        "section",
        {"aria-label": "Numbers of calls"},
        element("h3", {}, "What one of them calls more often"),
        answerTable(
            "Numbers of calls",
            heads,
            rows.map((row) =>
                answerRow([
                    element("bdi", {className: "name"}, visible(row.function, 200)),
                    count(row.a),
                    count(row.b),
                ]),
            ),
        ),
    );
}
