// The search over names and values: which functions match, where the hits are, and going through them.

import {ask} from "./base/api.js";
import {byId, debounced} from "./base/dom.js";
import {guard} from "./base/status.js";
import {count, counted} from "./base/times.js";
import {hasTimeLine} from "./base/trace.js";

const MOST = 2000;

/** The search field. `go` shows a call, `onFound` gets {functions, hits}. */
export class Search {
    constructor(state, {go, onFound}) {
        this.state = state;
        this.go = go;
        this.onFound = onFound;
        this.hits = [];
        this.at = -1;
        const later = debounced(() => state.set({q: byId("search-text").value}), 200);
        byId("search-text").addEventListener("input", later);
        byId("search-values").addEventListener("change", () =>
            state.set({values: byId("search-values").checked}),
        );
        byId("search").addEventListener("submit", (event) => {
            event.preventDefault();
            if (state.values.q !== byId("search-text").value) state.set({q: byId("search-text").value});
            else this.step(1);
        });
        byId("search-next").addEventListener("click", () => this.step(1));
        byId("search-previous").addEventListener("click", () => this.step(-1));
        this.show();
    }

    /** Search for what the state says. */
    async run(trace) {
        const {q, values} = this.state.values;
        this.trace = trace;
        this.controller?.abort();
        this.controller = new AbortController();
        [this.hits, this.at] = [[], -1];
        if (byId("search-text").value !== q) byId("search-text").value = q;
        byId("search-values").checked = values;
        if (!q) {
            this.found = null;
            this.onFound(null, []);
            this.show();
            return;
        }
        const matched = trace.matching(q);
        this.onFound(this.marks(trace, matched), []); // at once: names are here
        this.show("…");
        const {signal} = this.controller;
        const answer = await guard(
            ask("search", {trace: trace.number, text: q, values, most: MOST}, {signal}),
        );
        if (signal.aborted || !answer) return;
        this.found = answer;
        this.hits = answer.hits;
        this.onFound(this.marks(trace, new Set([...answer.functions, ...matched])), this.hits.slice(0, 500));
        this.show();
    }

    marks(trace, numbers) {
        const marks = new Uint8Array(trace.functions.length + 1);
        for (const number of numbers) marks[number] = 1;
        return marks;
    }

    /** Go to the next or previous hit: at first to that after what is shown. */
    step(by) {
        if (!this.hits.length) return;
        if (this.at < 0) {
            const from = this.state.values.call?.time ?? this.state.values.begin ?? 0;
            const next = this.hits.findIndex((hit) => hit.begin_ns > from);
            this.at =
                by > 0 ? (next < 0 ? this.hits.length - 1 : next - 1) : next < 0 ? this.hits.length : next;
        }
        this.at = (this.at + by + this.hits.length) % this.hits.length;
        this.show();
        this.go(this.hits[this.at]);
    }

    show(text) {
        const {found, hits} = this,
            nothing = !hits.length;
        let shown = "";
        if (text) shown = text;
        else if (found && !hasTimeLine(this.trace.info)) shown = counted(found.functions.length, "function");
        else if (found && nothing) shown = "no hits";
        else if (found) {
            const all = `${count(found.count)}${found.complete ? "" : "+"}`;
            shown =
                this.at < 0
                    ? `${all} ${found.count === 1 ? "hit" : "hits"}`
                    : `${count(this.at + 1)} of ${all}`;
        }
        byId("search-count").textContent = shown;
        byId("search-next").disabled = byId("search-previous").disabled = nothing;
    }
}
