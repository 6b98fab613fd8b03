// A trace that is being recorded: the page takes what is new, and follows the end or stands still.

import {byId} from "./base/dom.js";
import {guard} from "./base/status.js";
import {loadTrace} from "./base/trace.js";
import {clamped} from "./timeline/window.js";
import {ANSWERS} from "./views/answer_views.js";

const NEAR = 0.1, // of the view: so near the end, it follows
    VIEW_REST_MS = 5000; // a table of all calls reads all of the trace

/** Follows the trace of a page. */
export class Growth {
    constructor(page) {
        this.page = page;
        this.isBusy = this.isMoving = false;
        this.nextView = 0;
        byId("growing").addEventListener("click", () => this.toggle());
    }

    /** Take what the server says of the trace. */
    async look(info) {
        const button = byId("growing");
        button.hidden = !info.growing;
        this.showState();
        const {page} = this;
        page.view?.grew?.();
        if (this.isBusy || info.version === page.trace.version) return;
        this.isBusy = true;
        const trace = await guard(loadTrace(info));
        this.isBusy = false;
        if (trace && page.trace.number === trace.number) this.take(trace);
    }

    take(trace) {
        const {page} = this,
            view = {...page.timeline.view},
            isPart = page.state.values.begin !== undefined;
        page.trace = trace;
        this.isMoving = true;
        if (isPart && !page.state.values.still) {
            const length = view.end - view.begin,
                {end} = trace.whole;
            page.timeline.trace = trace;
            const at = end + (length * NEAR) / 2;
            page.state.set(clamped({begin: at - length, end: at}, trace.whole));
        }
        page.timeline.grow(trace);
        this.isMoving = false;
        page.search.run(trace);
        this.showView();
    }

    /** Show the view of many calls again, now and then: of the whole trace it has changed. No answers. */
    showView() {
        const {tab, range, still} = this.page.state.values,
            now = performance.now();
        if (still || range || tab === "" || ANSWERS.some(([name]) => name === tab)) return;
        if (now < this.nextView) return;
        this.nextView = now + VIEW_REST_MS;
        this.page.showView();
    }

    /** What is shown was moved: away from the end it stands still. */
    onView(isChosen) {
        const {page} = this,
            {view, trace} = page.timeline;
        if (this.isMoving || isChosen || byId("growing").hidden) return this.showState();
        const isAway = view.end < trace.whole.end - NEAR * (view.end - view.begin);
        if (isAway !== page.state.values.still) page.state.set({still: isAway});
        return this.showState();
    }

    toggle() {
        const {state, timeline} = this.page,
            still = !state.values.still,
            {begin, end} = timeline.view;
        state.set(still ? {still, begin, end} : {still});
        if (!still) this.take(this.page.trace);
    }

    showState() {
        const button = byId("growing"),
            follows = !this.page.state.values.still;
        button.setAttribute("aria-pressed", String(follows));
        button.title = follows
            ? "Follows the end of the recording. Click to stand still"
            : "Stands still while the recording goes on. Click to follow its end";
    }
}
