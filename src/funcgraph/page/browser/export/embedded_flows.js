// What led to a call, in an exported page. As flows.py on the server, but for what is not recorded.

const RUN = "asyncio.events.Handle._run";

/** Answers what awaits a call, scheduled its callback, created its task, or started its thread. */
export class FlowAnswers {
    constructor(trace, calls) {
        this.trace = trace;
        this.calls = calls;
        this.links = {};
        for (const [kind, rows] of Object.entries(trace.head.links))
            this.links[kind] = new Map(rows.map(([lane, begin, ...source]) => [`${lane},${begin}`, source]));
        this.coroutines = new Set(trace.head.coroutines);
        this.suspending = new Set(trace.head.suspending);
        this.run = trace.head.functions.findIndex(({name}) => name === RUN);
    }

    flows({lane, time, depth}) {
        const place = this.calls.placeOfCall(lane, time, depth);
        if (!place) return {flows: []};
        const {stack, thread} = place,
            rows = this.trace.rows[thread],
            functions = stack.map(({i}) => rows.function[i]),
            found = [];
        if (this.coroutines.has(functions[0]) && this.suspending.has(functions[1]))
            found.push(this.flow("awaited", [thread, stack[1].i], rows.begin[stack[1].i]));
        const run = functions.indexOf(this.run);
        if (run >= 0) found.push(this.linked("scheduled", thread, rows.begin[stack[run].i]));
        const task = place.runs ?? this.running(thread, rows.begin[stack[0].i]);
        if (task?.lane.kind === "task") found.push(this.linked("created", task.lane.number, 0));
        else if (!task) found.push(this.linked("started", thread, 0));
        return {flows: found.filter(Boolean)};
    }

    /** Return the task or greenlet that runs in a thread at a time; of several the one that began last. */
    running(thread, time) {
        return this.trace.runs.findLast((runs) => {
            const run = runs.lane.kind === "cpu" ? -1 : runs.at(time);
            return run >= 0 && runs.place[run] === thread;
        });
    }

    linked(kind, lane, begin) {
        const source = this.links[kind].get(`${lane},${begin}`);
        if (!source) return null;
        const [thread, from, func, time] = source,
            rows = this.trace.rows[thread],
            call = this.calls.stackAt(thread, from).find(({i}) => rows.function[i] === func);
        return call ? this.flow(kind, [thread, call.i], time) : null;
    }

    flow(kind, place, time) {
        const head = this.calls.head(place),
            task = this.running(head.lane, head.begin_ns);
        return {kind, call: task ? task.placed(head) : head, time_ns: time, record: ""};
    }
}
