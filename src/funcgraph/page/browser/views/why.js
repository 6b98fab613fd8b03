// Why a call, or a function's slow calls, took so long: one bar whose parts add up, and a table of them.

import {element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {count, counted, duration, exact, percent} from "../base/times.js";
import {
    answerPanel,
    answerRow,
    answerTable,
    evidenceOf,
    functionField,
    functionHint,
    functionName,
    functionOf,
    showSpot,
    showWithin,
    threadOf,
    threadOption,
} from "./answer_panel.js";
import {compareView} from "./compare.js";

const OF = [
    ["", "Slow calls", "The slowest tenth of a function's calls beside the fifth in the middle"],
    ["slowest", "Slowest call", "The slowest call of the function alone"],
    ["call", "Chosen call", "The call that is chosen on the time line"],
    ["compare", "Two calls", "The chosen call beside another one of its function: where they first differ"],
];

/** Make the view. */
export function whyView(panel, page) {
    const {of} = page.state.values,
        isOfCall = of === "call";
    if (of === "compare") return compareView(panel, page, [choice(page)]);
    return answerPanel(panel, page, {
        bar: [functionField(page), choice(page), ...(isOfCall ? [] : [threadOption(page)])],
        name: "why",
        question: isOfCall ? questionOfCall(page) : questionOfFunction(page),
        empty: () =>
            isOfCall
                ? [
                      element(
                          "p",
                          {className: "hint"},
                          "Choose a call on the time line: here is what it spent its time on.",
                      ),
                  ]
                : functionHint(
                      page,
                      "Choose a function, or a call of it: here is what its slow calls spent their time on.",
                  ),
        content: (answer) => content(page, answer),
    });
}

function questionOfCall(page) {
    const {call} = page.state.values;
    return call && {of: "call", ...call};
}

function questionOfFunction(page) {
    const chosen = functionOf(page);
    return chosen && {...chosen, of: page.state.values.of || "slow", ...threadOf(page)};
}

function choice(page) {
    const {of} = page.state.values;
    return element(
        "div",
        {className: "choice", role: "group", "aria-label": "Which calls"},
        ...OF.map(([name, title, about]) =>
            element(
                "button",
                {
                    id: `why-${name || "slow"}`,
                    title: about,
                    "aria-pressed": String(of === name),
                    onclick: () => page.state.set({of: name}, {step: true}),
                },
                title,
            ),
        ),
    );
}

function content(page, answer) {
    const parts = [heading(page, answer)];
    if (page.state.values.range)
        parts.push(
            element("p", {className: "quiet"}, "Of the whole trace: the selected range does not count here."),
        );
    parts.push(...bars(page, answer), table(page, answer));
    if (answer.lacks.length)
        parts.push(
            element("h3", {}, "Not recorded, so in other parts (funcgraph record --why records it)"),
            element("ul", {className: "notes quiet"}, ...answer.lacks.map((text) => element("li", {}, text))),
        );
    return parts;
}

function heading(page, {function: name, call, calls, slow, typical, total_ns: [total], evidence}) {
    const took = (group) =>
        `${counted(group.calls, "call")} of ${duration(group.least_ns)} to ${duration(group.most_ns)}`;
    const lines = call
        ? [
              `call ${count(call.number)} took ${exact(total)} in ${visible(call.thread, 60)} (${call.tid})${call.is_open ? "; it did not end" : ""}`,
          ]
        : [`${counted(calls, "call")}. Slow: ${took(slow)}. Typical: ${took(typical)}.`];
    return element(
        "header",
        {className: "answer-head"},
        element("h2", {}, element("bdi", {}, visible(name, 300))),
        element(
            "p",
            {className: "quiet"},
            ...lines,
            " ",
            ...evidenceOf(
                page,
                evidence,
                call ? "Show it on the time line" : "Show the longest on the time line",
            ),
        ),
    );
}

// ---- bars

function bars(page, answer) {
    const groups = answer.typical
        ? [
              ["Slow", "slow_ns"],
              ["Typical", "typical_ns"],
          ]
        : [["", "slow_ns"]];
    return groups.map(([title, key], place) => bar(page, answer, title, key, answer.total_ns[place]));
}

/** One bar: a segment for each part. The table below says the same in words. */
function bar(page, answer, title, key, total) {
    const rows = [...answer.rows].sort((a, b) => b[key] - a[key]).filter((row) => row[key] > 0);
    const segments = rows.map((row) => {
        const segment = swatch(page, row, "segment");
        segment.style.flexGrow = String(row[key] / total);
        segment.title = `${row.text} ${visible(row.name, 100)}: ${duration(row[key])}, ${percent(row[key], total)}`;
        return segment;
    });
    if (answer.rest?.[key]) {
        const segment = element("span", {className: "segment kind-rest", title: `${answer.rest.rows} more`});
        segment.style.flexGrow = String(answer.rest[key] / total);
        segments.push(segment);
    }
    return element(
        "div",
        {className: "why-bar", "aria-hidden": "true"},
        element("span", {className: "why-title quiet"}, title),
        element("span", {className: "segments"}, ...segments),
        element("span", {className: "number"}, duration(total)),
    );
}

/** Return a piece of colour: a callee has that of the time line, each other kind its own. */
function swatch(page, {kind, number}, className) {
    const made = element("span", {className: `${className} kind-${kind}`, "aria-hidden": "true"}),
        colour = kind === "callee" ? page.trace.colours[number] : null;
    if (colour) made.style.background = `rgb(${colour.join(" ")})`;
    return made;
}

// ---- table

function table(page, answer) {
    const isPair = Boolean(answer.typical);
    const heads = isPair
        ? [
              ["What, per call", ""],
              ["Slow", "Time in a slow call"],
              ["Typical", "Time in a typical call"],
              ["Difference", "How much more it is in a slow call"],
              ["Times", "How often, in a slow and in a typical call"],
          ]
        : [
              ["What", ""],
              ["Time", ""],
              ["Part", "Of the call's time"],
              ["Times", "How often"],
          ];
    const rows = answer.rows.map((row) =>
        answerRow([named(page, answer, row), ...figures(answer, row, isPair)]),
    );
    if (answer.rest)
        rows.push(
            answerRow([`${answer.rest.rows} more`, ...figures(answer, {...restOf(answer.rest)}, isPair)]),
        );
    rows.push(
        answerRow(
            [isPair ? "All of a call" : "All, to the nanosecond", ...figures(answer, totals(answer), isPair)],
            {className: "sum"},
        ),
    );
    return answerTable("What the time went to", heads, rows);
}

const restOf = ({slow_ns, typical_ns}) => ({slow_ns, typical_ns, slow_count: null});
const totals = ({total_ns: [slow_ns, typical_ns]}) => ({slow_ns, typical_ns, slow_count: null});

function figures(answer, row, isPair) {
    if (!isPair)
        return [
            answer.rows.includes(row) ? duration(row.slow_ns) : exact(row.slow_ns),
            percent(row.slow_ns, answer.total_ns[0]),
            times(row.slow_count),
        ];
    const more = row.slow_ns - row.typical_ns,
        difference = `${more < 0 ? "−" : "+"}${duration(Math.abs(more))}`;
    return [
        duration(row.slow_ns),
        duration(row.typical_ns),
        difference,
        row.slow_count === null ? "" : `${times(row.slow_count)} : ${times(row.typical_count)}`,
    ];
}

const times = (number) =>
    number === null
        ? ""
        : number >= 100 || Number.isInteger(number)
          ? count(Math.round(number))
          : number.toPrecision(3);

/** Return what a part is: of a function, or of own code, a button that shows it on the time line. */
function named(page, answer, row) {
    const {evidence} = answer,
        color = swatch(page, row, "dot");
    if (row.kind === "own" && evidence)
        return [
            color,
            element("button", {className: "link", onclick: () => showSpot(page, evidence)}, row.text),
        ];
    if (!row.name) return [color, row.kind === "callee" ? "in functions without a name" : row.text];
    return [
        color,
        `${row.text} `,
        functionName(
            page,
            row.number,
            row.name,
            evidence ? () => showWithin(page, evidence, row.number) : null,
        ),
    ];
}
