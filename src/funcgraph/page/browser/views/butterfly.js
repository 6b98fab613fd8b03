// The butterfly: who calls a function, and what it calls.

import {ask} from "../base/api.js";
import {element} from "../base/dom.js";
import {guard} from "../base/status.js";
import {hasTimeLine} from "../base/trace.js";
import {counted, duration, percent} from "../base/times.js";

const MOST = 200;

/** Make the view: of the function that was chosen by name, else that of the chosen call. */
export function butterflyView(panel, page) {
    const {trace, state} = page,
        {func} = state.values,
        controller = new AbortController();
    const named = func ? trace.functions.findIndex(({name}) => name === func) : -1;
    const number = named >= 0 ? named : (page.timeline.chosen?.function ?? -1);
    if (!trace.functions[number]) {
        panel.replaceChildren(
            element(
                "p",
                {className: "hint"},
                func
                    ? "This trace has no function of that name. Choose a call, or a function in the table."
                    : `Choose ${hasTimeLine(trace.info) ? "a call or a function" : "a function in the table"}: ` +
                      "here are its callers, and what it calls.",
            ),
        );
        return {close: () => {}};
    }
    fill(panel, page, number, controller.signal);
    return {close: () => controller.abort()};
}

async function fill(panel, page, number, signal) {
    const {begin, end} = page.range,
        {trace} = page;
    const part = page.state.values.range ? {begin: Math.round(begin), end: Math.round(end)} : {};
    const answer = await guard(ask("butterfly", {trace: trace.number, function: number, ...part}, {signal}));
    if (signal.aborted || !answer) return;
    const side = (title, rows, empty) =>
        element(
            "section",
            {"aria-label": title},
            element("h2", {className: "wing-title"}, title),
            rows.length
                ? element(
                      "ul",
                      {className: "wings"},
                      ...rows.slice(0, MOST).map((row) => wing(row, answer.total_ns, page)),
                  )
                : element("p", {className: "quiet"}, empty),
        );
    const own = element(
        "li",
        {},
        element(
            "div",
            {className: "wing"},
            element("span", {}, "own time"),
            element(
                "span",
                {className: "number"},
                `${duration(answer.own_ns)}, ${percent(answer.own_ns, answer.total_ns)}`,
            ),
        ),
    );
    const callees = side("It calls", answer.callees, "Nothing that was traced.");
    callees.querySelector("ul")?.append(own);
    panel.replaceChildren(
        element(
            "div",
            {className: "butterfly"},
            side("Called by", answer.callers, "No traced call: it is outermost."),
            element(
                "div",
                {className: "body"},
                element("h2", {}, element("bdi", {}, trace.name(number))),
                element("p", {}, `${counted(answer.calls, "call")}, ${duration(answer.total_ns)} in total`),
                element("p", {className: "quiet"}, `${duration(answer.own_ns)} own`),
                ...(hasTimeLine(trace.info)
                    ? [element("button", {onclick: () => firstCall(page, number)}, "Show the first call")]
                    : []),
            ),
            callees,
        ),
    );
}

const NO_CALLER = -1;

async function firstCall(page, number) {
    const answer = await page.askForCall("step", {
        function: number,
        time: page.range.begin || "0",
        direction: "next",
    });
    if (answer?.call) page.go(answer.call);
}

function wing([number, calls, total], whole, page) {
    const meter = element("span", {className: "meter", "aria-hidden": "true"});
    meter.style.width = `${whole ? Math.min(100, (100 * total) / whole) : 0}%`;
    return element(
        "li",
        {},
        element(
            "div",
            {className: "wing metered"},
            meter,
            number === NO_CALLER
                ? element("span", {className: "name quiet"}, "no traced call")
                : element(
                      "button",
                      {className: "link name", onclick: () => page.showFunction(number)},
                      element("bdi", {}, page.trace.name(number, 160)),
                  ),
            element(
                "span",
                {className: "number"},
                `${duration(total)}, ${percent(total, whole)}, ${counted(calls, "call")}`,
            ),
        ),
    );
}
