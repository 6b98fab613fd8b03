// The histogram of a function's durations, with one call marked: at most 64 bars, so a small drawing by hand.
//
// uPlot was looked at: it draws on a canvas, which a screen reader cannot read, and is 50 KB for a few bars.

import {element, svg} from "../base/dom.js";
import {count, counted, duration} from "../base/times.js";

const WIDTH = 340,
    HEIGHT = 96,
    FOOT = 18;

/** Return the bins with those that are empty between them: [{least, most, count}]. */
export function filledBins(bins) {
    if (!bins.length) return [];
    const known = new Map(bins),
        found = [],
        last = bins[bins.length - 1][0];
    for (let least = bins[0][0]; least <= last; least = least ? least * 2 : 1)
        found.push({least, most: least ? least * 2 : 1, count: known.get(least) || 0});
    return found;
}

/** Return the index of the bin of a duration. */
export const binOf = (bins, ns) => bins.findIndex(({least, most}) => ns >= least && ns < most);

/**
 * Return the histogram as an element.
 *
 * @param took the duration of the call to mark; null: none.
 * @param onLeast is called with the least duration of a bar that was chosen.
 */
export function histogram(sparse, took, onLeast) {
    const bins = filledBins(sparse),
        most = Math.max(1, ...bins.map((bin) => bin.count)),
        marked = took === null ? -1 : binOf(bins, took);
    if (!bins.length)
        return element("p", {className: "quiet"}, "No call of it both begins and ends in this trace.");
    const each = WIDTH / bins.length,
        high = (number) =>
            number ? Math.max(3, (Math.log1p(number) / Math.log1p(most)) * (HEIGHT - FOOT - 8)) : 0;
    const bars = bins.map((bin, i) => {
        const height = high(bin.count),
            text = `${counted(bin.count, "call")} of ${duration(bin.least)} to ${duration(bin.most)}`;
        const bar = svg(
            "g",
            {
                class: i === marked ? "bar marked" : "bar",
                role: "button",
                tabindex: bin.count ? "0" : "-1",
                "aria-label": `${text}${i === marked ? ", with this call" : ""}: list the longer ones`,
            },
            svg("title", {}, text),
            svg("rect", {class: "ground", x: i * each, y: 0, width: each, height: HEIGHT - FOOT}),
            svg("rect", {
                x: i * each + 0.75,
                y: HEIGHT - FOOT - height,
                width: Math.max(each - 1.5, 1),
                height,
                rx: 1.5,
            }),
        );
        if (bin.count) {
            bar.addEventListener("click", () => onLeast(bin.least));
            bar.addEventListener("keydown", (event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                onLeast(bin.least);
            });
        }
        return bar;
    });
    const step = Math.max(1, Math.ceil(58 / each)),
        ends = bins.map((bin, i) => [bin, i]).filter(([, i]) => i % step === 0);
    const texts = ends.map(([bin, i]) =>
        svg("text", {x: Math.min(i * each, WIDTH - 44), y: HEIGHT - 4}, duration(bin.least)),
    );
    const total = bins.reduce((sum, bin) => sum + bin.count, 0);
    const drawing = svg(
        "svg",
        {
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            role: "group",
            class: "histogram",
            "aria-label": `How long ${count(total)} calls took; heights are logarithmic`,
        },
        svg("line", {x1: 0, x2: WIDTH, y1: HEIGHT - FOOT + 0.5, y2: HEIGHT - FOOT + 0.5}),
        ...bars,
        ...texts,
    );
    return drawing;
}
