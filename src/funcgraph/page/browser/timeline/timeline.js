// The time line: what is drawn when, which lanes are in sight, and what is at a place of it.

import {drawArrow} from "./arrows.js";
import {drawAxis} from "./axis.js";
import {byId, debounced} from "../base/dom.js";
import {showLaneList} from "./lane_list.js";
import {LaneStore} from "./lane_store.js";
import {HEIGHTS, placed, rowOf, seenItems, takeTextSize} from "./lanes.js";
import {Boxes, layOut} from "./layout.js";
import {markAt, stampMark} from "./marks.js";
import {Minimap} from "./minimap.js";
import {boxPainter, fit, freshPen, writeLabels} from "./painter.js";
import {CELL, firstEndingAfter, rowAt} from "../base/spans.js";
import {theme} from "../base/trace.js";
import {clamped, showing} from "./window.js";

const WISH_WAIT = 40,
    DEPTHS_STEP = 64;

/** The time line of a trace. */
export class Timeline {
    constructor(state, onError) {
        this.state = state;
        this.onError = onError;
        this.painter = null; // made with the first picture: the server answers meanwhile
        this.boxes = new Boxes();
        this.view = {begin: 0, end: 1};
        this.hover = null; // {lane, depth, row, spans} under the pointer
        this.pointer = null; // x of the pointer
        this.flows = []; // what led to the chosen call
        this.matched = null; // by function: whether the search found it
        this.hits = [];
        this.drawn = false;
        this.isAsked = false;
        this.ask = debounced(() => this.wish(), WISH_WAIT);
        byId("scroll").addEventListener("scroll", () => this.draw());
        byId("boxes").addEventListener("redraw", () => this.draw());
        new ResizeObserver(() => this.draw()).observe(byId("scroll"));
    }

    /** Show a trace. */
    open(trace) {
        this.trace = trace;
        this.store = new LaneStore(trace, () => this.draw(), this.onError);
        this.minimap = new Minimap(trace, this.store);
        this.hover = null;
        this.take();
        this.place();
        this.wish();
    }

    /** Show the same trace, which has grown. */
    grow(trace) {
        this.trace = trace;
        this.store.grow(trace);
        this.minimap = new Minimap(trace, this.store);
        this.take();
        this.place();
        this.wish();
    }

    get width() {
        return Math.max(1, byId("stage").clientWidth);
    }

    /** Take the part of time from the state. */
    take() {
        const {begin, end} = this.state.values,
            {whole} = this.trace;
        this.view =
            begin !== undefined && end > begin
                ? clamped({begin, end}, whole)
                : clamped({begin: whole.begin, end: whole.end}, whole);
    }

    /** Show a part of time. */
    show(view, options) {
        this.state.set({begin: view.begin, end: view.end}, options);
    }

    /** Return a part in which a stretch of a lane's call is seen, and scroll to it. */
    reveal(call) {
        const item = this.items?.find((other) => other.kind === "lane" && other.lane.number === call.lane);
        if (item) {
            const scroll = byId("scroll"),
                {y, height} = rowOf(item, Math.min(call.depth, item.depths - 1));
            if (y < scroll.scrollTop + 4) scroll.scrollTop = y - 40;
            if (y + height > scroll.scrollTop + scroll.clientHeight - 4)
                scroll.scrollTop = y + height - scroll.clientHeight + 40;
        }
        return showing(this.view, {begin: call.begin_ns, end: call.end_ns}, this.trace.whole);
    }

    /** Put the lanes at their places. */
    place() {
        const {pinned, folded, deep, closed, sort, filter} = this.state.values;
        const layout = {pinned, folded, deep, closed: closed.split("|"), sort, filter};
        const {items, height} = placed(this.trace.lanes, layout);
        this.items = items;
        showLaneList(items, height, this.state, this.trace.lanes);
        const empty = byId("empty");
        empty.hidden = items.length > 0;
        empty.textContent = this.trace.lanes.length
            ? `No lane has “${filter}” in its name, process or number. Clear the filter to see all.`
            : "This trace has no calls. funcgraph list says which functions a filter finds.";
        this.draw();
    }

    seen() {
        const scroll = byId("scroll");
        return seenItems(this.items, scroll.scrollTop, scroll.scrollTop + scroll.clientHeight).filter(
            (item) => item.kind === "lane",
        );
    }

    /** Return the wish for a lane's item: all of its depths, or of a deep one those in sight. */
    wishFor(item) {
        const scroll = byId("scroll");
        let first = 0,
            last = Math.max(item.depths - 1, 0);
        if (last >= DEPTHS_STEP) {
            const top = Math.floor((scroll.scrollTop - item.y - HEIGHTS.head) / HEIGHTS.row),
                rows = Math.ceil(scroll.clientHeight / HEIGHTS.row);
            first = Math.max(0, Math.floor(top / DEPTHS_STEP) * DEPTHS_STEP);
            last = Math.max(
                first,
                Math.min(last, Math.ceil((top + rows) / DEPTHS_STEP) * DEPTHS_STEP + DEPTHS_STEP - 1),
            );
        }
        return this.store.wish(item.lane.number, this.view, this.width, first, last);
    }

    wish() {
        if (!this.trace || byId("scroll").clientHeight === 0) return;
        const wishes = this.seen().map((item) => this.wishFor(item));
        this.store.want([...wishes, ...this.minimap.wishes()]);
        this.draw();
    }

    /** Draw soon, once. */
    draw() {
        if (!this.isAsked)
            requestAnimationFrame(() => {
                this.isAsked = false;
                if (this.trace) this.drawNow();
            });
        this.isAsked = true;
    }

    drawNow() {
        if (takeTextSize(parseFloat(getComputedStyle(document.documentElement).fontSize))) this.place();
        const scroll = byId("scroll"),
            width = this.width,
            height = scroll.clientHeight,
            top = scroll.scrollTop;
        byId("stage").style.height = `${height}px`;
        for (const id of ["boxes", "pen"]) {
            byId(id).style.width = `${width}px`;
            byId(id).style.height = `${height}px`;
        }
        const scale = fit(byId("boxes"), width, height),
            pen = freshPen(byId("pen"), width, height),
            colours = theme();
        const size = parseFloat(getComputedStyle(byId("stage")).fontSize);
        pen.font = `${size}px ${getComputedStyle(byId("stage")).fontFamily}`;
        this.boxes.clear();
        this.drawGround(pen, {width, height, top, colours});
        const drawn = this.seen().map((item) => this.drawLane(item, {width, scale, top, colours}));
        this.painter ??= boxPainter(byId("boxes"));
        this.painter.draw(this.boxes, width, height);
        for (const {labels} of drawn)
            writeLabels(pen, labels, (number) => this.trace.short(number), colours.text, colours.quiet);
        for (const {item, entry} of drawn) if (entry) this.drawMarks(pen, item, entry, {width, top, colours});
        this.drawChosen(pen, {width, top, colours});
        this.drawFlows(pen, {width, top, colours});
        this.drawRange(pen, {width, height, colours});
        const {range} = this.state.values,
            look = {colours, range, width, font: pen.font, pointer: this.pointer, unknown: colours.unknown};
        drawAxis(this.view, look);
        this.minimap.draw(this.view, look);
        const missing = drawn.some(
            ({wish}) => !this.store.kept.has(wish.key) && !this.store.failed.has(wish.key),
        );
        if (missing) this.ask();
        this.tell(missing);
    }

    /** Tell tests and styles whether the picture is complete, and what draws it. */
    tell(missing) {
        const {body} = document,
            isComplete = !missing && this.store.idle;
        const {begin, end} = this.view;
        Object.assign(body.dataset, {boxes: this.painter.name, drawn: this.boxes.n, begin, end});
        body.dataset.picture = isComplete ? "complete" : "partial";
        if (isComplete) body.dataset.ready = "";
    }

    drawGround(pen, {width, height, top, colours}) {
        for (const item of seenItems(this.items, top, top + height)) {
            const y = item.y - top;
            if (item.kind === "group") {
                pen.fillStyle = colours.group;
                pen.fillRect(0, y, width, item.height);
            }
            pen.fillStyle = colours.line;
            pen.fillRect(0, Math.round(y + item.height) - 1, width, 1);
        }
    }

    drawLane(item, {width, scale, top, colours}) {
        const wish = this.wishFor(item),
            entry = this.store.best(wish);
        if (!entry) return {item, wish, entry, labels: []};
        const red = colours.raise.match(/\w\w/g).map((part) => parseInt(part, 16));
        const look = {
            colours: this.trace.colours,
            unknown: colours.unknown,
            raise: red,
            dimmed: this.matched,
            depths: item.depths,
        };
        const row = (depth) => {
            const {y, height} = rowOf(item, depth);
            return {y: y - top, height};
        };
        const labels = layOut(this.boxes, entry.spans, {...this.view, width, scale}, row, look);
        return {item, wish, entry, labels};
    }

    drawMarks(pen, item, entry, {width, top, colours}) {
        const perNs = width / (this.view.end - this.view.begin);
        let latest = -Infinity,
            kind = "";
        for (const mark of entry.marks) {
            const x = (mark.time_ns - this.view.begin) * perNs;
            if (x < -8 || x > width + 8 || (mark.kind === kind && x - latest < 5)) continue;
            [latest, kind] = [x, mark.kind];
            stampMark(pen, mark.kind, x, item.y - top + 1, colours);
        }
    }

    /** Return the x of a time. */
    xOf(ns) {
        return ((ns - this.view.begin) / (this.view.end - this.view.begin)) * this.width;
    }

    /** Return the time at an x. */
    timeAt(x) {
        return this.view.begin + (x / this.width) * (this.view.end - this.view.begin);
    }

    outline(pen, {lane, depth, begin, end}, {width, top, colour, thick}) {
        for (const item of this.items) {
            if (item.kind !== "lane" || item.lane.number !== lane || depth >= item.depths) continue;
            const {y, height} = rowOf(item, depth);
            const x = Math.max(this.xOf(begin), -4),
                right = Math.min(this.xOf(end), width + 4);
            if (right < 0 || x > width) continue;
            pen.strokeStyle = colour;
            pen.lineWidth = thick;
            pen.strokeRect(x - 0.5, y - top - 0.5, Math.max(right - x, 2) + 1, height);
        }
    }

    drawChosen(pen, {width, top, colours}) {
        for (const hit of this.hits) {
            const x = this.xOf(hit.begin_ns);
            if (x > -4 && x < width + 4)
                this.outline(
                    pen,
                    {...hit, begin: hit.begin_ns, end: hit.end_ns},
                    {width, top, colour: colours.accent, thick: 1},
                );
        }
        if (this.hover) this.outline(pen, this.hover, {width, top, colour: colours.quiet, thick: 1});
        if (this.chosen)
            this.outline(
                pen,
                {...this.chosen, begin: this.chosen.begin_ns, end: this.chosen.end_ns},
                {width, top, colour: colours.select, thick: 2},
            );
    }

    /** Show what led to the chosen call. */
    showFlows(call, flows) {
        if (call !== this.chosen) return;
        this.flows = flows;
        this.draw();
    }

    /** Draw an arrow from each call that led to the chosen one. */
    drawFlows(pen, {top, colours}) {
        const to = this.chosen && this.pointOf(this.chosen, this.chosen.begin_ns, top);
        for (const {call, time_ns} of to ? this.flows || [] : []) {
            const from = call && this.pointOf(call, time_ns, top);
            if (from) drawArrow(pen, from, to, colours.accent);
        }
    }

    /** Return where a call's level is at a time; null: it is not shown. */
    pointOf({lane, depth}, time, top) {
        const item = this.items.find((other) => other.kind === "lane" && other.lane.number === lane);
        if (!item || depth >= item.depths) return null;
        const {y, height} = rowOf(item, depth);
        return {x: this.xOf(time), y: y - top + height / 2};
    }

    drawRange(pen, {width, height, colours}) {
        const {range} = this.state.values;
        if (range) {
            const x = this.xOf(range.begin),
                right = this.xOf(range.end);
            pen.fillStyle = colours.shade;
            pen.fillRect(x, 0, right - x, height);
            pen.fillStyle = colours.accent;
            pen.fillRect(Math.round(x), 0, 1, height);
            pen.fillRect(Math.round(right), 0, 1, height);
        }
        if (this.pointer !== null) {
            pen.fillStyle = colours.strong;
            pen.fillRect(Math.round(this.pointer), 0, 1, height);
        }
    }

    /** Return what is at a place: {item, depth, lane, time, begin, end, row, spans, mark}; null: no lane. */
    at(x, y) {
        const height = y + byId("scroll").scrollTop;
        const item = this.items?.find((other) => other.y <= height && height < other.y + other.height);
        if (!item || item.kind !== "lane") return null;
        const time = this.timeAt(x),
            place = {item, lane: item.lane.number, time, row: -1, depth: -1};
        const entry = this.store.best(this.wishFor(item)),
            perPixel = (this.view.end - this.view.begin) / this.width;
        if (!entry) return place;
        if (height - item.y < HEIGHTS.head) return {...place, mark: markAt(entry.marks, time, 5 * perPixel)};
        const first = rowOf(item, 0);
        const depth = Math.floor((height - first.y) / first.height);
        if (depth >= item.depths) return place;
        const row = rowAt(entry.spans, depth, time, 1.5 * perPixel);
        return row < 0 ? {...place, depth} : {...place, ...this.rowOfSpans(entry.spans, row)};
    }

    rowOfSpans(spans, row) {
        return {
            row,
            spans,
            depth: spans.depth[row],
            begin: spans.begin[row],
            end: spans.end[row],
            isCell: spans.ended[row] >= CELL,
        };
    }

    /** Return the first loaded row of a lane and depth that begins in a part: for going to a callee. */
    find(lane, depth, begin, end, backwards = false) {
        const item = this.items.find((other) => other.kind === "lane" && other.lane.number === lane);
        const entry = item && this.store.best(this.wishFor(item)),
            level = entry?.spans.depths.find((other) => other.depth === depth);
        if (!level) return null;
        const {spans} = entry;
        if (backwards) {
            for (
                let i = Math.min(firstEndingAfter(spans, level.first, level.last, end), level.last - 1);
                i >= level.first;
                i--
            )
                if (spans.begin[i] < end && spans.begin[i] >= begin)
                    return {lane, ...this.rowOfSpans(spans, i)};
            return null;
        }
        for (
            let i = firstEndingAfter(spans, level.first, level.last, begin);
            i < level.last && spans.begin[i] < end;
            i++
        )
            if (spans.begin[i] >= begin) return {lane, ...this.rowOfSpans(spans, i)};
        return null;
    }
}
