// In place of api.js in an exported page: answers from the trace that is in the page itself.

import {CallAnswers} from "./embedded_calls.js";
import {FlowAnswers} from "./embedded_flows.js";
import {openEmbedded} from "./embedded_trace.js";
import {TreeAnswers} from "./embedded_trees.js";

/** A question that has no answer here. */
export class ServerError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/** Return the questions that can be answered, by name: functions of what is asked. */
export function answersOf(trace) {
    const calls = new CallAnswers(trace),
        flows = new FlowAnswers(trace, calls),
        trees = new TreeAnswers(trace);
    return {
        traces: () => ({version: trace.head.version, traces: [trace.head.trace]}),
        lanes: () => ({lanes: trace.lanes}),
        functions: () => ({functions: trace.head.functions}),
        marks: (question) => ({marks: trace.marks(question)}),
        source: ({function: number}) => ({source: trace.source(number)}),
        text: (question) => ({
            lines: ["An exported page has no text. The command above prints it from the trace."],
            cut: false,
            command: trace.reportCommand(question.lane, question.begin, question.end),
        }),
        call: (question) => calls.call(question),
        flows: (question) => flows.flows(question),
        step: (question) => calls.step(question),
        longest: (question) => calls.longest(question),
        histogram: (question) => calls.histogram(question),
        search: (question) => calls.search(question),
        tree: (question) => trees.tree(question),
        table: (question) => trees.table(question),
        butterfly: (question) => trees.butterfly(question),
    };
}

let opened = null;

/** Return the trace of this page and its answers, which are made once. */
function embedded() {
    opened ??= openEmbedded(document.getElementById("embedded-trace").textContent).then((trace) => ({
        trace,
        answers: answersOf(trace),
    }));
    return opened;
}

/** Ask, and return the answer. */
export async function ask(name, question = {}, {signal} = {}) {
    const {answers} = await embedded();
    await null; // a newer question may have taken the place of this one
    signal?.throwIfAborted();
    if (!answers[name])
        throw new ServerError(404, "An exported page cannot answer this; funcgraph view can.");
    return answers[name](question);
}

/** Ask for the spans of a part of a lane. */
export async function askSpans(question, {signal} = {}) {
    const {trace} = await embedded();
    signal?.throwIfAborted();
    return trace.spans(question);
}

/** Nothing happens to an exported trace. */
export async function followEvents() {}
