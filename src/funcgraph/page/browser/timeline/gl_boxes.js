// Boxes by WebGL2: one instance of a square for each.

const VERTEX = `#version 300 es
uniform vec2 size;
in vec4 at;
in vec4 colour;
out vec4 shade;
void main() {
    vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
    vec2 place = (at.xy + corner * at.zw) / size;
    gl_Position = vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0);
    shade = vec4(colour.rgb * colour.a, colour.a);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shade;
out vec4 result;
void main() { result = shade; }`;

function shader(gl, kind, source) {
    const made = gl.createShader(kind);
    gl.shaderSource(made, source);
    gl.compileShader(made);
    if (!gl.getShaderParameter(made, gl.COMPILE_STATUS))
        throw new Error(gl.getShaderInfoLog(made) || "no shader");
    return made;
}

function program(gl) {
    const made = gl.createProgram();
    gl.attachShader(made, shader(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(made, shader(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.bindAttribLocation(made, 0, "at");
    gl.bindAttribLocation(made, 1, "colour");
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS))
        throw new Error(gl.getProgramInfoLog(made) || "no program");
    return made;
}

/** Draws boxes on a canvas. */
export class GlBoxes {
    name = "webgl2";

    /** Throws if there is no WebGL2. */
    constructor(canvas) {
        const gl = canvas.getContext("webgl2", {alpha: true, antialias: false, premultipliedAlpha: true});
        if (!gl) throw new Error("no WebGL2");
        this.canvas = canvas;
        this.gl = gl;
        this.prepare();
        canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
        canvas.addEventListener("webglcontextrestored", () => {
            this.prepare();
            canvas.dispatchEvent(new CustomEvent("redraw"));
        });
    }

    prepare() {
        const gl = this.gl;
        this.program = program(gl);
        this.size = gl.getUniformLocation(this.program, "size");
        this.vertices = gl.createVertexArray();
        gl.bindVertexArray(this.vertices);
        this.places = this.attribute(0, gl.FLOAT, false);
        this.colours = this.attribute(1, gl.UNSIGNED_BYTE, true);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    attribute(number, type, normalised) {
        const gl = this.gl,
            buffer = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(number);
        gl.vertexAttribPointer(number, 4, type, normalised, 0, 0);
        gl.vertexAttribDivisor(number, 1);
        return buffer;
    }

    /** Draw all boxes: `width` and `height` are those of the canvas in the boxes' pixels. */
    draw(boxes, width, height) {
        const gl = this.gl;
        gl.viewport(0, 0, this.canvas.width, this.canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT);
        if (boxes.n === 0) return;
        gl.useProgram(this.program);
        gl.bindVertexArray(this.vertices);
        gl.uniform2f(this.size, width, height);
        gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
        gl.bufferData(gl.ARRAY_BUFFER, boxes.at.subarray(0, 4 * boxes.n), gl.STREAM_DRAW);
        gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
        gl.bufferData(gl.ARRAY_BUFFER, boxes.colour.subarray(0, 4 * boxes.n), gl.STREAM_DRAW);
        gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, boxes.n);
    }
}
