// A trace as the page knows it: its lanes and functions, with their colours.

import {ask} from "./api.js";
import {THEMES, colourOf} from "./colours.js";
import {shortName, visible} from "./names.js";

export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
export const theme = () => THEMES[isDark() ? "dark" : "light"];

/** Whether a trace's single calls are there. A page may have figures of all calls alone. */
export const hasTimeLine = (info) => info?.time_line !== false;

/** A trace, with what is asked for once. */
export class Trace {
    constructor(info, lanes, functions) {
        this.info = info;
        this.number = info.number;
        this.version = info.version;
        this.lanes = lanes;
        this.functions = functions;
        const last = lanes.reduce((most, lane) => Math.max(most, lane.end_ns), 0);
        this.whole = {begin: info.first_ns, end: Math.max(info.duration_ns, last, 1)};
        this.byNumber = new Map(lanes.map((lane) => [lane.number, lane]));
        this.shorts = functions.map((func) => shortName(func.name, func.module));
        this.colour();
    }

    /** Make the colours, for the system's light or dark choice. */
    colour() {
        const dark = isDark();
        this.colours = this.functions.map((func) => colourOf(func, dark));
    }

    /** Return the number of a lane, or of the thread's lane that it is a part of; undefined: a CPU has many. */
    threadOf(number) {
        const lane = this.byNumber.get(number);
        return lane?.kind === "cpu" ? undefined : (lane?.thread ?? number);
    }

    /** The short name of a function, for boxes. */
    short(number) {
        return this.shorts[number] ?? "(unknown)";
    }

    /** The full name of a function. */
    name(number, most = 300) {
        const func = this.functions[number];
        return func ? visible(func.name, most) : number === -1 ? "(others)" : "(unknown function)";
    }

    /** Return the numbers of the functions whose names have a text. */
    matching(text) {
        const word = text.toLowerCase(),
            found = new Set();
        this.functions.forEach((func, number) => {
            if (func.name.toLowerCase().includes(word)) found.add(number);
        });
        return found;
    }
}

/** Ask for all of a trace that is needed before a picture. */
export async function loadTrace(info, onProgress) {
    const options = {onProgress},
        question = {trace: info.number};
    const [{lanes}, {functions}] = await Promise.all([
        ask("lanes", question, options),
        ask("functions", question, options),
    ]);
    return new Trace(info, lanes, functions);
}
