// What the page shows, kept in the fragment of its address: for links, back and forward.

import {firstFragment, keptSteps} from "./steps.js";

const NUMBERS = ["trace", "begin", "end", "panel", "nth", "least", "pair"];
const LISTS = ["pinned", "folded", "deep"];
const TEXTS = ["closed", "sort", "filter", "tab", "q", "shape", "diff", "focus", "hide", "func", "of", "by", "task", "expected"];
/** A longer text is not kept in the address. */
export const MOST_ADDRESS = 2000;
const CALLS = ["call", "first", "second"];
const FLAGS = ["still", "values", "merge", "collapse", "nowait", "only", "imports"];

/** Return the values that a fragment has. Anything may be in it: what cannot be is left out. */
export function parse(fragment) {
    const words = new URLSearchParams(fragment.replace(/^#/, "")),
        values = {};
    for (const [key, text] of words) {
        if (NUMBERS.includes(key) && text !== "" && Number.isFinite(Number(text))) values[key] = Number(text);
        if (LISTS.includes(key)) values[key] = text.split(",").map(Number).filter(Number.isInteger);
        if (TEXTS.includes(key)) values[key] = text;
        if (FLAGS.includes(key)) values[key] = text === "1";
        if (CALLS.includes(key))
            values[key] = numbers(text, 3, ([lane, time, depth]) => ({lane, time, depth}));
        if (key === "range" || key === "other")
            values[key] = numbers(text, 2, ([begin, end]) => (begin < end ? {begin, end} : null));
    }
    return values;
}

function numbers(text, size, make) {
    const parts = text.split(",").map(Number);
    return parts.length === size && parts.every((part) => Number.isFinite(part) && part >= 0)
        ? make(parts)
        : null;
}

/** Return the fragment for values: only what is not as usual. */
export function format(values) {
    const words = new URLSearchParams();
    for (const key of NUMBERS)
        if (values[key] !== undefined && values[key] !== USUAL[key])
            words.set(key, String(Math.round(values[key])));
    for (const key of LISTS) if (values[key]?.length) words.set(key, values[key].join(","));
    for (const key of TEXTS)
        if (values[key] && values[key].length <= MOST_ADDRESS) words.set(key, values[key]);
    for (const key of FLAGS) if (values[key]) words.set(key, "1");
    for (const key of CALLS)
        if (values[key])
            words.set(key, ["lane", "time", "depth"].map((name) => Math.round(values[key][name])).join(","));
    for (const key of ["range", "other"])
        if (values[key]) words.set(key, [values[key].begin, values[key].end].map(Math.round).join(","));
    return words.toString().replaceAll("%2C", ",");
}

const USUAL = {
    trace: 0,
    begin: undefined,
    end: undefined,
    panel: 320,
    pinned: [],
    folded: [],
    deep: [],
    closed: "",
    sort: "",
    filter: "",
    tab: "",
    q: "",
    shape: "",
    diff: "",
    focus: "",
    hide: "",
    func: "",
    of: "", // whose time Why explains
    by: "", // the value by which Values groups
    expected: "", // the calls that Expect compares
    task: "", // the thread of both traces whose calls Difference compares
    pair: 0, // which two of them
    nth: 0, // the exception that is followed
    least: 5, // so many calls are a repetition
    still: false,
    values: false,
    merge: false,
    collapse: false,
    nowait: false,
    only: false,
    imports: false,
    call: null,
    first: null, // the calls that are compared
    second: null, // null: the chosen one
    range: null,
    other: null, // of two traces that are compared: the range in the one that is not shown
};

/** The values, and who wants to know when they change. */
export class State {
    constructor() {
        this.steps = keptSteps();
        this.values = this.read();
        this.listeners = [];
        this.timer = 0;
        globalThis.addEventListener("pagehide", () => this.write());
        this.steps.onBack(() => this.take(this.read()));
    }

    read() {
        return {...USUAL, ...parse(this.steps.current || firstFragment())};
    }

    /** Have a function called with the values, and the names of those that changed, after each change. */
    onChange(run) {
        this.listeners.push(run);
    }

    /** Change values. `step`: Back returns to what was before. Others only change the address, and later. */
    set(changes, {step = false} = {}) {
        if (step) {
            this.write();
            this.steps.push(`#${format({...this.values, ...changes})}`);
        }
        this.take({...this.values, ...changes});
        if (!step) {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.write(), 250);
        }
    }

    back() {
        this.steps.back();
    }

    /** Write the values into the address. */
    write() {
        clearTimeout(this.timer);
        this.steps.replace(`#${format(this.values)}`);
    }

    take(values) {
        const before = this.values;
        const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
        const changed = new Set(Object.keys(USUAL).filter((key) => !same(before[key], values[key])));
        this.values = values;
        if (changed.size) for (const run of this.listeners) run(values, changed);
    }
}

/** Return a list with an entry more, or without it if it has it. */
export const toggled = (list, entry) =>
    list.includes(entry) ? list.filter((other) => other !== entry) : [...list, entry];
