// The keys of the page: one table, of which the help is made.

/** Groups of keys: [title, [[keys, what they do, action]]]. Keys are as in `event.key`, after Shift+. */
export const KEYS = [
    [
        "Time",
        [
            [["w", "+", "="], "zoom in", "zoomIn"],
            [["s", "-"], "zoom out", "zoomOut"],
            [["a", "ArrowLeft"], "earlier", "earlier"],
            [["d", "ArrowRight"], "later", "later"],
            [["ArrowUp"], "scroll up", "up"],
            [["ArrowDown"], "scroll down", "down"],
            [["0", "Home"], "the whole trace", "whole"],
            [["f"], "zoom to the chosen call, or the selected range", "fit"],
        ],
    ],
    [
        "Calls",
        [
            [["Enter"], "choose the call in the middle", "middle"],
            [["Shift+ArrowUp"], "its caller", "caller"],
            [["Shift+ArrowDown"], "its first callee", "callee"],
            [["Shift+ArrowLeft"], "the call before it on its level", "before"],
            [["Shift+ArrowRight"], "the call after it on its level", "after"],
            [["["], "previous call of the same function", "previousCall"],
            [["]"], "next call of the same function", "nextCall"],
            [["r"], "select the range of the chosen call", "range"],
            [["Escape"], "give up the range, then the call", "away"],
        ],
    ],
    [
        "Search and views",
        [
            [["/"], "search", "search"],
            [["n"], "next hit", "nextHit"],
            [["Shift+N"], "previous hit", "previousHit"],
            [["1", "2", "3", "4", "5", "6", "7", "8", "9"], "views of the details", "tab"],
            [["u"], "undo: go back to the view before", "undo"],
            [["?"], "this help", "help"],
        ],
    ],
];

const ACTIONS = new Map(
    KEYS.flatMap(([, rows]) => rows.flatMap(([keys, , action]) => keys.map((key) => [key, action]))),
);

/** Return what a key does; undefined: nothing. */
export function actionOf(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    const {key} = event,
        name = event.shiftKey && (key.startsWith("Arrow") || key === "N") ? `Shift+${key}` : key;
    return ACTIONS.get(name) ?? (event.shiftKey ? undefined : ACTIONS.get(name.toLowerCase()));
}

/** Have actions done by keys. In fields they write; what has keys of its own keeps them. */
export function followKeys(actions) {
    document.addEventListener("keydown", (event) => {
        const {target} = event,
            isField = target.closest("input, select, textarea, dialog");
        if (event.defaultPrevented || (isField && !(event.key === "Escape" && target.matches("input, textarea"))))
            return;
        const action = actionOf(event);
        const isArrow = event.key.startsWith("Arrow") || event.key === "Home",
            isEnter = event.key === "Enter" || event.key === " ";
        if (isEnter && !target.closest("#stage")) return;
        if (isArrow && target.closest("#panel, #splitter")) return;
        if (!action || !actions[action]) return;
        event.preventDefault();
        actions[action](event);
    });
}
