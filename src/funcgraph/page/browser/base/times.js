// Times and counts as text, and the steps of a time axis. Pure functions.

const UNITS = [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
    ["ns", 1],
];

/** Return a duration with three digits: 12.3 ms. */
export function duration(ns) {
    if (ns >= 48 * 3600e9) return `${Math.floor(ns / 86400e9)} d ${Math.floor((ns % 86400e9) / 3600e9)} h`;
    if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${Math.floor((ns % 3600e9) / 60e9)} min`;
    if (ns >= 120e9) return `${Math.floor(ns / 60e9)} min ${Math.floor((ns % 60e9) / 1e9)} s`;
    for (const [unit, size] of UNITS) {
        const value = ns / size;
        if (value >= 0.9995 || size === 1) {
            const digits = size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
            return `${value.toFixed(digits)} ${unit}`;
        }
    }
    return "0 ns";
}

/** Return a duration to the nanosecond: 12.345678 ms. */
export function exact(ns) {
    const [unit, size] = UNITS.find(([, least]) => ns >= least) || UNITS[3];
    const digits = Math.round(Math.log10(size));
    return `${group((ns / size).toFixed(digits))} ${unit}`;
}

/** Return digits in groups of three before and behind the point. */
function group(number) {
    const [whole, rest] = number.split(".");
    const before = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return rest ? `${before}.${rest.replace(/(\d{3})(?=\d)/g, "$1\u202f")}` : before;
}

/** Return a count: 1,234. */
export const count = (number) => number.toLocaleString("en-US");

/** Return a count with its noun: 1 call, 2 calls. */
export const counted = (number, noun, many = `${noun}s`) => `${count(number)} ${number === 1 ? noun : many}`;

/** Return a part of a whole: 12.3%. */
export const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)}%` : "");

/** Return the step of an axis: 1, 2 or 5 times a power of ten of ns; later of minutes, hours, days. */
export function axisStep(nsPerPixel, pixels) {
    const least = nsPerPixel * pixels;
    if (least > 5e9) {
        const seconds = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
        const found = seconds.find((step) => step * 1e9 >= least);
        return found ? found * 1e9 : Math.ceil(least / 86400e9) * 86400e9;
    }
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least);
}

/** Return the text of a tick: only as exact as the step needs. */
export function tick(ns, step) {
    if (step >= 10e9) {
        const s = Math.round(ns / 1e9),
            two = (n) => String(n).padStart(2, "0");
        const clock = `${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
        if (s < 3600) return clock;
        const days = Math.floor(s / 86400),
            hours = Math.floor((s % 86400) / 3600);
        if (step % 86400e9 === 0) return `${days} d`;
        return `${days ? `${days} d ` : ""}${hours}:${clock}`;
    }
    if (ns === 0) return "0";
    const [unit, size] = UNITS.find(([, least]) => Math.abs(ns) >= least) || UNITS[3];
    const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    return `${group((ns / size).toFixed(digits))} ${unit}`;
}
