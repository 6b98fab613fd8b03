// The names of lanes at the left of the time line, with what can be done to each.

import {byId, element} from "../base/dom.js";
import {isClosed, laneName, usualDepths} from "./lanes.js";
import {visible} from "../base/names.js";
import {toggled} from "../base/state.js";
import {count, counted, duration} from "../base/times.js";

const KINDS = {thread: "Thread", task: "Task", greenlet: "Greenlet", cpu: "CPU"};

/** Make the list for items of `placed`. */
export function showLaneList(items, height, state, lanes) {
    const usual = usualDepths(lanes),
        list = byId("labels"),
        focused = document.activeElement?.id;
    list.style.height = `${height}px`;
    list.replaceChildren(
        ...items.map((item) => (item.kind === "group" ? groupRow(item, state) : laneRow(item, state, usual))),
    );
    if (focused) byId(focused)?.focus({preventScroll: true});
}

function placedRow(item, className, ...children) {
    const row = element("div", {role: "listitem", className}, ...children);
    row.style.top = `${item.y}px`;
    row.style.height = `${item.height}px`;
    return row;
}

function groupRow(item, state) {
    const {key, title, lanes} = item.group,
        command = visible(lanes[0].process || title, 500),
        closedKeys = state.values.closed.split("|").filter(Boolean);
    const isOpen = !isClosed(key, lanes.length, closedKeys),
        name = visible(title, 200);
    const button = element(
        "button",
        {
            id: `group-${key}`,
            className: "fold",
            "aria-expanded": String(isOpen),
            title: command,
            onclick: () => state.set({closed: toggled(closedKeys, key).join("|")}),
        },
        element("span", {className: "arrow", "aria-hidden": "true"}),
        element("bdi", {}, name),
    );
    return placedRow(
        item,
        "group-row",
        button,
        element("span", {className: "quiet"}, counted(lanes.length, key.startsWith("tasks:") ? "task" : "lane")),
    );
}

function laneRow(item, state, usual) {
    const {lane} = item,
        name = visible(laneName(lane), 300),
        {pinned, folded, deep} = state.values;
    const change = (key, list) => () => state.set({[key]: toggled(list, lane.number)});
    const isPinned = pinned.includes(lane.number),
        hidden = lane.depths - usual;
    const fold = element(
        "button",
        {
            id: `lane-${lane.number}`,
            className: "fold",
            "aria-expanded": String(!item.folded),
            title:
                `${KINDS[lane.kind] || lane.kind} ${name}, ${lane.tid}: ` +
                `${counted(lane.calls, "call")}, ${counted(lane.depths, "level")}, ` +
                `${duration(lane.end_ns - lane.begin_ns)}`,
            onclick: change("folded", folded),
        },
        element("span", {className: "arrow", "aria-hidden": "true"}),
        element("bdi", {}, name),
    );
    const pin = element(
        "button",
        {
            id: `pin-${lane.number}`,
            className: "pin",
            "aria-pressed": String(isPinned),
            "aria-label": `Pin ${name}`,
            title: isPinned ? "Unpin" : "Pin: keep it on top",
            onclick: change("pinned", pinned),
        },
        isPinned ? "★" : "☆",
    );
    const row = placedRow(item, "lane-row", element("div", {className: "lane-name"}, fold, pin));
    if (!item.folded) {
        if (item.height > 44)
            row.append(element("div", {className: "quiet lane-facts"}, counted(lane.calls, "call")));
        if (hidden > 0)
            row.append(
                element(
                    "button",
                    {
                        id: `deep-${lane.number}`,
                        className: "more",
                        onclick: change("deep", deep),
                    },
                    deep.includes(lane.number)
                        ? "Show fewer levels"
                        : `Show ${count(hidden)} deeper level${hidden === 1 ? "" : "s"}`,
                ),
            );
    }
    return row;
}
