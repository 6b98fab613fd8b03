// Questions to the server: asked with the token, again while an index is made; and errors, as sentences.

import {decodeSpans} from "./spans.js";

const token = new URLSearchParams(location.search).get("token") || "";

/** What the server said instead of an answer. */
export class ServerError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

const pause = (ms, signal) =>
    new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
        });
    });

/** Questions whose requests have a body: the parameter that it is, as it may be long. */
const BODIES = {expect: "text"};

async function request(name, question, {signal, onProgress} = {}) {
    const words = new URLSearchParams(),
        long = BODIES[name];
    for (const [key, value] of Object.entries(question))
        if (key !== long && value !== undefined && value !== null && value !== "" && value !== false)
            words.set(key, value === true ? "1" : String(value));
    for (;;) {
        let response;
        try {
            response = await fetch(`/api/${name}?${words}`, {
                ...(long ? {method: "POST", body: question[long]} : {}),
                headers: {Authorization: `Bearer ${token}`},
                signal,
                cache: "no-store",
            });
        } catch (error) {
            if (signal?.aborted) throw error;
            throw new ServerError(0, "The server does not answer: funcgraph view has ended. Start it again.");
        }
        if (response.ok) return response;
        const body = await response.json().catch(() => ({}));
        if (response.status !== 503)
            throw new ServerError(response.status, body.error || refusal(response.status));
        onProgress?.(body.progress ?? 0);
        await pause(200, signal);
    }
}

const refusal = (status) =>
    status === 403
        ? "The link's token is not this server's. Open the link that funcgraph view printed."
        : `The server answered with status ${status}.`;

let waiting = 0;

/** Tell tests and styles whether answers are awaited. */
async function counted(answer) {
    document.body.dataset.waiting = String(++waiting);
    try {
        return await answer;
    } finally {
        if (--waiting) document.body.dataset.waiting = String(waiting);
        else delete document.body.dataset.waiting;
    }
}

/** Ask, and return the answer. */
export const ask = (name, question = {}, options = {}) =>
    counted(request(name, question, options).then((response) => response.json()));

/** Ask for the spans of a part of a lane. */
export const askSpans = (question, options = {}) =>
    counted(request("spans", question, options).then((response) => response.arrayBuffer())).then(decodeSpans);

/** Follow what the server tells of its traces. By this the server also knows that the page is open. */
export async function followEvents(onTraces) {
    for (;;) {
        try {
            const response = await fetch("/api/events", {
                headers: {Authorization: `Bearer ${token}`},
                cache: "no-store",
            });
            if (!response.ok) return;
            await readEvents(response.body, onTraces);
        } catch {
            // the server has ended, or is not reached: what is asked next says so
        }
        await pause(3000);
    }
}

async function readEvents(body, onTraces) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const {value, done} = await reader.read();
        if (done) return;
        text += value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
            const data = text.slice(0, end).match(/^event: traces\ndata: (.*)$/s);
            text = text.slice(end + 2);
            if (data) onTraces(JSON.parse(data[1]));
        }
    }
}
