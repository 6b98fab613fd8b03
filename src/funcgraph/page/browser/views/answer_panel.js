// What the panels of answers share: which function or part, asking, notes, and evidence that leads to a call.

import {ask} from "../base/api.js";
import {byId, copy, element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {show, tell} from "../base/status.js";
import {count, counted, duration} from "../base/times.js";

const MOST_COMMAND = 1000,
    MOST_NAME = 200,
    SUGGESTED = 10,
    LISTED = 500;
/** The latest answer to each question: what only shows it in another way reads nothing again. */
const kept = new Map();

/**
 * Fill a panel: a bar, and below it an answer when it comes. What has the focus keeps it, if it is there again.
 *
 * `editor`: an element beside the answer. `question`: what is asked; null: nothing can be, and `empty` says what
 * to do. `content` makes the elements of an answer.
 */
export function answerPanel(panel, page, {bar, editor, name, question, empty, content}) {
    const controller = new AbortController(),
        holder = element("div", {className: "answer"}),
        age = page.trace.info.growing ? new Age(page) : null,
        refocus = keptFocus(panel);
    panel.replaceChildren(
        element(
            "div",
            {className: "options", role: "toolbar", "aria-label": "Question"},
            ...bar.filter(Boolean),
            age?.element,
        ),
        editor ? element("div", {className: "beside"}, editor, holder) : holder,
    );
    if (!question) holder.replaceChildren(...empty());
    else fill(holder, page, {name, question, content, age}, controller.signal).then(refocus);
    refocus();
    return {close: () => controller.abort(), grew: () => age?.show()};
}

/**
 * Says of how much of a recording that goes on an answer is. An answer reads all of it, so it is not given again
 * by itself.
 */
class Age {
    constructor(page) {
        this.page = page;
        this.answer = null;
        this.text = element("span", {className: "quiet number"});
        const about = "The recording goes on: answer from what it has now",
            button = element("button", {title: about, onclick: () => page.showView()}, "Ask again");
        this.element = element("span", {className: "age"}, button, " ", this.text);
    }

    show(answer = this.answer) {
        this.answer = answer;
        if (answer?.until_ns === undefined) return;
        const {first_ns: first, until_ns: until} = answer,
            more = this.page.trace.info.duration_ns - until,
            isWhole = first < until / 1000, // the oldest events may have been dropped
            part = isWhole ? `Of the first ${duration(until)}` : `Of ${duration(first)} to ${duration(until)}`;
        this.text.textContent = more > 0 ? `${part}; ${duration(more)} more are recorded` : part;
    }
}

/** Return a function that gives the focus to what stands for the element that has it now. */
function keptFocus(panel) {
    const before = document.activeElement,
        keyOf = (one) => one.id || one.textContent;
    if (!before || before === panel || !panel.contains(before)) return () => {};
    const key = keyOf(before);
    return () => {
        if (document.activeElement !== document.body && document.activeElement !== panel) return;
        const again = [...panel.querySelectorAll("button, input, textarea, select")].find((one) => keyOf(one) === key);
        (again ?? panel).focus({preventScroll: !again});
    };
}

async function fill(holder, page, {name, question, content, age}, signal) {
    const answer = await answerTo(holder, page, name, question, signal);
    if (!answer || signal.aborted) return;
    age?.show(answer);
    if (answer.choices) holder.replaceChildren(...choices(page, answer));
    else
        holder.replaceChildren(
            ...content(answer).filter(Boolean),
            ...notes(answer.notes),
            ...commandLine(answer.command),
        );
    tell(holder.querySelector("h2")?.textContent ?? "");
}

/** Return the answer to a question; null: there is none, and `holder` says why. */
async function answerTo(holder, page, name, question, signal) {
    const request = {trace: page.trace.number, ...question},
        key = JSON.stringify([request, page.trace.version]);
    if (kept.get(name)?.key === key) return kept.get(name).answer;
    holder.replaceChildren(element("p", {className: "quiet"}, "Reading the trace…"));
    try {
        const answer = await ask(name, request, {signal});
        kept.set(name, {key, answer});
        return answer;
    } catch (error) {
        if (!signal.aborted) holder.replaceChildren(refusal(error));
        return null;
    }
}

/** Return what the server said instead of an answer, as a sentence. */
export function refusal({message}) {
    const text = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
    return element("p", {className: "hint bad", role: "alert"}, visible(text, 1000));
}

/** Return the part of a question that says of which part of the trace an answer is. */
export function partOf(page) {
    const {range} = page.state.values;
    return {
        begin: range ? Math.round(range.begin) : undefined,
        end: range ? Math.round(range.end) : undefined,
        ...threadOf(page),
    };
}

export const threadOf = (page) => ({
    thread: page.state.values.only && page.state.values.call ? page.threadOfCall() : undefined,
});

// ---- which function

/** Return the function of a question: one that was chosen by name, else that of the chosen call; null: none. */
export function functionOf(page) {
    const {func} = page.state.values,
        {functions} = page.trace,
        number = func
            ? functions.findIndex(({name}) => name === func)
            : (page.timeline.chosen?.function ?? -1);
    if (functions[number]) return {function: number};
    return func ? {name: func} : null;
}

/** Show the answer about another function. */
export const chooseFunction = (page, name, more = {}) => page.state.set({func: name, ...more}, {step: true});

/** Return the field for the name of a function. `chosen`: the number of the one that the answer is about. */
export function functionField(page, chosen = functionOf(page)?.function ?? -1) {
    const {functions} = page.trace,
        {func} = page.state.values,
        names = busiest(functions, LISTED).map(({name}) => name);
    const field = element("input", {
        type: "search",
        id: "answer-function",
        list: "answer-functions",
        value: chosen < 0 ? func : visible(functions[chosen].name, MOST_NAME),
        placeholder: "name, or a part of it",
        autocomplete: "off",
        spellcheck: false,
        onchange: ({target}) =>
            chooseFunction(page, target.value.trim(), {
                of: page.state.values.of === "call" ? "" : page.state.values.of,
                pair: 0,
            }),
    });
    const listed = names
        .filter((name) => visible(name, MOST_NAME) === name)
        .map((name) => element("option", {value: name}));
    return element(
        "label",
        {className: "field"},
        "Function ",
        field,
        element("datalist", {id: "answer-functions"}, ...listed),
    );
}

/** Return the functions that took the most time. */
const busiest = (functions, most) =>
    functions
        .filter(({calls}) => calls)
        .sort((a, b) => b.total_ns - a.total_ns)
        .slice(0, most);

/** Return what to do if no function is chosen: a sentence, and functions to choose from. */
export function functionHint(page, text) {
    const rows = busiest(page.trace.functions, SUGGESTED).map((func) => [
        func,
        `${duration(func.total_ns)}, ${counted(func.calls, "call")}`,
    ]);
    return [
        element("p", {className: "hint"}, text),
        functionList(page, "Functions with the most time", rows),
    ];
}

function choices(page, answer) {
    const rows = answer.choices
        .map((number) => page.trace.functions[number])
        .map((func) => [func, counted(func.calls, "call")]);
    const more = answer.count > rows.length ? `, of which ${rows.length} are listed` : "";
    return [
        element("h2", {}, `${count(answer.count)} functions have this in their names${more}`),
        functionList(page, "Functions that match", rows),
    ];
}

function functionList(page, label, rows) {
    return element(
        "ul",
        {className: "wings choices", "aria-label": label},
        ...rows.map(([func, figures]) =>
            element(
                "li",
                {className: "wing"},
                element(
                    "button",
                    {className: "link name", onclick: () => chooseFunction(page, func.name)},
                    element("bdi", {}, visible(func.name, MOST_NAME)),
                ),
                element("span", {className: "number quiet"}, figures),
            ),
        ),
    );
}

// ---- parts of bars and answers

/** Return a switch of the bar. */
export function checkOption(page, key, title, about) {
    const {values} = page.state,
        isUseless = key === "only" && !values.call;
    const box = element("input", {
        type: "checkbox",
        id: `answer-${key}`,
        checked: values[key],
        disabled: isUseless && !values.only,
        onchange: ({target}) => page.state.set({[key]: target.checked}, {step: true}),
    });
    return element(
        "label",
        {className: "check", title: isUseless ? "Choose a call first" : about},
        box,
        ` ${title}`,
    );
}

export const threadOption = (page) =>
    checkOption(page, "only", "This thread only", "Only the thread of the chosen call");
export const importsOption = (page) =>
    checkOption(
        page,
        "imports",
        "With imports",
        "Also what the import machinery does; else an import is one call",
    );

/** Return a function's name: in a trace that has the function, a button that shows what it is given. */
export function functionName(page, number, name, onclick) {
    const shown = element("bdi", {}, visible(name, MOST_NAME));
    return number === null || number === undefined || !onclick
        ? element("span", {className: "name"}, shown)
        : element("button", {className: "link name", onclick}, shown);
}

/** Return a table: heads are [title, about, whether it is text]; the first column of a row is its head. */
export function answerTable(label, heads, rows) {
    for (const row of rows)
        heads.forEach(([, , isText], column) =>
            row.cells[column]?.classList.toggle("words", Boolean(isText)),
        );
    return element(
        "table",
        {className: "functions answers", "aria-label": label},
        element(
            "thead",
            {},
            element(
                "tr",
                {},
                ...heads.map(([title, about, isText]) =>
                    element("th", {scope: "col", title: about, className: isText ? "words" : ""}, title),
                ),
            ),
        ),
        element("tbody", {}, ...rows),
    );
}

/** Return a row of such a table. */
export const answerRow = ([head, ...cells], properties = {}) =>
    element(
        "tr",
        properties,
        element("th", {scope: "row"}, ...[head].flat()),
        ...cells.map((cell) => element("td", {}, ...[cell].flat())),
    );

/** Return a share as a meter with its number. */
export function share(part) {
    if (part === null || part === undefined) return "";
    const meter = element("span", {className: "meter", "aria-hidden": "true"});
    meter.style.width = `${100 * part}%`;
    return element(
        "span",
        {className: "metered share"},
        meter,
        element("span", {}, `${(100 * part).toFixed(0)}%`),
    );
}

/** Return a button with the type of exceptions, which follows the first one, and the function that raised it. */
export const exceptionCell = (type, origin, onclick) => [
    element("button", {className: "link name", title: "Follow the first one", onclick}, type),
    " in ",
    element("bdi", {className: "name"}, visible(origin, 200)),
];

/** Return the line that says how many of a number are shown, if these are not all. */
export const shownOf = (shown, number, things = "") =>
    number > shown
        ? [element("p", {className: "quiet"}, `The first ${shown} of ${count(number)}${things}.`)]
        : [];

function notes(lines) {
    return lines.length
        ? [
              element(
                  "ul",
                  {className: "notes quiet"},
                  ...lines.map((line) => element("li", {}, visible(line, 500))),
              ),
          ]
        : [];
}

/** Return the command that prints the same, to copy; of a live recording there is none. */
export function commandLine(command) {
    if (!command) return [];
    const button = element("button", {onclick: () => copy(command, button)}, "Copy command");
    return [
        element("div", {className: "command"}, element("code", {}, visible(command, MOST_COMMAND)), button),
    ];
}

// ---- evidence

/** Return a button that shows a call on the time line, and one that copies the command that prints it. */
export function evidenceOf(page, spot, text) {
    if (!spot) return [text];
    const onclick = () => showSpot(page, spot);
    return [
        element("button", {className: "link", title: "Show it on the time line", onclick}, text),
        copyButton(spot.report),
    ];
}

/** Return a button that copies a command; null: there is none. */
export function copyButton(command) {
    if (!command) return null;
    const title = `Copy: ${visible(command, MOST_COMMAND)}`;
    const button = element(
        "button",
        {
            className: "copy",
            title,
            "aria-label": "Copy the command that prints it",
            onclick: () => copy(command, button),
        },
        "Copy",
    );
    return button;
}

/** Go to the call of some evidence, which may be in another trace. */
export async function showSpot(page, {trace, lane, begin, end, function: number}) {
    const question = {...(trace === undefined ? {} : {trace}), lane, begin, end, function: number},
        answer = await page.askForCall("evidence", question);
    if (answer?.call) page.go(answer.call, trace);
    else if (answer) show("The time line has no call there.");
}

/** Go to the first call of a function within some evidence. What the panel is about stays the same. */
export async function showWithin(page, {lane, begin, end}, number) {
    const time = Math.max(begin - 1, 0) || "0",
        question = {function: number, lane, time, direction: "next"},
        answer = await page.askForCall("step", question);
    if (!answer) return;
    if (answer.call && answer.call.begin_ns <= end) {
        keepFunction(page);
        page.go(answer.call);
    } else show("The call that is shown on the time line has none of these; another one has.");
}

/** Have a panel of the chosen call's function stay with it when another call is chosen. */
function keepFunction(page) {
    const {func, of} = page.state.values,
        about = functionOf(page)?.function;
    if (func || of === "call" || about === undefined) return;
    page.state.set({func: page.trace.functions[about].name});
    byId("tabpanel").focus();
}
