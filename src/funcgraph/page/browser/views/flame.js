// The flame graph: calls merged by stack, from callees or callers, or the calls of a lane in time order.

import {ask, askSpans} from "../base/api.js";
import {element} from "../base/dom.js";
import {Boxes, layOut} from "../timeline/layout.js";
import {changes, optionsBar} from "./options_bar.js";
import {HEIGHTS} from "../timeline/lanes.js";
import {boxPainter, fit, freshPen, writeLabels} from "../timeline/painter.js";
import {question, treeOf} from "./question.js";
import {rowAt} from "../base/spans.js";
import {guard, tell} from "../base/status.js";
import {counted, duration, percent} from "../base/times.js";
import {linesAbout, showTooltip} from "../timeline/tooltip.js";
import {theme} from "../base/trace.js";

const LEAST = 0.3,
    MOST_ROWS = 1500;

/** Return the boxes of a tree that is zoomed to a node: [{node, level, x, width, isAround}]. Pure. */
export function placeNodes({roots, total, nodes}, zoom, width) {
    const found = [],
        chain = [];
    for (let node = zoom; node; node = nodes[node.parent]) chain.unshift(node);
    chain.forEach((node, level) => found.push({node, level, x: 0, width, isAround: node !== zoom}));
    const scale = width / ((zoom ? zoom.total : total) || 1),
        stack = [[zoom ? zoom.children : roots, chain.length, 0]];
    while (stack.length) {
        const [children, level, from] = stack.pop();
        let x = from;
        for (const node of children) {
            const wide = node.total * scale;
            if (wide >= LEAST && level < MOST_ROWS) {
                found.push({node, level, x, width: wide, isAround: false});
                if (node.children.length) stack.push([node.children, level + 1, x]);
            }
            x += wide;
        }
    }
    return found;
}

/** Make the view. */
export function flameView(panel, page) {
    const view =
        page.state.values.shape === "time" ? new TimeOrder(panel, page) : new MergedFlame(panel, page);
    view.start();
    return {close: () => view.close()};
}

/** What both have: canvases in a scroller, tooltip. */
class Canvases {
    constructor(panel, page) {
        this.page = page;
        this.trace = page.trace;
        this.controller = new AbortController();
        this.boxCanvas = element("canvas", {"aria-hidden": "true"});
        this.penCanvas = element("canvas", {"aria-hidden": "true"});
        this.stage = element(
            "div",
            {
                className: "flame-stage",
                id: "flame",
                role: "application",
                tabIndex: 0,
                "aria-label": "Flame graph",
                "aria-description":
                    "Arrow keys go to caller, callee and neighbours, Enter zooms, Escape zooms out",
            },
            this.boxCanvas,
            this.penCanvas,
        );
        this.spacer = element("div", {className: "flame-spacer"});
        this.scroller = element("div", {className: "flame-scroll"}, this.stage, this.spacer);
        this.note = element("p", {className: "quiet flame-note"});
        panel.replaceChildren(...this.bars(), this.note, this.scroller);
        panel.classList.add("fills");
        this.panel = panel;
        this.painter = boxPainter(this.boxCanvas);
        this.boxes = new Boxes();
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.scroller);
        this.scroller.addEventListener("scroll", () => this.draw());
        this.stage.addEventListener("pointerleave", () => this.hover(null));
        this.stage.addEventListener("pointermove", (event) => this.hover(event));
        this.stage.addEventListener("keydown", (event) => this.onKey(event));
        this.stage.addEventListener("click", (event) => this.onClick(event));
        this.isScheduled = false;
    }

    /** What is above the picture. */
    bars() {
        return [optionsBar(this.page, {shapes: true})];
    }

    close() {
        this.controller.abort();
        this.observer.disconnect();
        this.painter.gl?.getExtension("WEBGL_lose_context")?.loseContext();
        this.panel.classList.remove("fills");
        showTooltip([]);
    }

    place(event) {
        const box = this.stage.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top + this.scroller.scrollTop];
    }

    draw() {
        if (this.isScheduled) return;
        this.isScheduled = true;
        requestAnimationFrame(() => {
            this.isScheduled = false;
            if (!this.controller.signal.aborted) this.drawNow();
        });
    }

    /** Prepare both canvases for some rows, and return {pen, width, height, top, scale, colours}. */
    prepare(rows) {
        const width = Math.max(1, this.scroller.clientWidth),
            height = Math.max(1, this.scroller.clientHeight);
        this.spacer.style.height = `${Math.max(rows * HEIGHTS.row + 4, 1)}px`;
        this.stage.style.height = `${height}px`;
        for (const canvas of [this.boxCanvas, this.penCanvas]) {
            canvas.style.width = `${width}px`;
            canvas.style.height = `${height}px`;
        }
        const scale = fit(this.boxCanvas, width, height),
            pen = freshPen(this.penCanvas, width, height);
        const style = getComputedStyle(this.stage);
        pen.font = `${style.fontSize} ${style.fontFamily}`;
        this.boxes.clear();
        return {pen, width, height, top: this.scroller.scrollTop, scale, colours: theme()};
    }
}

/** The graph of a merged tree. */
export class MergedFlame extends Canvases {
    async start() {
        const {values} = this.page.state,
            {signal} = this.controller;
        this.note.textContent = "Counting…";
        const answer = await guard(this.ask(signal));
        if (signal.aborted) return;
        if (!answer) {
            this.note.textContent = "";
            return;
        }
        this.tree = this.treeOf(answer);
        this.zoom = null;
        this.current = null;
        this.note.textContent = this.tree.roots.length
            ? ""
            : "There is no call in this part" +
              (values.focus || values.hide || values.nowait
                  ? " that the options above leave. Clear them, or press Undo."
                  : ". Choose a longer one.");
        if (answer.cut)
            this.note.textContent =
                "The least of the functions are summed up as “(others)”: there are too many.";
        this.stage.dataset.nodes = String(this.tree.nodes.length);
        this.draw();
    }

    ask(signal) {
        const invert = this.page.state.values.shape === "callers" ? "1" : undefined;
        return ask("tree", {...question(this.page), invert}, {signal, onProgress: () => {}});
    }

    treeOf(answer) {
        return treeOf(answer.nodes);
    }

    colourOf(node) {
        return this.trace.colours[node.func];
    }

    labelOf(node) {
        return node.func === -1 ? "(others)" : this.trace.short(node.func);
    }

    isFaint(node) {
        const {matched} = this.page.timeline;
        return matched && !matched[node.func];
    }

    drawNow() {
        if (!this.tree) return;
        const width = Math.max(1, this.scroller.clientWidth);
        this.placed = placeNodes(this.tree, this.zoom, width);
        const rows = this.placed.reduce((most, {level}) => Math.max(most, level + 1), 0);
        const {pen, height, top, scale, colours} = this.prepare(rows);
        const labels = [],
            snap = (x) => Math.round(x * scale) / scale;
        for (const box of this.placed) {
            const y = box.level * HEIGHTS.row + 2 - top;
            if (y < -HEIGHTS.row || y > height) continue;
            const x = snap(box.x),
                right = snap(box.x + box.width),
                wide = Math.max(right - x - (right - x > 3 ? 1 / scale : 0), 1 / scale);
            const isFaint = this.isFaint(box.node);
            this.boxes.add(
                x,
                y,
                wide,
                HEIGHTS.row - 1,
                this.colourOf(box.node) || colours.unknown,
                isFaint ? 56 : box.isAround ? 120 : 255,
            );
            if (wide >= 22)
                labels.push({
                    x,
                    right: x + wide,
                    y,
                    height: HEIGHTS.row - 1,
                    function: box.node,
                    faint: isFaint || box.isAround,
                });
        }
        this.painter.draw(this.boxes, width, height);
        writeLabels(pen, labels, (node) => this.labelOf(node), colours.text, colours.quiet);
        const box = this.placed.find(({node}) => node === (this.hovered || this.current));
        if (box) {
            pen.strokeStyle = colours.select;
            pen.lineWidth = this.hovered ? 1 : 2;
            const {x, level, width: wide} = box,
                y = level * HEIGHTS.row + 2.5 - top;
            pen.strokeRect(x + 0.5, y, Math.max(wide - 1, 2), HEIGHTS.row - 2);
        }
        this.stage.dataset.drawn = String(this.boxes.n);
    }

    boxAt(event) {
        const [x, y] = this.place(event),
            level = Math.floor((y - 2) / HEIGHTS.row);
        return this.placed?.find((box) => box.level === level && x >= box.x && x < box.x + box.width);
    }

    facts(node) {
        const whole = this.tree.total,
            facts = [
                `${duration(node.total)} in total, ${percent(node.total, whole)}`,
                `${duration(node.own)} own, ${percent(node.own, whole)}`,
                counted(node.calls, "call"),
            ];
        if (node.raised) facts.push(`${node.raised.toLocaleString("en-US")} raised`);
        return facts;
    }

    hover(event) {
        const box = event && this.boxAt(event);
        this.hovered = box ? box.node : null;
        showTooltip(
            box
                ? [
                      ["name", this.trace.name(box.node.func)],
                      ...this.facts(box.node).map((text) => ["quiet", text]),
                  ]
                : [],
            event?.clientX,
            event?.clientY,
        );
        this.draw();
    }

    onClick(event) {
        const box = this.boxAt(event);
        if (!box) this.zoomTo(null);
        else {
            this.goTo(box.node);
            if (event.altKey) changes(this.page).hide(this.trace.functions[box.node.func]?.name ?? "");
            else this.zoomTo(box.node === this.zoom ? this.tree.nodes[box.node.parent] || null : box.node);
        }
    }

    zoomTo(node) {
        this.zoom = node;
        this.draw();
    }

    goTo(node) {
        this.current = node;
        tell(`${this.trace.name(node.func)}, ${this.facts(node).join(", ")}`);
        this.draw();
    }

    onKey(event) {
        if (!this.tree?.roots.length || event.ctrlKey || event.metaKey) return;
        const node = this.current,
            parent = node && this.tree.nodes[node.parent];
        const siblings = node ? parent?.children || this.tree.roots : this.tree.roots,
            at = siblings.indexOf(node);
        const next = {
            ArrowDown: () => (node ? node.children[0] : this.tree.roots[0]),
            ArrowUp: () => parent,
            ArrowLeft: () => siblings[at - 1],
            ArrowRight: () => siblings[at + 1],
        }[event.key];
        if (next) {
            event.preventDefault();
            const found = next();
            if (found) this.goTo(found);
        } else if (event.key === "Enter" && node) {
            event.preventDefault();
            this.zoomTo(node);
        } else if (event.key === "Escape" && this.zoom) {
            event.preventDefault();
            this.zoomTo(null);
        } else if (event.key === "h" && node) {
            event.preventDefault();
            changes(this.page).hide(this.trace.functions[node.func]?.name ?? "");
        } else if (event.key === "o" && node) {
            event.preventDefault();
            changes(this.page).focus(this.trace.functions[node.func]?.name ?? "");
        }
    }
}

class TimeOrder extends Canvases {
    async start() {
        const {page, trace} = this,
            {signal} = this.controller,
            {begin, end} = page.range;
        const lane =
            page.state.values.call?.lane ?? [...trace.lanes].sort((a, b) => b.calls - a.calls)[0]?.number;
        if (lane === undefined) return;
        const name = trace.byNumber.get(lane)?.name ?? "";
        this.lane = lane;
        this.range = {begin: Math.max(0, Math.round(begin)), end: Math.round(end)};
        this.note.textContent = `Lane ${name}: choose a call of another lane to see that one.`;
        const width = Math.max(100, this.scroller.clientWidth);
        this.spans = await guard(
            askSpans({trace: trace.number, lane, ...this.range, pixels: width}, {signal}),
        );
        this.draw();
    }

    drawNow() {
        if (!this.spans) return;
        const rows = (this.spans.depths.at(-1)?.depth ?? -1) + 1,
            {pen, width, height, top, scale, colours} = this.prepare(rows);
        const look = {
            colours: this.trace.colours,
            unknown: colours.unknown,
            raise: [200, 16, 46],
            dimmed: this.page.timeline.matched,
            depths: Infinity,
        };
        const labels = layOut(
            this.boxes,
            this.spans,
            {...this.range, width, scale},
            (depth) => ({y: depth * HEIGHTS.row + 2 - top, height: HEIGHTS.row}),
            look,
        );
        this.painter.draw(this.boxes, width, height);
        writeLabels(pen, labels, (number) => this.trace.short(number), colours.text, colours.quiet);
        this.stage.dataset.drawn = String(this.boxes.n);
    }

    rowAt(event) {
        if (!this.spans) return -1;
        const [x, y] = this.place(event),
            {begin, end} = this.range,
            perPixel = (end - begin) / this.scroller.clientWidth;
        return rowAt(this.spans, Math.floor((y - 2) / HEIGHTS.row), begin + x * perPixel, 1.5 * perPixel);
    }

    hover(event) {
        const row = event ? this.rowAt(event) : -1;
        showTooltip(
            row < 0 ? [] : linesAbout({row, spans: this.spans}, this.trace),
            event?.clientX,
            event?.clientY,
        );
    }

    onClick(event) {
        const row = this.rowAt(event),
            {spans} = this;
        if (row >= 0 && spans.ended[row] < 6)
            this.page.go({
                lane: this.lane,
                begin_ns: spans.begin[row],
                end_ns: spans.end[row],
                depth: spans.depth[row],
            });
    }

    onKey() {
        // the calls of a lane are gone through in the time line
    }
}
