// The spans of lanes: asked for in the order of need, kept, and cancelled when nobody needs them any more.

import {ask, askSpans} from "../base/api.js";
import {piece} from "./window.js";

const AT_ONCE = 4,
    MOST_ROWS = 3_000_000,
    MOST_MARKS = 2000;

/** The store of a trace. */
export class LaneStore {
    /** `onArrival` is called when there is something new to draw, `onError` with what went wrong. */
    constructor(trace, onArrival, onError) {
        this.trace = trace;
        this.onArrival = onArrival;
        this.onError = onError;
        this.kept = new Map(); // key -> {lane, part, depths, spans, marks}; in the order of use
        this.rows = 0;
        this.running = new Map(); // key -> AbortController
        this.queue = [];
        this.failed = new Set();
    }

    /** Return the wish for what a view of a lane shows: depths `first` to `last`. */
    wish(lane, view, width, first, last) {
        const part = piece(view, width, this.trace.whole);
        return {lane, part, first, last, key: [lane, part.begin, part.end, part.pixels, first, last].join()};
    }

    /** Return the best that is there for a wish; null: nothing. */
    best({key, lane, first, last, part}) {
        const exact = this.kept.get(key);
        if (exact) {
            this.kept.delete(key);
            this.kept.set(key, exact);
            return exact;
        }
        let best = null,
            most = -Infinity;
        for (const entry of this.kept.values()) {
            if (entry.lane !== lane || entry.first > last || entry.last < first) continue;
            const shared = Math.min(entry.part.end, part.end) - Math.max(entry.part.begin, part.begin);
            if (shared <= 0) continue;
            const coverage = Math.min(1, shared / (part.end - part.begin));
            const fineness = Math.min(0, Math.log2(nsPerPixel(part) / nsPerPixel(entry.part)));
            const value = coverage * 8 + fineness - (entry.isOld ? 0.5 : 0);
            if (value > most) [best, most] = [entry, value];
        }
        return best;
    }

    /** Ask for what is missing of some wishes, and no longer for what is not among them. */
    want(wishes) {
        const keys = new Set(wishes.map((wish) => wish.key));
        for (const [key, controller] of this.running)
            if (!keys.has(key)) controller.abort(new Error("not needed"));
        this.queue = wishes.filter(
            ({key}) => !this.kept.has(key) && !this.running.has(key) && !this.failed.has(key),
        );
        this.next();
    }

    /** Take the trace as it has grown: what is here is shown until the same is there again. */
    grow(trace) {
        this.trace = trace;
        for (const controller of this.running.values()) controller.abort(new Error("the trace has grown"));
        this.queue = [];
        this.failed.clear();
        const kept = [...this.kept.values()].filter((entry) => !entry.isOld);
        this.kept = new Map(kept.map((entry) => [`old ${entry.key}`, {...entry, isOld: true}]));
        this.rows = kept.reduce((sum, entry) => sum + entry.spans.n + 100, 0);
    }

    /** Whether nothing that was wanted is missing. */
    get idle() {
        return this.running.size === 0 && this.queue.length === 0;
    }

    next() {
        while (this.running.size < AT_ONCE && this.queue.length) this.fetch(this.queue.shift());
    }

    async fetch(wish) {
        const controller = new AbortController(),
            options = {signal: controller.signal};
        this.running.set(wish.key, controller);
        const question = {
            trace: this.trace.number,
            lane: wish.lane,
            begin: wish.part.begin,
            end: wish.part.end,
        };
        try {
            const [spans, {marks}] = await Promise.all([
                askSpans(
                    {...question, pixels: wish.part.pixels, first: wish.first, last: wish.last},
                    options,
                ),
                wish.noMarks ? {marks: []} : ask("marks", {...question, most: MOST_MARKS}, options),
            ]);
            this.keep({...wish, spans, marks});
        } catch (error) {
            if (!controller.signal.aborted) {
                this.failed.add(wish.key);
                this.onError(error);
            }
        } finally {
            this.running.delete(wish.key);
            this.next();
            this.onArrival();
        }
    }

    keep(entry) {
        for (const [key, old] of this.kept)
            if (old.isOld && old.lane === entry.lane && old.key === entry.key) {
                this.kept.delete(key);
                this.rows -= old.spans.n + 100;
            }
        this.kept.set(entry.key, entry);
        this.rows += entry.spans.n + 100;
        for (const [key, old] of this.kept) {
            if (this.rows <= MOST_ROWS || key === entry.key) break;
            this.kept.delete(key);
            this.rows -= old.spans.n + 100;
        }
    }
}

const nsPerPixel = (part) => (part.end - part.begin) / part.pixels;
