// The panel of details: its tabs, and the bar that changes its size.

import {byId, element} from "../base/dom.js";

const LEAST = 90;

/** Make the tabs: [[name, title]]. `onChoose` gets the name. */
export function makeTabs(names, onChoose) {
    const list = byId("tabs");
    list.replaceChildren(
        ...names.map(([name, title], i) =>
            element(
                "button",
                {
                    role: "tab",
                    id: `tab-${name || "call"}`,
                    "aria-controls": "tabpanel",
                    title: i < 9 ? `${title} (${i + 1})` : title,
                    onclick: () => onChoose(name),
                },
                title,
            ),
        ),
    );
    list.addEventListener("keydown", (event) => {
        const by = {ArrowLeft: -1, ArrowRight: 1}[event.key],
            tabs = [...list.children];
        if (!by) return;
        event.preventDefault();
        const next = tabs[(tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length];
        next.focus();
        next.click();
    });
}

/** Mark the chosen tab. */
export function markTab(name) {
    const id = byId(`tab-${name}`) ? `tab-${name}` : "tab-call"; // a link may name a tab that is not here
    for (const tab of byId("tabs").children) {
        const isChosen = tab.id === id;
        tab.setAttribute("aria-selected", String(isChosen));
        tab.tabIndex = isChosen ? 0 : -1;
    }
    byId("tabpanel").setAttribute("aria-labelledby", id);
}

/** Let the bar above the panel change its height. */
export function followSplitter(state) {
    const bar = byId("splitter");
    const set = (height) =>
        state.set({panel: Math.round(Math.min(Math.max(height, LEAST), innerHeight - 200))});
    let from = null;
    bar.addEventListener("pointerdown", (event) => {
        from = {y: event.clientY, height: byId("panel").offsetHeight};
        bar.setPointerCapture(event.pointerId);
    });
    bar.addEventListener("pointermove", (event) => {
        if (from) set(from.height + from.y - event.clientY);
    });
    bar.addEventListener("pointerup", () => {
        from = null;
    });
    bar.addEventListener("keydown", (event) => {
        const by = {ArrowUp: 24, ArrowDown: -24}[event.key];
        if (!by) return;
        event.preventDefault();
        set(byId("panel").offsetHeight + by);
    });
}

/** Give the panel its height. */
export function sizePanel(height) {
    byId("panel").style.height = `min(${height}px, max(${LEAST}px, 100vh - 200px))`; // also of a later window
    const bar = byId("splitter");
    bar.setAttribute("aria-valuemin", String(LEAST));
    bar.setAttribute("aria-valuemax", String(Math.max(LEAST, innerHeight - 200)));
    bar.setAttribute("aria-valuenow", String(height));
}
