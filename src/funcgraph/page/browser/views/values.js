// The values of a function's calls: which one separates slow calls from fast ones, and how long each takes.

import {element, svg} from "../base/dom.js";
import {visible} from "../base/names.js";
import {count, counted, duration} from "../base/times.js";
import {
    answerPanel,
    answerRow,
    answerTable,
    evidenceOf,
    functionField,
    functionHint,
    functionOf,
    partOf,
    share,
    threadOption,
} from "./answer_panel.js";

const BAR = 4,
    HEIGHT = 18,
    MOST_VALUE = 300;

/** Make the view. */
export function valuesView(panel, page) {
    const chosen = functionOf(page);
    return answerPanel(panel, page, {
        bar: [functionField(page), threadOption(page)],
        name: "values",
        question: chosen && {...chosen, ...partOf(page)},
        empty: () =>
            functionHint(
                page,
                "Choose a function, or a call of it: here is which of its arguments separates slow calls from fast ones.",
            ),
        content: (answer) => content(page, answer),
    });
}

function content(page, answer) {
    const field =
        answer.fields.find(({name}) => name === page.state.values.by) ??
        answer.fields.find(({name}) => name === answer.best);
    const parts = [heading(page, answer)];
    if (!field)
        parts.push(
            element(
                "p",
                {className: "hint"},
                "No argument, result or exception of it is recorded: funcgraph record --args --retval records them.",
            ),
        );
    else parts.push(ranking(page, answer, field), listing(page, field));
    return parts;
}

function heading(page, answer) {
    const facts = [counted(answer.calls, "call"), `${duration(answer.total_ns)} in total`];
    if (answer.timed) facts.push(`mean ${duration(answer.mean_ns)}`, `median ${duration(answer.median_ns)}`);
    if (answer.raised) facts.push(`${count(answer.raised)} raised`);
    const slowest = answer.evidence
        ? [" · slowest ", ...evidenceOf(page, answer.evidence, duration(answer.max_ns))]
        : [];
    return element(
        "header",
        {className: "answer-head"},
        element("h2", {}, element("bdi", {}, visible(answer.name, 300))),
        element("p", {className: "quiet"}, facts.join(", "), ...slowest),
    );
}

/** What the calls can be grouped by, the best explanation first. A click lists the values. */
function ranking(page, {fields, slow}, chosen) {
    const isRaising = fields.some((field) => field.raise_share !== null),
        rank = (field) => (slow.includes(field.name) ? slow.indexOf(field.name) : fields.length);
    const heads = [
        ["Grouped by", ""],
        ["Slow", "Share of the variance of the time's logarithm that the value explains"],
        ["Slowest value", "The mean time of its calls, against that of all others", true],
        ...(isRaising
            ? [
                  ["Raises", "Share of the uncertainty whether a call raises that the value removes"],
                  ["Raises most", "The value that raises most often, against all others", true],
              ]
            : []),
    ];
    const rows = [...fields]
        .sort((a, b) => rank(a) - rank(b))
        .map((field) => {
            const onclick = () => page.state.set({by: field.name}, {step: true}),
                name = element(
                    "button",
                    {className: "link name", "aria-pressed": String(field === chosen), onclick},
                    element("bdi", {}, visible(field.name, 100)),
                );
            return answerRow(
                [
                    [name, field.by_size ? " (by size)" : ""],
                    share(field.slow_share),
                    slowest(field),
                    ...(isRaising ? [share(field.raise_share), visible(field.raise_text, 120)] : []),
                ],
                field === chosen ? {className: "chosen"} : {},
            );
        });
    return element(
        "section",
        {"aria-label": "Ranking"},
        element("h3", {}, "What separates slow calls from fast ones"),
        answerTable("Ranking", heads, rows),
    );
}

function slowest({slowest: found}) {
    if (!found) return "";
    const [text, mean, others] = found;
    return [
        element("bdi", {className: "value"}, visible(text, 60)),
        `: ${duration(mean)}, else ${duration(others)}`,
    ];
}

function listing(page, field) {
    const scale = `Calls by duration, ${duration(field.least_ns)} to ${duration(field.most_ns)}, logarithmic`;
    const heads = [
        ["Value", ""],
        ["Calls", ""],
        ["Raised", "How many calls an exception ended"],
        ["Total", ""],
        ["Mean", ""],
        ["P99", "99 of 100 calls take less"],
        ["Durations", scale],
        ["Slowest", "A click shows it on the time line"],
    ];
    const rows = field.values.map((group) =>
        answerRow([
            element(
                "bdi",
                {className: "value"},
                group.value === null ? "(other values)" : visible(group.value, MOST_VALUE),
            ),
            count(group.calls),
            group.raised ? count(group.raised) : "",
            duration(group.total_ns),
            duration(group.mean_ns),
            duration(group.p99_ns),
            group.timed ? bars(group) : "",
            group.evidence ? evidenceOf(page, group.evidence, duration(group.max_ns)) : "",
        ]),
    );
    const title = `${counted(field.count, field.by_size ? "size" : "value")} of ${visible(field.name, 100)}`,
        more =
            field.count > rows.length
                ? [
                      element(
                          "p",
                          {className: "quiet"},
                          `The ${rows.length} with the most time. The command below prints more of them with -n ${field.count}.`,
                      ),
                  ]
                : [];
    return element(
        "section",
        {"aria-label": "Values"},
        element("h3", {}, title),
        answerTable("Values", heads, rows),
        ...more,
    );
}

/** Return how long the calls of a value took, as small bars on the scale of all values. */
function bars({durations, calls, min_ns: least, max_ns: most}) {
    const highest = Math.max(...durations, 1),
        width = BAR * durations.length,
        label = `${counted(calls, "call")}, ${duration(least)} to ${duration(most)}`;
    return svg(
        "svg",
        {
            viewBox: `0 0 ${width} ${HEIGHT}`,
            width,
            height: HEIGHT,
            role: "img",
            class: "durations",
            "aria-label": label,
        },
        svg("title", {}, label),
        svg("line", {x1: 0, x2: width, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5}),
        ...durations.map((number, place) => {
            const height = number ? Math.max(2, (number / highest) * (HEIGHT - 2)) : 0;
            return svg("rect", {x: place * BAR + 0.5, y: HEIGHT - 1 - height, width: BAR - 1, height});
        }),
    );
}
