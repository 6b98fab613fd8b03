// The table of functions: sorted by any column.

import {ask} from "../base/api.js";
import {element} from "../base/dom.js";
import {optionsBar} from "./options_bar.js";
import {question} from "./question.js";
import {replaceTable, sortableHeads} from "./sorted_table.js";
import {guard} from "../base/status.js";
import {count, duration, percent} from "../base/times.js";

const AT_ONCE = 200;
const COLUMNS = [
    ["Function", "", ([number], trace) => trace.name(number)],
    ["Calls", "How often it was called", (row) => row[1], count],
    ["Total", "From begin to end, with what it called", (row) => row[2], duration],
    ["Own", "Without what it called", (row) => row[3], duration],
    ["Own %", "Part of all own time", (row) => row[3], null],
    ["Mean", "Total for each call", (row) => (row[1] ? row[2] / row[1] : 0), duration],
    ["Shortest", "The shortest call", (row) => row[4], duration],
    ["Longest", "The longest call", (row) => row[5], duration],
    [
        "Raised",
        "How many calls ended by an exception",
        (row) => row[6],
        (number) => (number ? count(number) : ""),
    ],
];

let sorted = {column: 3, down: true};

/** Return rows in the order of a column. Pure. */
export function sortRows(rows, {column, down}, trace) {
    const value = COLUMNS[column][2],
        sign = down ? -1 : 1;
    return [...rows].sort((a, b) => {
        const [one, other] = [value(a, trace), value(b, trace)];
        return sign * (typeof one === "string" ? one.localeCompare(other) : one - other) || a[0] - b[0];
    });
}

/** Make the view. */
export function tableView(panel, page) {
    const controller = new AbortController(),
        holder = element("div", {}, element("p", {className: "quiet"}, "Counting…"));
    panel.replaceChildren(optionsBar(page), holder);
    fill(holder, page, controller.signal);
    return {close: () => controller.abort()};
}

async function fill(holder, page, signal) {
    const answer = await guard(ask("table", question(page), {signal}));
    if (signal.aborted) return;
    if (!answer) holder.replaceChildren();
    else if (!answer.rows.length)
        holder.replaceChildren(
            element(
                "p",
                {className: "hint"},
                "The options above leave no call of this part. Choose a longer one, or press Undo.",
            ),
        );
    else show(holder, page, answer.rows, AT_ONCE);
}

function show(holder, page, rows, most) {
    const {trace} = page,
        own = rows.reduce((sum, row) => sum + row[3], 0),
        list = sortRows(rows, sorted, trace);
    const matched = page.timeline.matched,
        kept = matched ? list.filter(([number]) => matched[number]) : list;
    const heads = sortableHeads(holder, COLUMNS, sorted, (next) => {
        sorted = next;
        show(holder, page, rows, most);
    });
    const lines = kept.slice(0, most).map((row) =>
        element(
            "tr",
            {},
            ...COLUMNS.map(([title, , value, show], column) => {
                if (column === 0)
                    return element(
                        "th",
                        {scope: "row"},
                        element(
                            "button",
                            {className: "link name", onclick: () => page.showFunction(row[0])},
                            element("bdi", {}, trace.name(row[0], 200)),
                        ),
                    );
                if (title === "Own %") {
                    const meter = element("span", {className: "meter", "aria-hidden": "true"});
                    meter.style.width = `${own ? Math.min(100, (100 * row[3]) / own) : 0}%`;
                    return element(
                        "td",
                        {className: "metered"},
                        meter,
                        element("span", {}, percent(row[3], own)),
                    );
                }
                return element("td", {}, value(row, trace) === null ? "" : show(value(row, trace)));
            }),
        ),
    );
    replaceTable(holder, {
        className: "functions",
        label: "Functions",
        heads,
        lines,
        total: kept.length,
        showMore: () => show(holder, page, rows, most * 5),
    });
    if (!kept.length)
        holder.append(
            element(
                "p",
                {className: "hint"},
                "The search leaves no function of this part. Clear it to see all.",
            ),
        );
}
