// The bar above the views of many calls: what is left out, put together, and undone.

import {element} from "../base/dom.js";
import {hasTimeLine} from "../base/trace.js";

const SHAPES = [
    ["", "Callees"],
    ["callers", "Callers"],
    ["time", "In time order"],
];
const SWITCHES = [
    ["merge", "Merge recursion", "A function that calls itself is one box"],
    ["collapse", "Collapse modules", "Calls within a module are one box"],
    ["nowait", "Without waiting", "Leave out what waits: poll, select, locks, sleep"],
    ["only", "This lane only", "Only the lane of the chosen call"],
];
const PATTERNS = [
    ["focus", "Focus on", "Only calls of these functions and what is below them. * stands for any text"],
    ["hide", "Hide", "Leave out these functions: what they call is their caller's. * stands for any text"],
];
const earlier = [];

/** Return the bar. `shapes`: whether there is a choice of shapes; `lanes`: whether there is one of lanes. */
export function optionsBar(page, {shapes = false, lanes = true} = {}) {
    const {state} = page,
        {values} = state;
    const change = (changes) => {
        earlier.push(Object.fromEntries(Object.keys(changes).map((key) => [key, state.values[key]])));
        state.set(changes, {step: true});
    };
    const bar = element("div", {className: "options", role: "toolbar", "aria-label": "What is shown"});
    const hasCalls = hasTimeLine(page.trace.info);
    if (shapes) bar.append(shapeChoice(values, change, hasCalls));
    for (const [key, title, text] of PATTERNS) bar.append(patternField(key, title, text, values, change));
    for (const [key, title, text] of SWITCHES) {
        if (key === "only" && !(lanes && hasCalls)) continue;
        const isUseless = key === "only" && !values.call;
        bar.append(
            element(
                "label",
                {className: "check", title: isUseless ? "Choose a call first" : text},
                element("input", {
                    type: "checkbox",
                    id: `option-${key}`,
                    checked: values[key],
                    disabled: isUseless && !values.only,
                    onchange: (event) => change({[key]: event.target.checked}),
                }),
                ` ${title}`,
            ),
        );
    }
    bar.append(
        element(
            "button",
            {
                id: "undo",
                disabled: !earlier.length,
                title: "Take back the last change here",
                onclick: () => {
                    const before = earlier.pop();
                    if (before) state.set(before, {step: true});
                },
            },
            "Undo",
        ),
    );
    return bar;
}

function shapeChoice(values, change, hasCalls) {
    const group = element("div", {className: "choice", role: "group", "aria-label": "Shape"});
    for (const [name, title] of SHAPES.filter(([shape]) => hasCalls || shape !== "time"))
        group.append(
            element(
                "button",
                {
                    id: `shape-${name || "callees"}`,
                    "aria-pressed": String(values.shape === name),
                    onclick: () => change({shape: name}),
                },
                title,
            ),
        );
    return group;
}

function patternField(key, title, text, values, change) {
    const field = element("input", {
        type: "search",
        id: `option-${key}`,
        value: values[key],
        placeholder: "module.*",
        title: text,
        autocomplete: "off",
        spellcheck: false,
        onchange: (event) => change({[key]: event.target.value.trim()}),
    });
    return element("label", {className: "field", title: text}, `${title} `, field);
}

/** Return functions that change options: for what is clicked in a view. */
export function changes(page) {
    const set = (more) => {
        earlier.push(Object.fromEntries(Object.keys(more).map((key) => [key, page.state.values[key]])));
        page.state.set(more, {step: true});
    };
    return {focus: (name) => set({focus: name}), hide: (name) => set({hide: name})};
}
