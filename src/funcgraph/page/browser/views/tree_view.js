// The call tree: calls merged by stack, opened level by level.

import {ask} from "../base/api.js";
import {element} from "../base/dom.js";
import {optionsBar} from "./options_bar.js";
import {question, treeOf} from "./question.js";
import {guard} from "../base/status.js";
import {count, duration, percent} from "../base/times.js";

const AT_ONCE = 100,
    HEAVY = 0.5,
    DEEPEST_INDENT = 40;

/** Make the view. */
export function treeView(panel, page) {
    const controller = new AbortController(),
        body = element("tbody", {});
    const heads = ["Function", "Total", "", "Own", "Calls", "Raised"].map((title) =>
        element("th", {scope: "col"}, title || element("span", {className: "unseen"}, "Part")),
    );
    const table = element(
        "table",
        {className: "functions tree", role: "treegrid", "aria-label": "Call tree"},
        element("thead", {}, element("tr", {}, ...heads)),
        body,
    );
    panel.replaceChildren(optionsBar(page), table);
    table.addEventListener("keydown", onKey);
    fill(body, page, controller.signal);
    return {close: () => controller.abort()};
}

async function fill(body, page, signal) {
    const answer = await guard(ask("tree", question(page), {signal}));
    if (signal.aborted || !answer) return;
    const tree = treeOf(answer.nodes),
        context = {page, whole: tree.total};
    body.replaceChildren(...rowsOf(tree.roots, 1, context));
    if (!tree.roots.length)
        body.replaceChildren(
            element(
                "tr",
                {},
                element("td", {colSpan: 6}, "There is no call in this part that the options above leave."),
            ),
        );
    openHeavy(body, tree);
    const first = body.querySelector("tr[aria-level]");
    if (first) first.tabIndex = 0;
}

/** Open the way of what takes the most, as long as it is most of its caller. */
function openHeavy(body, tree) {
    for (let list = tree.roots, depth = 0; list.length && depth < 30; depth++) {
        const [node] = list,
            row = body.querySelector(`tr[data-index="${node.index}"]`);
        if (!row?.toggle) return;
        row.toggle(true);
        list = node.children[0]?.total >= HEAVY * node.total ? node.children : [];
    }
}

function rowsOf(nodes, level, context) {
    const rows = nodes.slice(0, AT_ONCE).map((node) => rowOf(node, level, context));
    if (nodes.length > AT_ONCE) {
        const rest = element("tr", {"aria-level": level, tabIndex: -1}, element("td", {colSpan: 6}));
        rest.level = level;
        rest.firstChild.append(
            element(
                "button",
                {
                    className: "link",
                    onclick: () => rest.replaceWith(...rowsOf(nodes.slice(AT_ONCE), level, context)),
                },
                `${count(nodes.length - AT_ONCE)} more`,
            ),
        );
        rows.push(rest);
    }
    return rows;
}

function rowOf(node, level, context) {
    const {page, whole} = context,
        hasChildren = node.children.length > 0,
        {trace} = page;
    const row = element("tr", {
        "aria-level": level,
        "data-index": node.index,
        tabIndex: -1,
        ...(hasChildren ? {"aria-expanded": "false"} : {}),
    });
    row.level = level;
    const cell = element("td", {role: "gridcell", className: "tree-name"});
    cell.style.paddingLeft = `${0.4 + Math.min(level - 1, DEEPEST_INDENT) * 1.1}rem`;
    if (hasChildren) {
        row.toggle = (open = row.getAttribute("aria-expanded") === "false") => {
            const isOpen = row.getAttribute("aria-expanded") === "true";
            if (open === isOpen) return;
            row.setAttribute("aria-expanded", String(open));
            if (open) row.after(...rowsOf(node.children, level + 1, context));
            else while (row.nextSibling?.level > level) row.nextSibling.remove();
        };
        row.addEventListener("click", (event) => {
            if (!event.target.closest("button.name")) row.toggle();
        });
    }
    cell.append(
        element("span", {className: hasChildren ? "arrow" : "arrow none", "aria-hidden": "true"}),
        element(
            "button",
            {className: "link name", tabIndex: -1, onclick: () => page.showFunction(node.func)},
            element("bdi", {}, trace.name(node.func, 200)),
        ),
    );
    const meter = element("span", {className: "meter", "aria-hidden": "true"});
    meter.style.width = `${whole ? Math.min(100, (100 * node.total) / whole) : 0}%`;
    const number = (text) => element("td", {role: "gridcell"}, text);
    row.append(
        cell,
        number(duration(node.total)),
        element(
            "td",
            {role: "gridcell", className: "metered"},
            meter,
            element("span", {}, percent(node.total, whole)),
        ),
        number(duration(node.own)),
        number(count(node.calls)),
        number(node.raised ? count(node.raised) : ""),
    );
    return row;
}

function onKey(event) {
    const row = event.target.closest("tr[aria-level]");
    if (!row) return;
    const isOpen = row.getAttribute("aria-expanded") === "true";
    const up = () => {
        let other = row.previousSibling;
        while (other && other.level >= row.level) other = other.previousSibling;
        return other;
    };
    const next = {
        ArrowDown: () => row.nextSibling,
        ArrowUp: () => row.previousSibling,
        ArrowRight: () => (isOpen ? row.nextSibling : row.toggle?.(true)),
        ArrowLeft: () => (isOpen ? row.toggle(false) : up()),
        Enter: () => void row.querySelector("button")?.click(),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const found = next();
    if (!found) return;
    row.tabIndex = -1;
    found.tabIndex = 0;
    found.focus();
}
