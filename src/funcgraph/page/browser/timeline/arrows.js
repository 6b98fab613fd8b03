// Arrows between calls of the time line.

const HEAD = 6;

/** Draw a curve with a head from one point to another. */
export function drawArrow(pen, from, to, colour) {
    const bend = Math.max(24, Math.abs(to.x - from.x) / 3);
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    pen.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x - HEAD, to.y);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(to.x, to.y);
    pen.lineTo(to.x - HEAD, to.y - HEAD / 2);
    pen.lineTo(to.x - HEAD, to.y + HEAD / 2);
    pen.fill();
}
