// Mouse, wheel, touch on the time line: moving, zooming, choosing, selecting a range.

import {byId, isFramed} from "../base/dom.js";
import {linesAbout, showTooltip} from "./tooltip.js";
import {clamped, moved, zoomed} from "./window.js";

const SLOP = 4,
    SNAP = 6,
    ZOOM = 0.0022;

/** Make the time line follow the pointer. `choose` gets a place of it, `onRange` a range or null. */
export function followPointer(timeline, {choose, onRange, showPlace}) {
    followStage(timeline, {choose, onRange, showPlace});
    followAxis(timeline, onRange);
    followMinimap(timeline);
    for (const id of ["stage", "axis", "minimap"])
        byId(id).addEventListener("wheel", (event) => onWheel(event, timeline, id), {passive: false});
}

function onWheel(event, timeline, id) {
    if (!timeline.trace) return;
    const scroll = byId("scroll"),
        canScroll = scroll.scrollHeight > scroll.clientHeight + 1,
        {whole} = timeline.trace;
    const [dx, dy] = [event.deltaX, event.deltaY].map(
        (delta) => delta * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1),
    );
    const pans = event.shiftKey || Math.abs(dx) > Math.abs(dy);
    const isPlain = !pans && !event.ctrlKey && !event.metaKey;
    if (isPlain && isFramed) return; // the browser scrolls the lanes, and at their end the page around the frame
    if (isPlain && canScroll && id === "stage") {
        scroll.scrollTop += dy;
        event.preventDefault();
        return;
    }
    event.preventDefault();
    if (pans) {
        timeline.show(moved(timeline.view, (dx || dy) / timeline.width, whole));
        return;
    }
    const box = byId(id).getBoundingClientRect();
    const around =
        id === "minimap"
            ? (timeline.view.begin + timeline.view.end) / 2
            : timeline.timeAt(event.clientX - box.left);
    const speed = event.ctrlKey && Math.abs(dy) < 40 ? 4 : 1; // a pinch on a touchpad comes in small steps
    timeline.show(zoomed(timeline.view, Math.exp(dy * ZOOM * speed), around, whole));
}

const placeIn = (event, id) => {
    const box = byId(id).getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
};

/** Return a time, or the begin or end of a call near it. */
function snapped(timeline, x, y) {
    const place = timeline.at(x, y);
    if (place && place.row >= 0 && !place.isCell)
        for (const time of [place.begin, place.end])
            if (Math.abs(timeline.xOf(time) - x) <= SNAP) return time;
    return timeline.timeAt(x);
}

function rangeOf(timeline, one, other) {
    const {begin, end} = timeline.trace.whole,
        cut = (time) => Math.round(Math.min(Math.max(time, begin), end));
    const [from, to] = [cut(one), cut(other)].sort((a, b) => a - b);
    return to > from ? {begin: from, end: to} : null;
}

function followStage(timeline, {choose, onRange, showPlace}) {
    const stage = byId("stage"),
        touches = new Map();
    let drag = null,
        pinch = null;
    stage.addEventListener("pointerdown", (event) => {
        if (event.button !== 0 || !timeline.trace) return;
        const [x, y] = placeIn(event, "stage");
        touches.set(event.pointerId, [x, y]);
        stage.setPointerCapture(event.pointerId);
        pinch = touches.size === 2 ? {view: timeline.view, ...spread([...touches.values()])} : null;
        drag =
            touches.size > 1
                ? null
                : {
                      x,
                      y,
                      view: timeline.view,
                      scrollTop: byId("scroll").scrollTop,
                      isRange: event.shiftKey,
                      isMoved: false,
                      from: event.shiftKey ? snapped(timeline, x, y) : 0,
                  };
    });
    stage.addEventListener("pointermove", (event) => {
        if (!timeline.trace) return;
        const [x, y] = placeIn(event, "stage");
        if (touches.has(event.pointerId)) touches.set(event.pointerId, [x, y]);
        if (pinch && touches.size === 2) return onPinch(timeline, pinch, spread([...touches.values()]));
        timeline.pointer = x;
        if (!drag) {
            hover(timeline, timeline.at(x, y), event);
            return;
        }
        if (!drag.isMoved && Math.hypot(x - drag.x, y - drag.y) < SLOP) return;
        drag.isMoved = true;
        showTooltip([]);
        if (drag.isRange) onRange(rangeOf(timeline, drag.from, snapped(timeline, x, y)), false);
        else {
            byId("scroll").scrollTop = drag.scrollTop - (y - drag.y);
            timeline.show(moved(drag.view, (drag.x - x) / timeline.width, timeline.trace.whole));
        }
    });
    const end = (event) => {
        touches.delete(event.pointerId);
        if (event.type === "pointerup" && drag && !drag.isMoved) choose(timeline.at(drag.x, drag.y));
        if (drag?.isMoved && drag.isRange) onRange(timeline.state.values.range, true);
        if (touches.size < 2) pinch = null;
        drag = null;
    };
    stage.addEventListener("pointerup", end);
    stage.addEventListener("pointercancel", end);
    stage.addEventListener("pointerleave", () => {
        timeline.pointer = null;
        hover(timeline, null, null);
    });
    stage.addEventListener("dblclick", (event) => showPlace(timeline.at(...placeIn(event, "stage"))));
}

function hover(timeline, place, event) {
    timeline.hover = place && place.row >= 0 ? place : null;
    byId("stage").classList.toggle("over", Boolean(timeline.hover));
    showTooltip(place ? linesAbout(place, timeline.trace) : [], event?.clientX, event?.clientY);
    timeline.draw();
}

const spread = ([[x0, y0], [x1, y1]]) => ({
    middle: (x0 + x1) / 2,
    apart: Math.max(20, Math.hypot(x1 - x0, y1 - y0)),
});

function onPinch(timeline, pinch, {middle, apart}) {
    const length = pinch.view.end - pinch.view.begin,
        {width} = timeline,
        {whole} = timeline.trace;
    const around = pinch.view.begin + (pinch.middle / width) * length;
    const view = zoomed(pinch.view, pinch.apart / apart, around, whole);
    timeline.show(moved(view, (pinch.middle - middle) / width, whole));
}

function followAxis(timeline, onRange) {
    const axis = byId("axis");
    let from = null,
        start = 0;
    axis.addEventListener("pointerdown", (event) => {
        start = placeIn(event, "axis")[0];
        from = timeline.timeAt(start);
        axis.setPointerCapture(event.pointerId);
    });
    axis.addEventListener("pointermove", (event) => {
        const [x] = placeIn(event, "axis");
        timeline.pointer = x;
        if (from !== null && Math.abs(x - start) >= SLOP)
            onRange(rangeOf(timeline, from, timeline.timeAt(x)), false);
        timeline.draw();
    });
    axis.addEventListener("pointerup", (event) => {
        const isClick = Math.abs(placeIn(event, "axis")[0] - start) < SLOP;
        from = null;
        onRange(isClick ? null : timeline.state.values.range, true);
    });
    axis.addEventListener("pointerleave", () => {
        timeline.pointer = null;
        timeline.draw();
    });
}

function followMinimap(timeline) {
    const map = byId("minimap");
    let hold = null;
    const timeAt = (event) => {
        const {begin, end} = timeline.trace.whole;
        return begin + (placeIn(event, "minimap")[0] / map.clientWidth) * (end - begin);
    };
    const go = (event) => {
        const {begin, end} = timeline.view,
            time = timeAt(event);
        const from = time - hold;
        timeline.show(clamped({begin: from, end: from + end - begin}, timeline.trace.whole));
    };
    map.addEventListener("pointerdown", (event) => {
        const {begin, end} = timeline.view,
            time = timeAt(event);
        hold = time >= begin && time <= end ? time - begin : (end - begin) / 2;
        map.setPointerCapture(event.pointerId);
        go(event);
    });
    map.addEventListener("pointermove", (event) => {
        if (hold !== null) go(event);
    });
    map.addEventListener("pointerup", () => {
        hold = null;
    });
    map.addEventListener("pointercancel", () => {
        hold = null;
    });
}
