// Marks of a lane: exceptions, events, messages, losses, waits, calls that were not traced.

import {freshPen} from "./painter.js";
import {count} from "../base/times.js";

const SIZE = 7,
    ROOM = 10; // of a mark's picture

/** What the marks mean, for people. */
export const MARKS = {
    raise: ["Exception", "a call ended by an exception"],
    event: ["Event", "an event that the program or its user defined"],
    mark: ["Message", "a message of the program"],
    loss: ["Lost records", "records were lost just before"],
    wait: ["Wait", "the thread waited for the recorder"],
    overrun: ["Not traced", "calls were not traced: too many levels"],
};

/** Draw a mark: each kind has its own shape and colour. */
export function drawMark(pen, kind, x, y, colours) {
    const half = SIZE / 2;
    pen.fillStyle = colours[kind === "overrun" ? "loss" : kind] || colours.quiet;
    pen.beginPath();
    if (kind === "raise") {
        pen.moveTo(x - half, y);
        pen.lineTo(x + half, y);
        pen.lineTo(x, y + SIZE);
    } else if (kind === "event" || kind === "mark") {
        pen.moveTo(x, y);
        pen.lineTo(x + half, y + half);
        pen.lineTo(x, y + SIZE);
        pen.lineTo(x - half, y + half);
    } else if (kind === "wait") {
        pen.arc(x, y + half, half, 0, 7);
    } else {
        pen.rect(x - half, y + 1, SIZE, SIZE - 1);
    }
    pen.fill();
}

const pictures = new Map(); // of marks that were drawn before

function pictureOf(kind, colours, scale) {
    const key = [kind, colours[kind], colours.loss, colours.quiet, scale].join();
    let picture = pictures.get(key);
    if (!picture) {
        picture = document.createElement("canvas");
        drawMark(freshPen(picture, ROOM, ROOM), kind, ROOM / 2, 1, colours);
        pictures.set(key, picture);
    }
    return picture;
}

/** Draw a mark as `drawMark` does, at a whole pixel: a picture costs a tenth of a shape without a GPU. */
export function stampMark(pen, kind, x, y, colours) {
    const scale = globalThis.devicePixelRatio || 1,
        left = Math.round((x - ROOM / 2) * scale) / scale,
        top = Math.round((y - 1) * scale) / scale;
    pen.drawImage(pictureOf(kind, colours, scale), left, top, ROOM, ROOM);
}

/** Return the mark nearest to a time, within some ns. */
export function markAt(marks, time, within) {
    let found = null;
    for (const mark of marks)
        if (Math.abs(mark.time_ns - time) <= (found ? Math.abs(found.time_ns - time) : within)) found = mark;
    return found;
}

/** Return the text of a mark. */
export function markText(mark, trace) {
    const [title, meaning] = MARKS[mark.kind] || [mark.kind, ""];
    const where =
        mark.kind !== "raise" || !trace.functions[mark.function] ? "" : ` of ${trace.name(mark.function)}`;
    const many =
        mark.count > 1 ? `${count(mark.count)} ${mark.kind === "loss" ? "records" : "close together"}: ` : "";
    return [`${title}${where}`, `${many}${meaning}`];
}
