// The difference of two traces: totals, a legend, and a table of functions or a flame graph; or their first
// different calls.

import {ask} from "../base/api.js";
import {changeColour} from "../base/colours.js";
import {differentCallsView} from "./different_calls.js";
import {element} from "../base/dom.js";
import {MergedFlame} from "./flame.js";
import {visible} from "../base/names.js";
import {optionsBar} from "./options_bar.js";
import {operations, treeOf} from "./question.js";
import {replaceTable, sortableHeads} from "./sorted_table.js";
import {guard} from "../base/status.js";
import {count, duration} from "../base/times.js";
import {isDark} from "../base/trace.js";

const AT_ONCE = 200;

/** Return the trace that is compared with another; undefined: none is. */
export const pairOf = (traces) => traces.find(({base}) => base !== null && base !== undefined);

const signed = (change, text) => (change ? `${change < 0 ? "−" : "+"}${text(Math.abs(change))}` : "0");

/** Return a change as a word: +12.3%, ×8.1, new, gone. Pure. */
export function changeText(before, after) {
    if (!before || !after) return before ? "gone" : after ? "new" : "";
    if (after >= 2 * before) return `×${(after / before).toPrecision(3)}`;
    return signed((100 * (after - before)) / before, (part) => `${part.toFixed(1)}%`);
}

// Rows are [function, total, own, calls of the first, total, own, calls of the second].
const change = (row) => row[5] - row[2];
const factor = ([, , before, , , after]) => (before ? after / before : after ? Infinity : 1);
const COLUMNS = [
    ["Function", "", (row, names) => names[row[0]]],
    ["Change", "How much more own time the second has", change, (row, text) => signed(change(row), text)],
    ["Own B / A", "The same as a part, or as a factor", factor, (row) => ownChange(row)],
    ["Own A", "Own time in the first", (row) => row[2], (row, text) => text(row[2])],
    ["Own B", "Own time in the second", (row) => row[5], (row, text) => text(row[5])],
    ["Total A", "With what it called, in the first", (row) => row[1], (row, text) => text(row[1])],
    ["Total B", "With what it called, in the second", (row) => row[4], (row, text) => text(row[4])],
    ["Calls A", "Calls in the first", (row) => row[3], (row) => count(row[3])],
    ["Calls B", "Calls in the second", (row) => row[6], (row) => count(row[6])],
];

/** A function that only one has is new or gone, whatever time it took. */
const ownChange = (row) =>
    row[3] && row[6] ? changeText(row[2], row[5]) || "0" : changeText(row[3], row[6]);

let sorted = {column: 1, down: true};

/** Return rows in the order of a column; changes by their size. Pure. */
export function sortChanges(rows, {column, down}, names) {
    const value = column === 1 ? (row) => Math.abs(change(row)) : (row) => COLUMNS[column][2](row, names);
    const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a === b ? 0 : a < b ? -1 : 1);
    return [...rows].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)) || a[0] - b[0]);
}

/** Make the view. */
export function differenceView(panel, page) {
    if (page.state.values.diff === "flame") {
        const flame = new DifferenceFlame(panel, page);
        flame.start();
        return {close: () => flame.close()};
    }
    if (page.state.values.diff === "calls")
        return differentCallsView(panel, page, shapes(page), pairOf(page.traces).number);
    const controller = new AbortController(),
        {signal} = controller,
        holder = element("div", {}, element("p", {className: "quiet"}, "Counting…"));
    panel.replaceChildren(...bars(page), holder);
    askDifference(page, signal).then((answer) => {
        if (signal.aborted) return;
        if (!answer) holder.replaceChildren();
        else {
            showTotals(panel, answer);
            showTable(page, holder, answer, AT_ONCE);
        }
    });
    return {close: () => controller.abort()};
}

/** Return the ranges when another trace is shown: of two that are compared, each keeps its own. */
export const rangesOfNext = (traces, {range, other}) =>
    pairOf(traces) ? {range: other, other: range} : {range: null, other: null};

/** Return the ranges of A and of B that are compared; null: all of it. */
function rangesOf({trace, traces, state}) {
    const {range, other} = state.values;
    return trace.number === pairOf(traces).base ? [range, other] : [other, range];
}

function askDifference(page, signal) {
    const [a, b] = rangesOf(page).map((range) => range && {begin: Math.round(range.begin), end: Math.round(range.end)}),
        parameters = {
            trace: pairOf(page.traces).number,
            begin: b?.begin,
            end: b?.end,
            base_begin: a?.begin,
            base_end: a?.end,
            ...operations(page.state.values),
        };
    return guard(ask("diff", parameters, {signal, onProgress: () => {}}));
}

const SHAPES = [
    ["", "Table", "Times and numbers of calls of each function"],
    ["flame", "Flame graph", "The same of each path of calls"],
    ["calls", "Different calls", "The first calls of a function that differ, side by side"],
];

function shapes({state}) {
    return element(
        "div",
        {className: "choice", role: "group", "aria-label": "Shape"},
        ...SHAPES.map(([name, title, about]) =>
            element(
                "button",
                {
                    id: `diff-${name || "table"}`,
                    title: about,
                    "aria-pressed": String(state.values.diff === name),
                    onclick: () => state.set({diff: name}, {step: true}),
                },
                title,
            ),
        ),
    );
}

/** Return what is above table and graph. */
function bars(page) {
    const b = pairOf(page.traces),
        a = page.traces.find(({number}) => number === b.base);
    const options = optionsBar(page, {lanes: false});
    options.prepend(shapes(page));
    const sides = [
        ["A", a],
        ["B", b],
    ].map(([side, {name}], i) => `${side}: ${visible(name, 80)}, ${partText(rangesOf(page)[i])}. `);
    const title = "A range that you select in a trace is the part of it that is compared.";
    return [
        options,
        element("p", {className: "legend", title}, ...sides, ...legend(), element("b", {id: "diff-totals"})),
    ];
}

const partText = (range) =>
    range ? `${duration(range.end - range.begin)} from ${duration(range.begin)}` : "whole";

/** Return the colours with what they mean. */
function legend() {
    const steps = [
        ["gone", 1, 0],
        ["B is faster", 4, 1],
        ["", 2, 1],
        ["the same", 1, 1],
        ["", 1, 2],
        ["slower", 1, 4],
        ["new", 0, 1],
    ];
    return steps.flatMap(([title, before, after]) => {
        const swatch = element("span", {className: "swatch", "aria-hidden": "true"});
        paint(swatch, before, after);
        return [swatch, title ? ` ${title} ` : ""];
    });
}

function paint(node, before, after) {
    node.style.background = `rgb(${changeColour(before, after, isDark()).join(" ")})`;
}

function showTotals(panel, {totals: [ownA, callsA, ownB, callsB], unit}) {
    const text = textOf(unit),
        part = changeText(ownA, ownB);
    panel.querySelector("#diff-totals").textContent =
        `${text(ownA)} → ${text(ownB)}${part ? ` (${part})` : ""}, ` +
        `${count(callsA)} → ${count(callsB)} calls`;
}

/** Return the function that writes figures of time. */
const textOf = (unit) => (unit === "ns" ? duration : count);

function showTable(page, holder, answer, most) {
    const {names, rows, unit} = answer,
        text = textOf(unit);
    const heads = sortableHeads(holder, COLUMNS, sorted, (next) => {
        sorted = next;
        showTable(page, holder, answer, most);
    });
    const lines = sortChanges(rows, sorted, names)
        .slice(0, most)
        .map((row) => {
            const cells = COLUMNS.slice(1).map(([, , , show]) => element("td", {}, show(row, text)));
            if (row[2] !== row[5]) paint(cells[1], row[2], row[5]);
            const name = nameOf(page, names[row[0]], row);
            return element("tr", {}, element("th", {scope: "row"}, name), ...cells);
        });
    replaceTable(holder, {
        className: "functions difference",
        label: "Difference",
        heads,
        lines,
        total: rows.length,
        showMore: () => showTable(page, holder, answer, most * 5),
    });
}

/** Return a function's name: of one that both call, a button that shows the first calls of it that differ. */
function nameOf({state}, name, row) {
    const shown = element("bdi", {}, visible(name, 200)),
        about = "Show its first calls that differ",
        onclick = () => state.set({diff: "calls", func: name, pair: 0}, {step: true});
    return row[3] && row[6]
        ? element("button", {className: "link name", title: about, onclick}, shown)
        : shown;
}

/**
 * Return how wide each path is: as much as it takes in the second trace. What is gone has the time that it took
 * in the first, and so has what is around it. Pure; rows are as the server has them.
 */
export function widthsOf(rows) {
    const widths = rows.map((row) => (row[7] || !row[4] ? row[6] : row[3]));
    for (let i = rows.length - 1; i >= 0; i--) if (rows[i][0] >= 0) widths[rows[i][0]] += widths[i];
    return widths;
}

/** The flame graph of the second trace, in the colours of the change of each path's total time. */
class DifferenceFlame extends MergedFlame {
    bars() {
        return bars(this.page);
    }

    ask(signal) {
        return askDifference(this.page, signal);
    }

    treeOf(answer) {
        const {names, nodes, unit} = answer;
        this.text = textOf(unit);
        this.trace = {
            functions: names.map((name) => ({name})),
            name: (number) => (number === -1 ? "(others)" : visible(names[number], 300)),
        };
        showTotals(this.panel, answer);
        const widths = widthsOf(nodes);
        const tree = treeOf(nodes.map((row, i) => [row[0], row[1], row[7], widths[i], row[6], 0]));
        tree.nodes.forEach((node, i) => {
            [, , node.totalBefore, node.ownBefore, node.callsBefore, node.totalAfter] = nodes[i];
        });
        return tree;
    }

    colourOf(node) {
        return changeColour(node.totalBefore, node.totalAfter, isDark());
    }

    labelOf(node) {
        const kind = node.callsBefore ? (node.calls ? "" : "gone: ") : "new: ";
        return `${kind}${this.trace.name(node.func)}`;
    }

    isFaint() {
        return false;
    }

    facts(node) {
        const {text} = this;
        return [
            `total ${text(node.totalBefore)} → ${text(node.totalAfter)} ` +
                changeText(node.totalBefore, node.totalAfter),
            `own ${text(node.ownBefore)} → ${text(node.own)} ${changeText(node.ownBefore, node.own)}`,
            `${count(node.callsBefore)} → ${count(node.calls)} calls`,
        ];
    }
}
