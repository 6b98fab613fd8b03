// Boxes by WebGL2: all of them in one call of the driver.
//
// Boxes are the texels of two textures, and the vertices of a box find theirs by their number. Instances of a
// square would be simpler, but SwiftShader, which draws where there is no GPU, makes a draw call of each instance.

/** Texels of a row of a texture: what every WebGL2 allows. */
const ACROSS = 2048;
/** Vertices of two triangles, of the four of a box. */
const CORNERS = [0, 1, 2, 2, 1, 3];

const VERTEX = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform vec2 size;
uniform sampler2D places;
uniform sampler2D colours;
out vec4 shade;
void main() {
    int box = gl_VertexID >> 2;
    ivec2 texel = ivec2(box % ${ACROSS}, box / ${ACROSS});
    vec4 at = texelFetch(places, texel, 0), colour = texelFetch(colours, texel, 0);
    vec2 corner = vec2(float(gl_VertexID & 1), float((gl_VertexID >> 1) & 1));
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
    return made; // whether that worked, the program says: each look waits for the driver
}

function program(gl) {
    const made = gl.createProgram();
    gl.attachShader(made, shader(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(made, shader(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS))
        throw new Error(gl.getProgramInfoLog(made) || "no program");
    return made;
}

/** A texture with a texel for each box. */
class Texels {
    constructor(gl, unit, format, type) {
        Object.assign(this, {gl, unit, format, type, rows: 0});
        this.texture = gl.createTexture();
        this.bind();
        for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
            gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    }

    bind() {
        this.gl.activeTexture(this.gl.TEXTURE0 + this.unit);
        this.gl.bindTexture(this.gl.TEXTURE_2D, this.texture);
    }

    /** Take the numbers of `n` boxes. The array has whole rows. */
    put(numbers, n) {
        const {gl} = this,
            rows = Math.ceil(n / ACROSS);
        this.bind();
        if (rows > this.rows) {
            this.rows = 2 * rows;
            gl.texImage2D(gl.TEXTURE_2D, 0, this.format, ACROSS, this.rows, 0, gl.RGBA, this.type, null);
        }
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, ACROSS, rows, gl.RGBA, this.type, numbers);
    }
}

/** Draws boxes on a canvas. */
export class GlBoxes {
    name = "webgl2";

    /** Throws if there is no WebGL2. */
    constructor(canvas) {
        const gl = canvas.getContext("webgl2", {
            alpha: true,
            antialias: false,
            depth: false,
            premultipliedAlpha: true,
        });
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
        gl.useProgram(this.program);
        this.size = gl.getUniformLocation(this.program, "size");
        ["places", "colours"].forEach((name, unit) =>
            gl.uniform1i(gl.getUniformLocation(this.program, name), unit),
        );
        this.places = new Texels(gl, 0, gl.RGBA32F, gl.FLOAT);
        this.colours = new Texels(gl, 1, gl.RGBA, gl.UNSIGNED_BYTE);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
        this.capacity = 0;
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    /** Have the vertices' numbers for so many boxes. */
    reserve(n) {
        if (n <= this.capacity) return;
        this.capacity = 2 * n;
        const numbers = new Uint32Array(CORNERS.length * this.capacity);
        for (let box = 0, i = 0; box < this.capacity; box++)
            for (const corner of CORNERS) numbers[i++] = 4 * box + corner;
        this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, numbers, this.gl.STATIC_DRAW);
    }

    /** Draw all boxes: `width` and `height` are those of the canvas in the boxes' pixels. */
    draw(boxes, width, height) {
        const gl = this.gl;
        gl.viewport(0, 0, this.canvas.width, this.canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT);
        if (boxes.n === 0) return;
        gl.uniform2f(this.size, width, height);
        this.reserve(boxes.n);
        this.places.put(boxes.at, boxes.n);
        this.colours.put(boxes.colour, boxes.n);
        gl.drawElements(gl.TRIANGLES, CORNERS.length * boxes.n, gl.UNSIGNED_INT, 0);
    }
}
