// Whether the trace's calls are those that a person expects: their text, and where the calls first differ.

import {ask} from "../base/api.js";
import {byId, copy, element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {MOST_ADDRESS} from "../base/state.js";
import {show} from "../base/status.js";
import {count, counted} from "../base/times.js";
import {
    answerPanel,
    commandLine,
    partOf,
    refusal,
    showSpot,
    threadOf,
    threadOption,
} from "./answer_panel.js";

const FILE = "calls.txt",
    MOST_CHARACTERS = 65536,
    MOST_INDENT = 12,
    MANY_LINES = 100,
    EXAMPLE = [
        "functions: shop.*",
        "shop.main()",
        "  shop.load(path='*.json', ...) = dict(3)",
        "  shop.price(n=*) x1..30",
        "  ...",
        "  shop.save() ! OSError",
    ].join("\n");
const PARTS = [
    ["call", "the chosen call"],
    ["range", "the selected range"],
    ["all", "the whole trace"],
];

/** What stands in the fields: it outlives the panel. `checked` is what the address had last. */
const fields = {text: "", checked: "", of: "", patterns: "", levels: ""};
/** The text that was written last, and the command that writes it. */
let written = {text: null, command: ""};

/** Make the view. */
export function expectView(panel, page) {
    const {expected} = page.state.values,
        of = partChoice();
    if (expected && expected !== fields.checked) fields.text = expected;
    fields.checked = expected;
    const chose = () => {
        const {call, range} = page.state.values;
        of.value = fields.of || (call ? "call" : range ? "range" : "all");
    };
    chose();
    const view = answerPanel(panel, page, {
        bar: [...writeFields(page, of), threadOption(page)],
        editor: editor(page),
        name: "expect",
        question: expected ? {text: expected, ...threadOf(page)} : null,
        empty: () => [
            element(
                "div",
                {className: "hint"},
                element("p", {}, "Write or paste the calls that you expect, and check them."),
                element("p", {className: "quiet"}, "Or choose a call, and have its calls written."),
            ),
        ],
        content: (answer) => content(page, answer),
    });
    return {...view, chose};
}

/** Check a text: what is shown is of it from now on. */
function check(page, text) {
    if (!text.trim()) {
        show("Write or paste an expectation first.");
        return;
    }
    if (page.state.values.expected === text) page.showView();
    else page.state.set({expected: text}, {step: true});
}

// ---- the text

function editor(page) {
    const area = element("textarea", {
        id: "answer-calls",
        value: fields.text,
        rows: 10,
        maxLength: MOST_CHARACTERS,
        spellcheck: false,
        autocomplete: "off",
        wrap: "off",
        placeholder: EXAMPLE,
        "aria-label": "Expected calls",
        oninput: () => {
            fields.text = area.value;
        },
        onpaste: (event) => paste(event, area),
        onkeydown: (event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            check(page, area.value);
        },
    });
    const button = (id, title, onclick, about) => element("button", {id, title: about, onclick}, title);
    const copyIt = button("expect-copy", "Copy", () => copy(area.value, copyIt));
    return element(
        "div",
        {className: "editor"},
        area,
        element(
            "div",
            {className: "buttons"},
            button("expect-check", "Check", () => check(page, area.value), "Ctrl+Enter"),
            copyIt,
            button("expect-save", "Save", () => save(area.value), `As ${FILE}`),
            button("expect-clear", "Clear", () => {
                fields.text = area.value = "";
                page.state.set({expected: ""}, {step: true});
                byId("answer-calls").focus();
            }),
        ),
        fields.checked.length > MOST_ADDRESS
            ? element("p", {className: "quiet"}, "The text is too long for the address: a link does not have it.")
            : null,
    );
}

/** Paste many lines at once: a browser inserts them one by one, which takes seconds. */
function paste(event, area) {
    const text = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    if (text.split("\n").length < MANY_LINES) return;
    event.preventDefault();
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    fields.text = area.value = area.value.slice(0, MOST_CHARACTERS);
}

function save(text) {
    const link = element("a", {href: URL.createObjectURL(new Blob([text])), download: FILE});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Return the choice of the part that is written. */
const partChoice = () =>
    element(
        "select",
        {
            id: "expect-of",
            onchange: ({target}) => {
                fields.of = target.value;
            },
        },
        ...PARTS.map(([value, title]) => element("option", {value}, title)),
    );

/** Return the fields of what is written from the trace. */
function writeFields(page, of) {
    const field = (title, id, properties, key, about) =>
        element(
            "label",
            {className: "field", title: about},
            `${title} `,
            element("input", {
                id,
                autocomplete: "off",
                spellcheck: false,
                ...properties,
                value: fields[key],
                oninput: ({target}) => {
                    fields[key] = target.value;
                },
            }),
        );
    return [
        element("label", {className: "field"}, "Write ", of),
        field(
            "Functions",
            "expect-patterns",
            {type: "search", placeholder: "shop.*"},
            "patterns",
            "Patterns of the functions that are looked at; empty: those of the part that is written",
        ),
        field("Levels", "expect-levels", {type: "number", min: "1", max: "200"}, "levels", "Empty: all"),
        element("button", {id: "expect-write", onclick: () => write(page, of.value)}, "Write"),
    ];
}

async function write(page, of) {
    const {call, range} = page.state.values;
    if (of === "call" && !call) {
        show("Choose a call first: click on one on the time line.");
        return;
    }
    if (of === "range" && !range) {
        show("Select a range first: drag with Shift on the time line.");
        return;
    }
    const levels = Math.round(Number(fields.levels)),
        part = of === "call" ? call : of === "range" ? partOf(page) : threadOf(page),
        question = {of, patterns: fields.patterns.trim(), levels: levels > 0 ? levels : undefined, ...part};
    const holder = document.querySelector("#tabpanel .answer");
    try {
        written = await ask("expectation", {trace: page.trace.number, ...question});
    } catch (error) {
        holder.replaceChildren(refusal(error));
        return;
    }
    fields.text = written.text;
    check(page, written.text);
}

// ---- the answer

function content(page, {holds, calls, functions, threads, difference, command}) {
    const {range, expected} = page.state.values,
        counts = `${counted(calls, "call")} of ${counted(functions, "function")} in ${counted(threads, "thread")}`;
    const parts = [
        element(
            "header",
            {className: "answer-head"},
            holds
                ? element("h2", {className: "good"}, "The calls are as expected")
                : element("h2", {className: "bad"}, titleOf(difference)),
            element("p", {className: "quiet"}, `Compared: ${counts}.`),
            range
                ? element(
                      "p",
                      {className: "quiet"},
                      "Of the whole trace: the selected range does not count here.",
                  )
                : null,
        ),
    ];
    if (difference) parts.push(differenceList(page, difference));
    if (written.text === expected && written.command) parts.push(...commandLine(written.command));
    if (command) parts.push(element("p", {className: "quiet"}, `With the text in ${FILE}:`));
    return parts;
}

const titleOf = ({title, thread, tid}) =>
    `${title.slice(0, 1).toUpperCase()}${title.slice(1)} in ${visible(thread, 60)} (${tid})`;

function differenceList(page, {path, more_path: more, before, expected, more_expected: others, got, around}) {
    const level = path.length + (more ? 1 : 0),
        rows = path.map((call, depth) => row("in", depth, callText(page, call)));
    if (more) rows.push(row("", path.length, counted(more, "more level")));
    for (const call of before) rows.push(row("after", level, callText(page, call)));
    for (const line of expected) rows.push(row("expected", level, lineText(line), "expected"));
    if (others) rows.push(row("expected", level, `or one of ${counted(others, "more line")}`, "expected"));
    if (!expected.length) rows.push(row("expected", level, "no further call", "expected"));
    const none = around
        ? ["no further call ", element("button", spotOf(page, around), "Show the call around")]
        : "no further call";
    rows.push(row("there is", level, got ? callText(page, got) : none, "got"));
    return element("ol", {className: "frames difference", "aria-label": "The first difference"}, ...rows);
}

function row(what, level, text, kind = "") {
    const shown = element("span", {className: "nested"}, ...[text].flat());
    shown.style.paddingLeft = `${Math.min(level, MOST_INDENT) * 1.1}rem`;
    return element(
        "li",
        {className: kind},
        element("span", {className: "what quiet"}, what),
        shown,
    );
}

const spotOf = (page, {evidence}) => ({
    className: "link",
    title: "Show it on the time line",
    disabled: !evidence,
    onclick: () => showSpot(page, evidence),
});

const callText = (page, call) =>
    element(
        "button",
        {...spotOf(page, call), className: "link name"},
        element("bdi", {}, visible(call.text, 500)),
    );

/** Return a line of the text, which a click selects there. */
function lineText({line, text}) {
    return element(
        "button",
        {className: "link name", title: `Select line ${count(line)}`, onclick: () => selectLine(line)},
        element("bdi", {}, visible(text, 500)),
        element("span", {className: "where quiet"}, `line ${count(line)}`),
    );
}

function selectLine(number) {
    const area = byId("answer-calls"),
        lines = area.value.split("\n"),
        begin = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
    area.focus();
    area.setSelectionRange(begin, begin + (lines[number - 1]?.length ?? 0));
    const height = area.scrollHeight / Math.max(lines.length, 1);
    area.scrollTop = Math.max((number - 3) * height, 0);
}
