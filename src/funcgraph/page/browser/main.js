// The start of the page: loads a trace, and joins state, time line, search and views.

import {ask, followEvents} from "./base/api.js";
import {Details, sentence} from "./views/details.js";
import {rangesOfNext} from "./views/difference.js";
import {byId, element} from "./base/dom.js";
import {showHelp} from "./help.js";
import {followKeys} from "./keys.js";
import {Growth} from "./growth.js";
import {groupKey, isClosed, usualDepths} from "./timeline/lanes.js";
import {visible} from "./base/names.js";
import {followSplitter, makeTabs, markTab, sizePanel} from "./views/panel.js";
import {followPointer} from "./timeline/pointer.js";
import {Search} from "./search.js";
import {State, toggled} from "./base/state.js";
import * as status from "./base/status.js";
import {Timeline} from "./timeline/timeline.js";
import {counted, duration} from "./base/times.js";
import {hasTimeLine, loadTrace} from "./base/trace.js";
import {viewsOf} from "./views/views.js";
import {clamped, moved, zoomed} from "./timeline/window.js";

/** What changes the answer of a tab, besides what changes all views. */
const ANSWERS_OF = {
    why: ["of", "first", "second"],
    values: ["by"],
    repeat: ["imports", "least"],
    exceptions: ["imports", "nth"],
    expect: ["expected"],
    diff: ["task", "pair"],
};

class Page {
    constructor() {
        this.state = new State();
        this.timeline = new Timeline(this.state, status.showError);
        this.details = new Details({
            go: (call) => this.go(call),
            stepTo: (question, none) => this.stepTo(question, none),
            status,
            showFunction: (number) => this.showFunction(number),
            onFlows: (call, flows) => this.timeline.showFlows(call, flows),
        });
        this.search = new Search(this.state, {
            go: (call) => this.go(call),
            onFound: (matched, hits) => {
                this.timeline.matched = matched;
                this.timeline.hits = hits;
                if (this.state.values.tab === "table") this.showView();
                this.timeline.draw();
            },
        });
        this.view = null;
        this.growth = new Growth(this);
    }

    async start() {
        this.follow();
        sizePanel(this.state.values.panel);
        const answer = await status.guard(ask("traces"));
        if (!answer) return;
        this.traces = answer.traces;
        this.views = viewsOf(answer.traces);
        const ofCall = this.traces.every(hasTimeLine) ? [["", "Call"]] : [];
        this.tabs = [...ofCall, ...this.views];
        makeTabs(this.tabs, (tab) => this.state.set({tab}, {step: true}));
        followEvents((traces) => this.onTraces(traces));
        if (!this.traces.length) {
            this.showNothing(
                "There is no trace. Record one with: funcgraph record PROGRAM, then start funcgraph view.",
            );
            return;
        }
        byId("trace").replaceChildren(
            ...this.traces.map((info) =>
                element(
                    "option",
                    {value: info.number, title: visible(info.path, 500)},
                    visible(info.name, 80),
                ),
            ),
        );
        byId("trace").disabled = this.traces.length === 1;
        await this.open();
    }

    /** Take what the server tells of its traces: progress, calls, damage, another file in its place. */
    onTraces(traces) {
        this.traces = traces;
        const info = traces.find((other) => other.number === this.trace?.number);
        if (!info) return;
        const before = this.trace.info;
        this.trace.info = info;
        this.showFacts(info);
        this.growth.look(info);
        if (info.state !== before.state && info.message) status.show(info.message, "bad stays");
    }

    showNothing(text) {
        byId("empty").hidden = false;
        byId("empty").textContent = text;
        document.body.dataset.ready = "";
    }

    /** Load the trace that the state names. */
    async open() {
        const {values} = this.state,
            info = this.traces.find((other) => other.number === values.trace) || this.traces[0];
        byId("trace").value = info.number;
        document.body.classList.toggle("figures", !hasTimeLine(info));
        this.showFacts(info);
        delete document.body.dataset.ready;
        const part = (progress) =>
            status.show(`Making the index of ${info.name}: ${Math.round(100 * progress)}%`, "stays");
        const trace = await status.guard(loadTrace(info, part));
        if (!trace) {
            this.showNothing("The trace cannot be shown.");
            return;
        }
        if (byId("status").className === "stays") status.show("");
        this.onTraces(this.traces);
        this.trace = trace;
        this.timeline.chosen = null;
        this.timeline.open(trace);
        this.search.run(trace);
        this.choose();
        this.showView();
        this.showRange();
    }

    showFacts(info) {
        document.title = `${visible(info.name, 60)} - funcgraph view`;
        const flaw = info.growing ? "" : info.flaw || info.message || (info.complete ? "" : "not complete");
        byId("facts").replaceChildren(
            [
                hasTimeLine(info) ? duration(info.duration_ns) : `${duration(info.duration_ns)} in calls`,
                info.calls === null ? null : counted(info.calls, "call"),
                info.events === null ? null : counted(info.events, "event"),
            ]
                .filter(Boolean)
                .join(" · "),
            ...(flaw ? [" · ", element("span", {className: "bad"}, visible(flaw, 200))] : []),
        );
        const about = [info.message, info.command, info.path, `clock: ${info.clock}`].filter(Boolean);
        byId("facts").title = visible(about.join("\n"), 1000);
    }

    /**
     * Return the answer to a question about where to go; null: there is none, or another call was chosen
     * meanwhile: who does that does not wait for it any more.
     */
    async askForCall(name, question) {
        const {call} = this.state.values,
            answer = await status.guard(ask(name, {trace: this.trace.number, ...question}));
        return this.state.values.call === call ? answer : null;
    }

    /** Go to the next or previous call of a function; `none`: what is said if there is none. */
    async stepTo(question, none) {
        const answer = await this.askForCall("step", question);
        if (answer?.call) this.go(answer.call);
        else if (answer) status.show(none);
    }

    /** Show a call: choose it, and move to it. `number`: of its trace. */
    go(call, number = this.trace.number) {
        if (number !== this.trace.number) {
            const chosen = {lane: call.lane, time: call.begin_ns, depth: call.depth},
                place = around({begin: call.begin_ns, end: call.end_ns});
            this.state.set({...this.ofTrace(number), call: chosen, ...place}, {step: true});
            return;
        }
        this.unfold(call);
        const view = this.timeline.reveal(call);
        this.state.set(
            {
                call: {lane: call.lane, time: call.begin_ns, depth: call.depth},
                begin: view.begin,
                end: view.end,
            },
            {step: true},
        );
    }

    /** Return what changes when another trace is shown. */
    ofTrace(number) {
        return {
            trace: number,
            begin: undefined,
            end: undefined,
            call: null,
            ...rangesOfNext(this.traces, this.state.values),
            first: null,
            second: null,
            nth: 0,
            pinned: [],
            folded: [],
            deep: [],
        };
    }

    /** Have the level of a call shown: its group open, its lane unfolded and as deep as it goes. */
    unfold({lane, depth}) {
        const {folded, deep, closed, filter} = this.state.values,
            known = this.trace.byNumber.get(lane);
        if (!known) return;
        const changes = {},
            isPinned = this.state.values.pinned.includes(lane),
            key = isPinned ? "pinned" : groupKey(known);
        if (folded.includes(lane)) changes.folded = folded.filter((other) => other !== lane);
        if (depth >= usualDepths(this.trace.lanes) && !deep.includes(lane)) changes.deep = [...deep, lane];
        const keys = closed.split("|").filter(Boolean),
            {length} = this.trace.lanes.filter((other) => groupKey(other) === key);
        if (isClosed(key, length, keys)) changes.closed = toggled(keys, key).join("|");
        if (filter && !this.timeline.items.some((item) => item.lane?.number === lane)) changes.filter = "";
        if (Object.keys(changes).length) this.state.set(changes);
    }

    /** Return the lane in which the chosen call is shown, also that of a task or a CPU; undefined: none is chosen. */
    laneOfCall() {
        return this.state.values.call?.lane;
    }

    /** Return the lane of the thread of the chosen call; undefined: not known, or none is chosen. */
    threadOfCall() {
        const {call} = this.state.values;
        return call ? (this.timeline.chosen?.thread ?? this.trace.threadOf(call.lane)) : undefined;
    }

    /** Show the butterfly of a function. */
    showFunction(number) {
        this.state.set({tab: "butterfly", func: this.trace.functions[number]?.name ?? ""}, {step: true});
    }

    /** Choose what is at a place of the time line. */
    choosePlace(place) {
        if (!place || place.row < 0) {
            if (this.state.values.call) this.state.set({call: null}, {step: true});
        } else if (place.isCell) {
            status.show(`${counted(place.spans.count[place.row], "short call")}: zoom in to see each.`);
            this.timeline.show(zoomed(this.timeline.view, 0.2, place.time, this.trace.whole));
        } else
            this.state.set({call: {lane: place.lane, time: place.begin, depth: place.depth}}, {step: true});
    }

    /** Ask for the chosen call, and show it. */
    async choose() {
        const {call} = this.state.values,
            {trace} = this;
        if (!call) {
            this.timeline.chosen = this.details.call = null;
            this.timeline.draw();
            this.chose();
            if (this.isOfCall(false)) this.showView();
            return;
        }
        const isFirst = !this.timeline.chosen;
        const answer = await status.guard(ask("call", {trace: trace.number, ...call}));
        if (!answer || this.state.values.call !== call || this.trace !== trace) return;
        this.timeline.chosen = this.details.call = answer.call;
        this.details.trace = trace; // keys step through its calls, whichever tab is shown
        if (answer.call) status.tell(sentence(answer.call, trace));
        else status.show("There is no such call in this trace.");
        this.timeline.draw();
        this.chose();
        if (this.isOfCall(isFirst)) this.showView();
    }

    /** Have the view offer what it can do with the call that is chosen now. */
    chose() {
        const box = document.querySelector("#answer-only, #option-only");
        if (box) {
            box.disabled = !this.state.values.call && !box.checked;
            if (!box.disabled) box.closest("label").title = "";
        }
        this.view?.chose?.();
    }

    /** Whether what is shown is of the chosen call; or waits for one, if that is the first one. */
    isOfCall(isFirst) {
        const {tab, of, func, second} = this.state.values,
            waits = ["butterfly", "why", "values"].includes(tab) && !func,
            isOfIt = of === "call" || (of === "compare" && !second);
        return tab === "" || (tab === "why" && isOfIt) || (waits && isFirst);
    }

    /** Return the part that views are of: the selected range, or all. */
    get range() {
        const {begin, end} = this.trace.whole;
        return this.state.values.range || {begin: Math.floor(begin), end: Math.ceil(end) + 1};
    }

    showRange() {
        const {range} = this.state.values,
            line = byId("range");
        if (!range) {
            line.replaceChildren("whole trace");
            return;
        }
        line.replaceChildren(
            element("b", {}, duration(range.end - range.begin)),
            ` from ${duration(range.begin)} `,
            element(
                "button",
                {
                    onclick: () => this.timeline.show(clamped(range, this.trace.whole), {step: true}),
                    title: "Zoom to the range (F)",
                },
                "Zoom",
            ),
            element(
                "button",
                {
                    onclick: () => this.state.set({range: null}, {step: true}),
                    title: "Views of the whole trace (Esc)",
                },
                "Clear",
            ),
        );
    }

    showView() {
        const {tab} = this.state.values,
            panel = byId("tabpanel");
        markTab(tab);
        this.view?.close?.();
        this.view = null;
        if (!this.trace) return;
        const view = this.views.find(([name]) => name === tab)?.[2];
        if (!view) {
            this.details.show(panel, this.trace, this.timeline.chosen);
            return;
        }
        this.view = view(panel, this);
    }

    follow() {
        const {state, timeline} = this;
        followSplitter(state);
        followPointer(timeline, {
            choose: (place) => this.choosePlace(place),
            onRange: (range, isDone) => state.set({range}, {step: isDone}),
            showPlace: (place) => {
                if (place?.row >= 0) timeline.show(clamped(around(place), this.trace.whole), {step: true});
            },
        });
        followKeys(this.actions());
        byId("show-all").addEventListener("click", () => this.showAll());
        byId("show-help").addEventListener("click", () => this.showHelp());
        byId("trace").addEventListener("change", () =>
            state.set(this.ofTrace(Number(byId("trace").value)), {step: true}),
        );
        byId("lane-filter").value = state.values.filter;
        byId("lane-filter").addEventListener("input", () => state.set({filter: byId("lane-filter").value}));
        byId("lane-sort").value = state.values.sort;
        byId("lane-sort").addEventListener("change", () => state.set({sort: byId("lane-sort").value}));
        state.onChange((values, changed) => this.onChange(values, changed));
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
            this.trace?.colour();
            timeline.draw();
            this.showView();
        });
    }

    onChange(values, changed) {
        if (changed.has("panel")) sizePanel(values.panel);
        if (!this.trace) return;
        if (changed.has("trace")) {
            this.open();
            return;
        }
        const any = (...names) => names.some((name) => changed.has(name));
        if (any("begin", "end")) this.timeline.take();
        if (any("begin", "end", "still")) this.growth.onView(any("still"));
        if (any("pinned", "folded", "deep", "closed", "sort", "filter")) this.timeline.place();
        if (any("filter") && byId("lane-filter").value !== values.filter)
            byId("lane-filter").value = values.filter;
        if (any("sort")) byId("lane-sort").value = values.sort;
        if (any("q", "values")) this.search.run(this.trace);
        if (any("call")) this.choose();
        if (any("range")) this.showRange();
        if (
            any("tab") ||
            (values.tab !== "" &&
                any(
                    "range",
                    "shape",
                    "diff",
                    "focus",
                    "hide",
                    "merge",
                    "collapse",
                    "nowait",
                    "only",
                    "func",
                )) ||
            any(...(ANSWERS_OF[values.tab] ?? []))
        )
            this.showView();
        this.timeline.draw();
    }

    showAll() {
        if (this.trace) this.timeline.show(clamped(this.trace.whole, this.trace.whole), {step: true});
    }

    /** Go to a neighbour of the chosen call in the picture. */
    goTo(found) {
        if (found) this.go({lane: found.lane, begin_ns: found.begin, end_ns: found.end, depth: found.depth});
        else status.show("There is none in the picture.");
    }

    actions() {
        const {timeline, state} = this,
            whole = () => this.trace.whole;
        const middle = () => (timeline.view.begin + timeline.view.end) / 2,
            scroll = (by) => {
                byId("scroll").scrollTop += by;
            };
        const withCall = (run) => () =>
            timeline.chosen
                ? run(timeline.chosen)
                : status.show("Choose a call first: click on one, or press Enter.");
        const table = {
            zoomIn: () => timeline.show(zoomed(timeline.view, 0.7, this.pointed() ?? middle(), whole())),
            zoomOut: () => timeline.show(zoomed(timeline.view, 1 / 0.7, this.pointed() ?? middle(), whole())),
            earlier: () => timeline.show(moved(timeline.view, -0.15, whole())),
            later: () => timeline.show(moved(timeline.view, 0.15, whole())),
            up: () => scroll(-54),
            down: () => scroll(54),
            whole: () => this.showAll(),
            fit: () => {
                const {range} = state.values,
                    part = timeline.chosen
                        ? around({begin: timeline.chosen.begin_ns, end: timeline.chosen.end_ns})
                        : range;
                if (part) timeline.show(clamped(part, whole()), {step: true});
            },
            middle: () => this.chooseMiddle(),
            caller: withCall((call) =>
                this.goTo(
                    call.parents[0] && {
                        lane: call.lane,
                        begin: call.parents[0].begin_ns,
                        end: call.parents[0].end_ns,
                        depth: call.parents[0].depth,
                    },
                ),
            ),
            callee: withCall((call) =>
                this.goTo(timeline.find(call.lane, call.depth + 1, call.begin_ns, call.end_ns)),
            ),
            before: withCall((call) =>
                this.goTo(timeline.find(call.lane, call.depth, timeline.view.begin, call.begin_ns, true)),
            ),
            after: withCall((call) =>
                this.goTo(timeline.find(call.lane, call.depth, call.end_ns, timeline.view.end)),
            ),
            previousCall: withCall(() => this.details.step("previous")),
            nextCall: withCall(() => this.details.step("next")),
            range: withCall((call) =>
                state.set(
                    {range: {begin: call.begin_ns, end: Math.max(call.end_ns, call.begin_ns + 1)}},
                    {step: true},
                ),
            ),
            away: () => this.away(),
            search: () => byId("search-text").focus(),
            nextHit: () => this.search.step(1),
            previousHit: () => this.search.step(-1),
            tab: (event) => {
                const tab = this.tabs?.[Number(event.key) - 1];
                if (tab) state.set({tab: tab[0]}, {step: true});
            },
            undo: () => state.back(),
            help: () => this.showHelp(),
        };
        return Object.fromEntries(
            Object.entries(table).map(([name, run]) => [
                name,
                (event) => {
                    if (this.can(name)) run(event);
                },
            ]),
        );
    }

    /** Whether there is something now that an action of a key can be done to. */
    can(action) {
        if (["search", "help", "undo"].includes(action)) return true;
        return this.trace && (hasTimeLine(this.trace.info) || ["tab", "away"].includes(action));
    }

    showHelp() {
        showHelp((action) => this.can(action) || !this.trace);
    }

    pointed() {
        return this.timeline.pointer === null ? null : this.timeline.timeAt(this.timeline.pointer);
    }

    away() {
        if (document.activeElement?.matches("input, textarea")) document.activeElement.blur();
        else if (this.state.values.range) this.state.set({range: null}, {step: true});
        else if (this.state.values.call) this.state.set({call: null}, {step: true});
    }

    /** Choose the innermost call in the middle of the first lane in sight that has one. */
    async chooseMiddle() {
        const {timeline} = this,
            time = Math.round((timeline.view.begin + timeline.view.end) / 2);
        for (const item of timeline.seen()) {
            if (time < item.lane.begin_ns || time > item.lane.end_ns) continue;
            const answer = await this.askForCall("call", {lane: item.lane.number, time});
            if (!answer) return; // why not has been said
            if (answer.call) {
                this.go(answer.call);
                return;
            }
        }
        status.show("No call is in the middle of the picture.");
    }
}

/** Return a part with some room around a stretch. */
function around({begin, end}) {
    const room = Math.max((end - begin) * 0.05, 5);
    return {begin: begin - room, end: end + room};
}

const page = new Page();
page.start();
