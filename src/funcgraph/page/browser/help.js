// The help: keys, what the mouse does, what the picture means.

import {byId, element, isFramed} from "./base/dom.js";
import {KEYS} from "./keys.js";
import {MARKS, drawMark} from "./timeline/marks.js";
import {freshPen} from "./timeline/painter.js";
import {theme} from "./base/trace.js";

const SHOWN = {ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc"};

const MOUSE = [
    [
        "Ctrl + wheel, pinch",
        `zoom${isFramed ? "" : "; the wheel alone does where nothing can be scrolled, and on the time axis"}`,
    ],
    ["Shift + wheel, drag", "move in time"],
    ["wheel", "scroll the lanes"],
    ["click, double click", "choose a call; zoom to it"],
    ["Shift + drag, drag on the axis", "select a range: the views below are of it"],
];

const PICTURE = [
    "A box is a call, with what it called below it. The colour is that of its module, grey for C code.",
    "A pale box stands for many calls that are too short to be seen. Zoom in.",
    "A thin line joins the parts of a call that was suspended: a coroutine or generator.",
    "A red end: an exception. A box that fades out: its end is not in the trace.",
];

const keyName = (key) =>
    key
        .split("+")
        .map((part) => SHOWN[part] || (part.length === 1 ? part.toUpperCase() : part))
        .join(" ") || "+";
const shownKey = (key) => element("kbd", {}, key === "+" ? "+" : keyName(key));

function rows(pairs) {
    return element(
        "dl",
        {},
        ...pairs.flatMap(([terms, text]) => [element("dt", {}, ...terms), element("dd", {}, text)]),
    );
}

function markRows() {
    return Object.entries(MARKS).map(([kind, [title, meaning]]) => {
        const canvas = element("canvas", {"aria-hidden": "true", className: "mark"});
        drawMark(freshPen(canvas, 12, 12), kind, 6, 2, theme());
        return [[canvas, ` ${title}`], meaning];
    });
}

const section = (title, ...content) => element("section", {}, element("h3", {}, title), ...content);

const aboutPicture = () => [
    section("Mouse", rows(MOUSE.map(([word, text]) => [[word], text]))),
    section("Picture", ...PICTURE.map((text) => element("p", {}, text))),
    section("Marks", rows(markRows())),
];

/** Open the help. `can`: whether the page has something to do an action of a key to. */
export function showHelp(can) {
    const keys = KEYS.map(([title, list]) => [title, list.filter(([, , action]) => can(action))]),
        hasPicture = can("zoomIn");
    const dialog = byId("help"),
        close = element(
            "button",
            {className: "close", onclick: () => dialog.close(), "aria-label": "Close the help"},
            "✕",
        );
    dialog.replaceChildren(
        element("div", {className: "help-head"}, element("h2", {id: "help-title"}, "Keys and help"), close),
        element(
            "div",
            {className: "help-columns"},
            ...keys
                .filter(([, list]) => list.length)
                .map(([title, list]) =>
                    section(title, rows(list.map(([names, text]) => [names.map(shownKey), text]))),
                ),
            ...(hasPicture ? aboutPicture() : []),
        ),
    );
    dialog.showModal();
}
