// What was done more than once: below one call, with the same result, exceptions that were swallowed, and
// results that nobody used.

import {element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {count, counted, duration} from "../base/times.js";
import {
    answerPanel,
    answerRow,
    answerTable,
    evidenceOf,
    exceptionCell,
    functionName,
    importsOption,
    partOf,
    shownOf,
    threadOption,
} from "./answer_panel.js";

const MOST_TEXT = 300,
    LEAST = 2,
    ABOUT =
        "About: objects are compared by type and address, containers by type and length, long texts by " +
        "beginning and length. If they differ inside, it is not seen.";

/** Make the view. */
export function repeatsView(panel, page) {
    const {least, imports} = page.state.values;
    return answerPanel(panel, page, {
        bar: [leastField(page), importsOption(page), threadOption(page)],
        name: "repeat",
        question: {least: Math.max(Math.round(least), LEAST), imports, ...partOf(page)},
        content: (answer) => [
            below(page, answer),
            cacheable(page, answer),
            swallowed(page, answer),
            discarded(page, answer),
            [...answer.below, ...answer.cacheable].some(({partial}) => partial)
                ? element("p", {className: "quiet"}, ABOUT)
                : null,
        ],
    });
}

function leastField(page) {
    const field = element("input", {
        type: "number",
        id: "answer-least",
        min: String(LEAST),
        value: String(page.state.values.least),
        onchange: ({target}) =>
            page.state.set({least: Math.max(Number(target.value) || LEAST, LEAST)}, {step: true}),
    });
    return element(
        "label",
        {
            className: "field",
            title: "So many calls below one call, exceptions, or discarded results are a repetition",
        },
        "At least ",
        field,
        " times",
    );
}

/** Return one of the four sorts: a title with its number, and a table; or one sentence. */
function sort(title, number, rows, {heads, lack, none}) {
    const shown = number === null ? "not known" : count(number);
    return element(
        "section",
        {"aria-label": title},
        element("h2", {className: "wing-title"}, `${title}: ${shown}`),
        ...(rows.length
            ? [answerTable(title, heads, rows), ...shownOf(rows.length, number)]
            : [element("p", {className: "quiet"}, number === null ? lack : none)]),
    );
}

const valuesOf = (page, name) => () => page.state.set({tab: "values", func: name, by: ""}, {step: true});

/** Return a call as text: its function, and the arguments or the statement. */
const callText = (page, number, name, text, isPartial) => [
    functionName(page, number, name, valuesOf(page, name)),
    element("bdi", {className: "value"}, visible(text, MOST_TEXT)),
    isPartial ? element("span", {className: "quiet"}, " about") : null,
];

function below(page, answer) {
    const rows = answer.below.map((one) =>
        answerRow([
            callText(
                page,
                one.number,
                one.function,
                one.sql === null ? `(${one.arguments ?? "…"})` : `: ${one.sql}`,
                one.partial,
            ),
            duration(one.repeated_ns),
            count(one.calls),
            one.runs === 1 ? count(one.most) : `${count(one.most)} in one of ${count(one.runs)}`,
            evidenceOf(page, one.evidence, element("bdi", {}, visible(one.below, 120))),
        ]),
    );
    return sort(
        `The same call below one call, ${count(answer.least)} times or more`,
        answer.has_arguments ? answer.counts.below : null,
        rows,
        {
            heads: [
                ["Call", ""],
                ["Repeated", "The time without one call of each run"],
                ["Calls", ""],
                ["Most", "Calls in the longest run"],
                ["Below", "The call with the longest run: a click shows it on the time line", true],
            ],
            lack: "Arguments are not recorded: funcgraph record --args records them.",
            none: "No call was made so often with the same arguments below one call.",
        },
    );
}

function cacheable(page, answer) {
    const rows = answer.cacheable.map((one) =>
        answerRow([
            callText(page, one.number, one.function, `(${one.best ?? "…"})`, one.partial),
            duration(one.saved_ns),
            `${count(one.hits)} of ${counted(one.calls, "call")}`,
            one.differing ? count(one.differing) : "",
        ]),
    );
    return sort(
        "The same arguments, and always the same result",
        answer.has_arguments && answer.has_results ? answer.counts.cacheable : null,
        rows,
        {
            heads: [
                [
                    "Call",
                    "The arguments whose repetition took longest. A click on the function shows its values",
                ],
                ["Saved", "The time that a cache would save"],
                ["Found", "Calls that would be found in a cache"],
                ["Differing", "How many arguments had different results"],
            ],
            lack: "Arguments or results are not recorded: funcgraph record --args --retval records them.",
            none: "No function returned the same result for the same arguments.",
        },
    );
}

function swallowed(page, answer) {
    const rows = answer.swallowed.map((one) => {
        const onclick = () => page.state.set({tab: "exceptions", nth: one.first}, {step: true});
        return answerRow([
            exceptionCell(
                element("bdi", {}, visible(one.type || "an exception", 100)),
                one.raised_in,
                onclick,
            ),
            count(one.count),
            element("bdi", {className: "name"}, visible(one.handler, 200)),
        ]);
    });
    return sort(
        `The same exception, raised and handled ${count(answer.least)} times or more`,
        answer.counts.swallowed,
        rows,
        {
            heads: [
                ["Exception", "A click follows the first one"],
                ["Times", ""],
                ["Handled in", "", true],
            ],
            none: "No exception was handled so often.",
        },
    );
}

function discarded(page, answer) {
    const rows = answer.discarded.map((one) =>
        answerRow([
            functionName(page, one.number, one.function, valuesOf(page, one.function)),
            duration(one.total_ns),
            count(one.results),
            one.calls > one.results ? count(one.calls - one.results) : "",
            evidenceOf(page, one.evidence, "the longest"),
        ]),
    );
    return sort(
        `Results that all callers discard, ${count(answer.least)} times or more`,
        answer.has_results ? answer.counts.discarded : null,
        rows,
        {
            heads: [
                ["Function", "A click shows its values"],
                ["Time", "Of the calls whose results were discarded"],
                ["Results", "Results other than None: the call was a statement by itself"],
                ["None", "Calls that returned None"],
                ["Call", "A click shows the longest call on the time line", true],
            ],
            lack: "Results are not recorded: funcgraph record --retval records them.",
            none: "No function's results were discarded so often, by all of its callers.",
        },
    );
}
