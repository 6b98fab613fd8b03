// The difference of two traces: totals, a legend, and a table of functions or a flame graph.

import {ask} from "./api.js";
import {changeColour} from "./colours.js";
import {element} from "./dom.js";
import {MergedFlame} from "./flame.js";
import {visible} from "./names.js";
import {optionsBar} from "./options_bar.js";
import {operations, treeOf} from "./question.js";
import {replaceTable, sortableHeads} from "./sorted_table.js";
import {guard} from "./status.js";
import {count, duration} from "./times.js";
import {isDark} from "./trace.js";

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
    const controller = new AbortController(),
        {signal} = controller,
        holder = element("div", {}, element("p", {className: "quiet"}, "Counting…"));
    panel.replaceChildren(...bars(page), holder);
    askDifference(page, signal).then((answer) => {
        if (signal.aborted) return;
        if (!answer) holder.replaceChildren();
        else {
            showTotals(panel, answer);
            showTable(holder, answer, AT_ONCE);
        }
    });
    return {close: () => controller.abort()};
}

function askDifference(page, signal) {
    const asked = {trace: pairOf(page.traces).number, ...operations(page.state.values)};
    return guard(ask("diff", asked, {signal, onProgress: () => {}}));
}

/** Return what is above table and graph. */
function bars(page) {
    const b = pairOf(page.traces),
        a = page.traces.find(({number}) => number === b.base),
        choice = element("div", {className: "choice", role: "group", "aria-label": "Shape"});
    for (const [name, title] of [
        ["", "Table"],
        ["flame", "Flame graph of B"],
    ])
        choice.append(
            element(
                "button",
                {
                    id: `diff-${name || "table"}`,
                    "aria-pressed": String(page.state.values.diff === name),
                    onclick: () => page.state.set({diff: name}, {step: true}),
                },
                title,
            ),
        );
    const options = optionsBar(page, {lanes: false});
    options.prepend(choice);
    const sides = `A: ${visible(a.name, 80)}, B: ${visible(b.name, 80)}, both whole. `;
    return [options, element("p", {className: "legend"}, sides, ...legend(), element("b", {id: "diff-totals"}))];
}

/** Return the colours with what they mean. */
function legend() {
    const steps = [
        ["B is faster", 4, 1],
        ["", 2, 1],
        ["the same", 1, 1],
        ["", 1, 2],
        ["slower", 1, 4],
        ["new", 0, 1],
    ];
    return [
        ...steps.flatMap(([title, before, after]) => {
            const swatch = element("span", {className: "swatch", "aria-hidden": "true"});
            paint(swatch, before, after);
            return [swatch, title ? ` ${title} ` : ""];
        }),
        " (gone: in the table only) ",
    ];
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

function showTable(holder, answer, most) {
    const {names, rows, unit} = answer,
        text = textOf(unit);
    const heads = sortableHeads(holder, COLUMNS, sorted, (next) => {
        sorted = next;
        showTable(holder, answer, most);
    });
    const lines = sortChanges(rows, sorted, names)
        .slice(0, most)
        .map((row) => {
            const cells = COLUMNS.slice(1).map(([, , , show]) => element("td", {}, show(row, text)));
            if (row[2] !== row[5]) paint(cells[1], row[2], row[5]);
            const name = element("bdi", {}, visible(names[row[0]], 200));
            return element("tr", {}, element("th", {scope: "row"}, name), ...cells);
        });
    replaceTable(holder, {
        className: "functions difference",
        label: "Difference",
        heads,
        lines,
        total: rows.length,
        showMore: () => showTable(holder, answer, most * 5),
    });
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
        const tree = treeOf(nodes.map((row) => [row[0], row[1], row[7], row[5], row[6], 0]));
        tree.nodes.forEach((node, i) => {
            [, , node.totalBefore, node.ownBefore, node.callsBefore] = nodes[i];
        });
        return tree;
    }

    colourOf(node) {
        return changeColour(node.totalBefore, node.total, isDark());
    }

    labelOf(node) {
        return `${node.callsBefore ? "" : "new: "}${this.trace.name(node.func)}`;
    }

    isFaint() {
        return false;
    }

    facts(node) {
        const {text} = this;
        return [
            `total ${text(node.totalBefore)} → ${text(node.total)} ${changeText(node.totalBefore, node.total)}`,
            `own ${text(node.ownBefore)} → ${text(node.own)} ${changeText(node.ownBefore, node.own)}`,
            `${count(node.callsBefore)} → ${count(node.calls)} calls`,
        ];
    }
}
