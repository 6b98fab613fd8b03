// Where the page keeps the steps of what it shows, each as the fragment of an address: Back returns to the one
// before.

import {byId, isFramed} from "./dom.js";

/** In the browser's history, with the fragment in the address. */
class AddressSteps {
    get current() {
        return location.hash;
    }

    push(fragment) {
        history.pushState(null, "", fragment);
    }

    replace(fragment) {
        history.replaceState(null, "", fragment);
    }

    back() {
        history.back();
    }

    /** Have a function called after each step back. */
    onBack(run) {
        globalThis.addEventListener("popstate", run);
    }
}

/** Here: address and history are those of the page around the frame. The browser refuses changes of them. */
class FrameSteps {
    constructor() {
        this.fragments = [location.hash];
        this.run = () => {};
    }

    get current() {
        return this.fragments.at(-1);
    }

    push(fragment) {
        this.fragments.push(fragment);
    }

    replace(fragment) {
        this.fragments[this.fragments.length - 1] = fragment;
    }

    back() {
        if (this.fragments.length === 1) return;
        this.fragments.pop();
        this.run();
    }

    onBack(run) {
        this.run = run;
    }
}

export const keptSteps = () => (isFramed ? new FrameSteps() : new AddressSteps());

/** Return the fragment of what the page shows first; "": its maker said nothing. */
export const firstFragment = () => byId("embedded-trace")?.dataset.first ?? "";
