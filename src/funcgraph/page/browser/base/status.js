// One line for what went wrong or is awaited, and what screen readers are told.

import {byId} from "./dom.js";

let timer = 0;

/** Say something for a while. */
export function show(text, kind = "") {
    const line = byId("status");
    clearTimeout(timer);
    line.textContent = text;
    line.className = kind;
    if (text && !kind.includes("stays"))
        timer = setTimeout(() => {
            line.textContent = "";
        }, 6000);
}

/** Say what went wrong. */
export const showError = (error) => show(error?.message || String(error), "bad");

/** Wait for an answer; null if there was an error, which is said. */
export async function guard(answer) {
    try {
        return await answer;
    } catch (error) {
        if (error?.name !== "AbortError") showError(error);
        return null;
    }
}

/** Tell a screen reader. */
export function tell(text) {
    byId("live").textContent = text;
}
