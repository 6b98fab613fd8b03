// Boxes by a 2D canvas: the same picture as by WebGL2, for browsers that have none.

/** Draws boxes on a canvas. */
export class CanvasBoxes {
    name = "2d";

    constructor(canvas) {
        this.canvas = canvas;
        this.pen = canvas.getContext("2d");
    }

    /** Draw all boxes: `width` and `height` are those of the canvas in the boxes' pixels. */
    draw(boxes, width, height) {
        const {pen, canvas} = this;
        pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
        pen.clearRect(0, 0, width, height);
        let latest = -1;
        for (let i = 0; i < 4 * boxes.n; i += 4) {
            const [red, green, blue, alpha] = boxes.colour.subarray(i, i + 4);
            const packed = ((red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0;
            if (packed !== latest) pen.fillStyle = `rgba(${red},${green},${blue},${alpha / 255})`;
            latest = packed;
            pen.fillRect(boxes.at[i], boxes.at[i + 1], boxes.at[i + 2], boxes.at[i + 3]);
        }
    }
}
