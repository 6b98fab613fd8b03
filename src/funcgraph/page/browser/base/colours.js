// Colours of functions: the hue by the module, the same in each trace and session. Pure functions.

const HUES = 23; // a prime: neighbours in the hash are not neighbours in colour

/** Return a number of 32 bits that depends on each character of a text (FNV-1a). */
export function hash(text) {
    let value = 0x811c9dc5;
    for (let i = 0; i < Math.min(text.length, 500); i++)
        value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
    return (value ^ (value >>> 15)) >>> 0;
}

/** Return [red, green, blue] of 0 to 255 of a colour of OKLCH: equal lightness looks equally light. */
export function oklch(lightness, chroma, hue) {
    const a = chroma * Math.cos((hue * Math.PI) / 180),
        b = chroma * Math.sin((hue * Math.PI) / 180);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    return linear.map((part) => {
        const cut = Math.min(1, Math.max(0, part));
        return Math.round(255 * (cut <= 0.0031308 ? 12.92 * cut : 1.055 * cut ** (1 / 2.4) - 0.055));
    });
}

/** Return the contrast of two colours, as WCAG has it: 1 to 21. */
export function contrast(one, other) {
    const light = (rgb) =>
        rgb
            .map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
            .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}

/** Return the module of a function that colours it: the first two parts of its name. */
export const colourKey = (func) => func.object || (func.module || func.name).split(".").slice(0, 2).join(".");

/** Return the colour of a function. Native functions and C functions are greyer than Python's. */
export function colourOf(func, dark) {
    const key = hash(colourKey(func)),
        shade = (hash(func.name) % 5) - 2;
    const hue = ((key % HUES) * 360) / HUES + 12;
    const chroma = func.native || func.c ? 0.022 : 0.085 + ((key >>> 8) % 3) * 0.012;
    const lightness = (dark ? 0.45 : 0.83) + shade * 0.012 - (func.native ? (dark ? 0.06 : 0.05) : 0);
    return oklch(lightness, chroma, hue);
}

/**
 * Return the colour of a change from one time to another: blue is faster, orange slower, the more so up to a
 * factor of four. Both kinds of colour blindness of red and green keep them apart.
 */
export function changeColour(before, after, dark) {
    const change = before && after ? Math.log2(after / before) / 2 : Math.sign(after - before);
    const size = Math.min(Math.abs(change), 1);
    return oklch(dark ? 0.36 + 0.1 * size : 0.9 - 0.14 * size, 0.008 + 0.125 * size, change < 0 ? 235 : 50);
}

export const THEMES = {
    light: {
        back: "#ffffff",
        text: "#1b1f24",
        quiet: "#5a626c",
        line: "#e7e2d9",
        strong: "#c9c2b5",
        group: "#f6f3ed",
        accent: "#b4480f",
        raise: "#c8102e",
        loss: "#8a4fc9",
        wait: "#0b6e8a",
        mark: "#1f6fd0",
        event: "#1c7d3f",
        select: "#101418",
        dim: "rgba(255,255,255,0.72)",
        shade: "rgba(180,72,15,0.10)",
        unknown: [205, 200, 190],
    },
    dark: {
        back: "#1a1c21",
        text: "#f3f0ea",
        quiet: "#a3a9b2",
        line: "#2b2f36",
        strong: "#4a505a",
        group: "#212429",
        accent: "#ff9d5c",
        raise: "#ff5d6c",
        loss: "#c79bff",
        wait: "#58c4e0",
        mark: "#7db2ff",
        event: "#6fd08c",
        select: "#ffffff",
        dim: "rgba(26,28,33,0.72)",
        shade: "rgba(255,157,92,0.14)",
        unknown: [80, 78, 74],
    },
};
