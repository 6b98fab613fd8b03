// Lanes and where they are on the page: groups, order, filter, folds, pins, heights. Pure functions.

const USUAL_TEXT = 13, // pixels: the heights below are for text of this size
    USUAL = {row: 18, thin: 4, head: 10, gap: 6, group: 26};

/** Heights of rows, thin rows, heads of lanes, gaps and groups, in pixels: they follow the size of the text. */
export const HEIGHTS = {...USUAL};

/** Take the size of the page's text in pixels; return whether heights have changed. */
export function takeTextSize(pixels) {
    const before = HEIGHTS.row;
    for (const [name, height] of Object.entries(USUAL))
        HEIGHTS[name] = Math.round((height * pixels) / USUAL_TEXT);
    return HEIGHTS.row !== before;
}

const THIN_ROWS = 5,
    MOST_OPEN = 8; // tasks or CPUs: more of them are folded at first

/** Whether a lane is a part of a thread's lane: a task or a greenlet. */
export const isTask = (lane) => lane.kind === "task" || lane.kind === "greenlet";

const processKey = (lane) => `${lane.pid}:${lane.instance || ""}`;

/** Return the key of the group of a lane: its process, its thread if it is a task, or that of CPUs. */
export const groupKey = (lane) =>
    lane.kind === "cpu" ? `cpu:${lane.instance || ""}` : isTask(lane) ? `tasks:${lane.thread}` : processKey(lane);

/** Whether a group is closed. `keys` has those that are not as usual: many tasks or CPUs are closed at first. */
export const isClosed = (key, number, keys) =>
    keys.includes(key) !== (/^(tasks|cpu):/.test(key) && number > MOST_OPEN);

/** Return the name of a lane. */
export const laneName = (lane) =>
    lane.name || (lane.kind === "cpu" ? `CPU ${lane.number}` : `${lane.kind} ${lane.tid}`);

const ORDERS = {
    calls: (a, b) => b.calls - a.calls || a.number - b.number,
    name: (a, b) => laneName(a).localeCompare(laneName(b)) || a.number - b.number,
    "": (a, b) => (a.kind === "cpu" && b.kind === "cpu" ? a.tid - b.tid : 0) || a.number - b.number,
};

/** Return the groups of lanes in their order: [{key, title, lanes}]. Pinned lanes are one group, on top. */
export function grouped(lanes, {pinned = [], sort = "", filter = ""}) {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (lane) =>
        words.every((word) =>
            `${laneName(lane)} ${lane.process} ${lane.tid} ${lane.pid}`.toLowerCase().includes(word),
        );
    const groups = new Map();
    const put = (key, title, lane) => {
        if (!groups.has(key)) groups.set(key, {key, title, lanes: []});
        groups.get(key).lanes.push(lane);
    };
    const ordered = lanes.filter(fits).sort(ORDERS[sort] || ORDERS[""]);
    for (const lane of ordered.filter((lane) => pinned.includes(lane.number))) put("pinned", "Pinned", lane);
    const names = new Map(lanes.map((lane) => [lane.number, laneName(lane)]));
    for (const lane of ordered.filter((lane) => !pinned.includes(lane.number)))
        put(groupKey(lane), groupTitle(lane, names), lane);
    const found = [...groups.values()];
    if (sort)
        found.sort(
            (a, b) => (b.key === "pinned") - (a.key === "pinned") || ORDERS[sort](a.lanes[0], b.lanes[0]),
        );
    return besideThreads(found.sort((a, b) => isOfCpus(b) - isOfCpus(a)));
}

const isOfCpus = ({key}) => key.startsWith("cpu:");

/** Return groups with those of tasks after the processes of their threads. */
function besideThreads(groups) {
    const tasks = groups.filter(({key}) => key.startsWith("tasks:")),
        others = groups.filter((group) => !tasks.includes(group)),
        of = ({key}) => tasks.filter(({lanes}) => processKey(lanes[0]) === key);
    const placed = others.flatMap((group) => [group, ...of(group)]);
    return [...placed, ...tasks.filter((group) => !placed.includes(group))];
}

/** Return a process in few words, from its name and command line: the program, and its first argument. */
export function processName(command) {
    const words = command
        .split(" ")
        .filter(Boolean)
        .map((word) => word.slice(word.lastIndexOf("/") + 1));
    if (words[1]?.startsWith(words[0])) words.shift(); // the name, and then the program again
    const argument = words.slice(1).find((word) => !word.startsWith("-"));
    return [words[0], argument].filter(Boolean).join(" ") || "process";
}

function groupTitle(lane, names) {
    const instance = lane.instance ? `, instance ${lane.instance}` : "";
    if (lane.kind === "cpu") return `CPUs${instance}`;
    if (isTask(lane)) return `Tasks of ${names.get(lane.thread) ?? "a thread"}`;
    return `${processName(lane.process || lane.name)} ${lane.pid}${instance}`;
}

/** Return how many depths of a lane are shown at first: fewer where many lanes share the page. */
export function usualDepths(lanes) {
    const {length} = lanes.filter((lane) => lane.kind === "thread");
    return length <= 1 ? 40 : length <= 4 ? 20 : 12;
}

/** Return how many depths of a lane are shown as rows. */
export const shownDepths = (lane, {deep = [], usual = 40}) =>
    deep.includes(lane.number) ? Math.max(lane.depths, 1) : Math.min(Math.max(lane.depths, 1), usual);

/** Return the height of a lane. */
export function laneHeight(lane, layout) {
    const isFolded = (layout.folded || []).includes(lane.number),
        rows = isFolded ? THIN_ROWS * HEIGHTS.thin : shownDepths(lane, layout) * HEIGHTS.row;
    return HEIGHTS.head + rows + HEIGHTS.gap;
}

/** Return what is on the page from top to bottom: {items: [{kind, y, height, lane | group}], height}. */
export function placed(lanes, layout) {
    const items = [];
    layout = {usual: usualDepths(lanes), ...layout};
    let y = 0;
    for (const group of grouped(lanes, layout)) {
        items.push({kind: "group", y, height: HEIGHTS.group, group});
        y += HEIGHTS.group;
        if (isClosed(group.key, group.lanes.length, layout.closed || [])) continue;
        for (const lane of group.lanes) {
            const height = laneHeight(lane, layout),
                folded = (layout.folded || []).includes(lane.number);
            items.push({
                kind: "lane",
                y,
                height,
                lane,
                folded,
                depths: folded ? THIN_ROWS : shownDepths(lane, layout),
            });
            y += height;
        }
    }
    return {items, height: y};
}

/** Return the items that can be seen between two heights. */
export const seenItems = (items, top, bottom) =>
    items.filter((item) => item.y < bottom && item.y + item.height > top);

/** Return where a depth of a lane's item begins, and how high it is. */
export function rowOf(item, depth) {
    const height = item.folded ? HEIGHTS.thin : HEIGHTS.row;
    return {y: item.y + HEIGHTS.head + depth * height, height};
}
