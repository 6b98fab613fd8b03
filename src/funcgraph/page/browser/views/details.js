// The view of a call: values, times, callers, source, the other calls of its function.

import {ask} from "../base/api.js";
import {copy, dotted, element} from "../base/dom.js";
import {histogram} from "./histogram.js";
import {fileName, visible} from "../base/names.js";
import {count, counted, duration, exact, percent} from "../base/times.js";

const MOST_SHOWN = 300,
    MOST_CALLERS = 12,
    MOST_LONGEST = 20;
const OUTCOMES = {
    return: "returned",
    raise: "raised",
    suspend: "suspended",
    close: "closed while suspended",
    lost: "its end was lost",
    open: "in progress at the end of the trace",
};

const FLOWS = {
    awaited: "Awaited by",
    scheduled: "Callback scheduled by",
    created: "Task created by",
    started: "Thread started by",
};

/** Return one sentence about a call: for screen readers. */
export function sentence(call, trace) {
    const lane = trace.byNumber.get(call.lane),
        outcome = OUTCOMES[call.ended] || call.ended;
    return (
        `${trace.name(call.function)}, ${duration(call.end_ns - call.begin_ns)}, ` +
        `${outcome}${call.exception ? ` ${visible(call.exception, 80)}` : ""}, ` +
        `level ${call.depth} of ${lane ? visible(lane.name, 60) : "its lane"}`
    );
}

/** Return what is said if a function has no call before or after one. */
export const noCall = (direction) => `There is no ${direction} call of this function.`;

const durationOf = (call) => duration(call.end_ns - call.begin_ns);

/** The view of calls. */
export class Details {
    /** `go` shows a call; `stepTo` one beside it; `showFunction` another view of a function. */
    constructor({go, stepTo, showFunction, status, onFlows}) {
        this.onFlows = onFlows;
        this.go = go;
        this.stepTo = stepTo;
        this.showFunction = showFunction;
        this.status = status;
    }

    /** Fill a panel with what there is to say about a call; null: what to do to choose one. */
    show(panel, trace, call) {
        this.trace = trace;
        if (!call) {
            panel.replaceChildren(
                element(
                    "div",
                    {className: "hint"},
                    element(
                        "p",
                        {},
                        "Click on a call: its arguments, its result, its callers, how its duration compares.",
                    ),
                    element(
                        "p",
                        {className: "quiet"},
                        "Or press Enter for the one in the middle. Dragging with Shift selects a range.",
                    ),
                ),
            );
            return;
        }
        panel.replaceChildren(
            element(
                "div",
                {className: "call"},
                this.head(call),
                this.values(call),
                this.times(call),
                this.callers(call),
                this.source(call.caller_source, "Source of the caller"),
                this.source(call.source, "Source"),
                this.others(call),
            ),
        );
    }

    head(call) {
        const {trace} = this,
            func = trace.functions[call.function],
            name = trace.name(call.function, MOST_SHOWN);
        const [red, green, blue] = trace.colours[call.function] || [128, 128, 128],
            dot = element("span", {className: "dot", "aria-hidden": "true"});
        dot.style.background = `rgb(${red},${green},${blue})`;
        const where = func?.file
            ? `${visible(func.file, 200)}:${func.line}`
            : func?.object
              ? `of ${visible(func.object)}`
              : "";
        const kind = func?.native ? "native function" : func?.c ? "C function" : "";
        return element(
            "header",
            {className: "call-head"},
            element("h2", {}, dot, element("bdi", {}, name)),
            element(
                "p",
                {className: "quiet"},
                [kind, where].filter(Boolean).join(" "),
                call.nth
                    ? ` · call ${count(call.nth)} of ${count(call.of)}`
                    : call.of
                      ? ` · ${counted(call.of, "call")}`
                      : "",
            ),
            element(
                "div",
                {className: "buttons"},
                this.button("← Previous call", "Previous call of this function ([)", () =>
                    this.step("previous"),
                ),
                this.button("Next call →", "Next call of this function (])", () => this.step("next")),
                this.button(
                    "First that raised",
                    "The first call of this function that ended by an exception",
                    () => this.step("next", {time: 0, raised: 1}),
                ),
                this.button("Callers and callees", "Butterfly of this function", () =>
                    this.showFunction(call.function),
                ),
                call.report ? this.copyButton(call.report) : null,
            ),
        );
    }

    button(text, title, onclick) {
        return element("button", {title, onclick}, text);
    }

    copyButton(command) {
        const button = element(
            "button",
            {title: `Copy: ${visible(command)}`, onclick: () => copy(command, button)},
            "Copy report command",
        );
        return button;
    }

    /** Go to the next or previous call of the function. */
    step(direction, more = {}) {
        const {call} = this;
        return this.stepTo(
            {function: call.function, time: call.begin_ns, direction, ...more},
            more.raised ? "No call of this function ended by an exception." : noCall(direction),
        );
    }

    values(call) {
        const rows = [],
            longText = (text) => this.longText(text);
        if (call.arguments)
            for (const [name, value] of call.arguments)
                rows.push(
                    element("dt", {}, element("bdi", {}, visible(String(name), 100))),
                    element("dd", {}, longText(value)),
                );
        const section = element(
            "section",
            {className: "values", "aria-label": "Values"},
            element("h3", {}, "Arguments"),
        );
        if (rows.length) section.append(element("dl", {}, ...rows));
        else
            section.append(
                element(
                    "p",
                    {className: "quiet"},
                    call.arguments ? "none" : "Not recorded. funcgraph record --args records them.",
                ),
            );
        section.append(element("h3", {}, call.exception ? "Exception" : "Result"));
        if (call.exception) section.append(element("p", {className: "bad"}, longText(call.exception)));
        else if (call.result !== null && call.result !== undefined)
            section.append(element("p", {className: "result"}, longText(call.result)));
        else
            section.append(
                element(
                    "p",
                    {className: "quiet"},
                    call.ended === "return"
                        ? "Not recorded. funcgraph record --retval records it."
                        : `${OUTCOMES[call.ended] || call.ended}.`,
                ),
            );
        return section;
    }

    longText(value) {
        const text = String(value),
            shown = element("bdi", {className: "value"}, visible(text, MOST_SHOWN));
        if (text.length <= MOST_SHOWN) return shown;
        const more = element(
            "button",
            {
                className: "link",
                onclick: () => {
                    shown.textContent = visible(text, 100_000);
                    more.remove();
                },
            },
            `show all ${count(text.length)} characters`,
        );
        return element("span", {}, shown, " ", more);
    }

    times(call) {
        const took = call.end_ns - call.begin_ns,
            pairs = [
                ["Took", exact(call.total_ns ?? took)],
                call.own_ns === null || call.own_ns === undefined
                    ? null
                    : ["Own", `${exact(call.own_ns)} (${percent(call.own_ns, call.total_ns ?? took)})`],
                ["Begins at", exact(call.begin_ns)],
                [
                    "Ends at",
                    call.ended === "open" || call.ended === "lost"
                        ? `not before ${exact(call.end_ns)}`
                        : exact(call.end_ns),
                ],
                call.resumed ? ["Part", "from where it was resumed"] : null,
            ];
        return element(
            "section",
            {"aria-label": "Times"},
            element("h3", {}, "Times"),
            element(
                "dl",
                {},
                ...pairs
                    .filter(Boolean)
                    .flatMap(([term, text]) => [
                        element("dt", {}, term),
                        element("dd", {className: "number"}, text),
                    ]),
            ),
        );
    }

    callers(call) {
        const list = element("ol", {className: "callers"}),
            {trace} = this;
        const add = (parents) =>
            list.append(
                ...parents.map((parent) =>
                    element(
                        "li",
                        {},
                        element(
                            "button",
                            {
                                className: "link",
                                onclick: () => this.go(parent),
                            },
                            element("bdi", {}, ...dotted(trace.name(parent.function, 120))),
                        ),
                        element(
                            "span",
                            {className: "quiet where"},
                            [parent.line && `line ${parent.line}`, durationOf(parent)]
                                .filter(Boolean)
                                .join(" · "),
                        ),
                    ),
                ),
            );
        add(call.parents.slice(0, MOST_CALLERS));
        const section = element("section", {"aria-label": "Callers"}, element("h3", {}, "Called by"), list),
            rest = call.parents.slice(MOST_CALLERS);
        if (!call.parents.length)
            section.append(element("p", {className: "quiet"}, "No traced call: it is the outermost."));
        if (rest.length) {
            const more = element(
                "button",
                {
                    className: "link",
                    onclick: () => {
                        add(rest.slice(0, 1000));
                        more.remove();
                    },
                },
                `${counted(rest.length, "more caller")}`,
            );
            section.append(more);
        }
        section.append(this.flows(call));
        return section;
    }

    /** Return a list, which is filled when the answer comes: what led here besides callers. */
    flows(call) {
        const list = element("ul", {className: "flows"});
        this.fillFlows(call, list);
        return list;
    }

    async fillFlows(call, list) {
        const {lane, begin_ns: time, depth} = call,
            {trace} = this;
        const answer = await this.status.guard(ask("flows", {trace: trace.number, lane, time, depth}));
        if (!answer) return;
        this.onFlows(call, answer.flows);
        list.replaceChildren(...answer.flows.map((flow) => element("li", {}, ...this.flow(flow))));
    }

    flow({kind, call, record}) {
        if (!call)
            return [
                `${FLOWS[kind]}: `,
                element("span", {className: "quiet"}, `not recorded. funcgraph record ${record} records it.`),
            ];
        const name = element("bdi", {}, this.trace.name(call.function, 120));
        return [
            `${FLOWS[kind]} `,
            element("button", {className: "link", onclick: () => this.go(call)}, name),
        ];
    }

    source(source, title) {
        if (!source) return null;
        const lines = source.lines.map(([number, text]) =>
            element(
                "div",
                {
                    className: number === source.line ? "line marked" : "line",
                    ...(number === source.line ? {"aria-current": "true"} : {}),
                },
                element("span", {className: "line-number"}, String(number)),
                element("code", {}, visible(text, 500)),
            ),
        );
        return element(
            "section",
            {className: "source", "aria-label": title},
            element(
                "h3",
                {},
                title,
                " ",
                element(
                    "span",
                    {className: "quiet", title: visible(source.file, 500)},
                    `${fileName(source.file)}:${source.line}`,
                ),
            ),
            element(
                "div",
                {className: "lines", tabIndex: 0, role: "group", "aria-label": `${title}, lines`},
                ...lines,
            ),
        );
    }

    others(call) {
        const holder = element(
            "section",
            {className: "others", "aria-label": "All calls of this function"},
            element("h3", {}, "All calls of this function"),
        );
        const chart = element("div", {}),
            list = element("div", {});
        holder.append(chart, list);
        this.fillOthers(call, chart, list);
        return holder;
    }

    async fillOthers(call, chart, list) {
        const question = {trace: this.trace.number, function: call.function};
        const [bins] = await Promise.all([
            this.status.guard(ask("histogram", question)),
            this.fillLongest(list, question, 0),
        ]);
        if (bins)
            chart.replaceChildren(
                histogram(bins.bins, call.total_ns ?? call.end_ns - call.begin_ns, (least) =>
                    this.fillLongest(list, question, least),
                ),
            );
    }

    async fillLongest(list, question, least) {
        const answer = await this.status.guard(ask("longest", {...question, least, most: MOST_LONGEST}));
        if (!answer) return;
        const rows = answer.calls.map((call) =>
            element(
                "li",
                {},
                element(
                    "button",
                    {className: "link number", onclick: () => this.go(call)},
                    duration(call.end_ns - call.begin_ns),
                ),
                element(
                    "span",
                    {className: call.ended === "raise" ? "bad" : "quiet"},
                    ` at ${duration(call.begin_ns)}${call.ended === "raise" ? ", raised" : ""}`,
                ),
            ),
        );
        list.replaceChildren(
            element("h3", {}, least ? `Calls of ${duration(least)} and more` : "Longest calls"),
            element("ol", {className: "longest"}, ...rows),
        );
    }
}
