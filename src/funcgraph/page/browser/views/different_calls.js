// The first calls that differ in two traces, the N-th of one beside the N-th of the other: a list, and two of
// them side by side.

import {element} from "../base/dom.js";
import {visible} from "../base/names.js";
import {count, duration} from "../base/times.js";
import {
    answerPanel,
    answerRow,
    answerTable,
    chooseFunction,
    functionField,
    functionName,
} from "./answer_panel.js";
import {comparison} from "./compare.js";

const SIDES = ["A", "B"],
    MOST_LEVELS = 8;

/** Fill a panel. `shapes`: what else the tab shows; `number`: of the trace that is compared with its base. */
export function differentCallsView(panel, page, shapes, number) {
    const {func, task, pair} = page.state.values,
        chosen = func ? page.trace.functions.findIndex(({name}) => name === func) : -1;
    return answerPanel(panel, page, {
        bar: [shapes, functionField(page, chosen), threadField(page)],
        name: "different",
        question: {
            trace: number,
            name: func || undefined,
            task: task || undefined,
            number: pair || undefined,
        },
        content: (answer) => content(page, answer),
    });
}

/** Return the choice of a thread; null: the trace that is shown has one alone. */
function threadField({trace, state}) {
    const {task} = state.values,
        names = [...new Set(trace.lanes.filter(({kind}) => kind === "thread").map(({name}) => name))];
    if (names.length < 2 && !task) return null;
    if (task && !names.includes(task)) names.push(task);
    const option = (value, text) => element("option", {value, selected: value === task}, text);
    return element(
        "label",
        {className: "field"},
        "Thread ",
        element(
            "select",
            {
                id: "different-task",
                onchange: ({target}) => state.set({task: target.value, pair: 0}, {step: true}),
            },
            option("", "any"),
            ...names.map((name) => option(name, visible(name, 60))),
        ),
    );
}

function content(page, answer) {
    const {func, range, other} = page.state.values,
        hasRange = Boolean(range || other),
        of = func ? ["First different calls of ", element("bdi", {}, visible(answer.function, 200))] : [ALL];
    return [
        element("h2", {className: "wing-title"}, ...of),
        hasRange ? element("p", {className: "quiet"}, WHOLE) : null,
        answer.pairs.length ? list(page, answer) : answer.end ? null : element("p", {}, NONE),
        ...endOf(answer),
        ...(answer.one ? [...comparison(page, answer.one, SIDES), deeper(page, answer)] : []),
    ];
}

const WHOLE = "Of both traces as a whole: no selected range counts here.",
    ALL = "First different calls of all that no other call made",
    NONE = "No calls differ: they make the same calls, with the same values as far as these are recorded.";

function list(page, {pairs, number, is_cut: isCut}) {
    const called = (call) => `call ${count(call.number)}, ${duration(call.end_ns - call.begin_ns)}`;
    const rows = pairs.map(({a, b, text}, place) => {
        const onclick = () => page.state.set({pair: place}, {step: true}),
            name = element("bdi", {}, visible(a.function, 200)),
            pressed = String(place === number);
        return answerRow([
            element("button", {className: "link name", "aria-pressed": pressed, onclick}, name),
            called(a),
            called(b),
            text,
        ]);
    });
    const heads = [
        ["Calls of", "A click puts them side by side"],
        ["A", "In the first trace"],
        ["B", "In the second trace"],
        ["First", "What differs first", true],
    ];
    const more = isCut ? element("p", {className: "quiet"}, "More calls may differ after these.") : "";
    return element("div", {}, answerTable("Calls that differ", heads, rows), more);
}

/** Return what each does where they differ beside any pair. */
function endOf({end, pairs}) {
    if (!end) return [];
    const does = (name) => (name ? `calls ${visible(name, 200)}` : "has no further call"),
        after = pairs.length ? "After these" : "After calls that are the same";
    return [element("p", {}, `${after} A ${does(end.a)}, B ${does(end.b)}: nothing later is compared.`)];
}

/** Return the functions in progress where the two first differ: each has first different calls of its own. */
function deeper(page, {one: {difference, parting, a}}) {
    const path = (difference ?? parting)?.path ?? [],
        names = [...new Set(path)].filter((name) => name !== a.function);
    if (!names.length) return null;
    const shown = names
        .slice(-MOST_LEVELS)
        .flatMap((name) => [
            " ",
            functionName(page, 0, name, () => chooseFunction(page, name, {pair: 0})),
        ]);
    const text = "First different calls of what was in progress there:";
    return element("p", {id: "different-deeper"}, text, ...shown);
}
