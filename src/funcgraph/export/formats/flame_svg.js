// Zoom, search and details of a flame graph. A box's place is in its rect; zooming computes all places anew.
"use strict";
(function () {
    const MARGIN = 10, INNER = 1180, CHARACTER = 6.7;
    const byId = (id) => document.getElementById(id);
    const boxes = Array.from(byId("boxes").children).map((group) => {
        const rect = group.querySelector("rect");
        const lines = group.querySelector("title").textContent.split("\n");
        return {
            group, rect, name: lines[0], details: lines[1], text: group.querySelector("text"),
            x: parseFloat(rect.getAttribute("x")), width: parseFloat(rect.getAttribute("width")) + 0.3,
            y: parseFloat(rect.getAttribute("y")),
        };
    });
    const whole = boxes[0];
    let pattern = "";

    function label(box, width) {
        const room = Math.floor((width - 6) / CHARACTER);
        if (room < 4)
            return "";
        if (box.name.length <= room)
            return box.name;
        const parts = box.name.split(".");
        while (parts.length > 1 && parts.join(".").length > room)
            parts.shift();
        const short = parts.join(".");
        return short.length <= room ? short : short.slice(0, room - 1) + "…";
    }

    function place(box, x, width) {
        box.rect.setAttribute("x", x);
        box.rect.setAttribute("width", Math.max(width - 0.3, 0.1));
        if (!box.text) {
            box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
            box.text.setAttribute("y", box.y + 12);
            box.group.appendChild(box.text);
        }
        box.text.setAttribute("x", x + 3);
        box.text.textContent = label(box, width);
    }

    function zoom(to) {
        const scale = INNER / to.width;
        for (const box of boxes) {
            const inside = box.x >= to.x - 0.01 && box.x + box.width <= to.x + to.width + 0.01;
            const around = box.y > to.y && box.x <= to.x + 0.01 && box.x + box.width >= to.x + to.width - 0.01;
            const shown = around || (inside && box.y <= to.y);
            box.group.classList.toggle("hidden", !shown);
            box.group.classList.toggle("around", around);
            if (around)
                place(box, MARGIN, INNER);
            else if (shown)
                place(box, MARGIN + (box.x - to.x) * scale, box.width * scale);
        }
        byId("reset").classList.toggle("hidden", to === whole);
    }

    // Boxes within found ones are not counted again.
    function search(word) {
        pattern = word.toLowerCase();
        let end = 0, matched = 0;
        const found = boxes.filter((box) => pattern && box.name.toLowerCase().includes(pattern));
        for (const box of boxes)
            box.group.classList.toggle("found", found.includes(box));
        for (const box of found.sort((a, b) => a.x - b.x || b.width - a.width)) {
            if (box.x + box.width <= end + 0.001)
                continue;
            matched += box.width;
            end = box.x + box.width;
        }
        byId("matched").textContent = pattern ? `matched: ${(100 * matched / INNER).toFixed(1)}%` : "";
        byId("search").textContent = pattern ? "Clear search" : "Search";
    }

    function promptForPattern() {
        search(pattern ? "" : prompt("Functions whose names contain:") || "");
    }

    for (const box of boxes) {
        box.group.addEventListener("click", () => zoom(box));
        box.group.addEventListener("mouseenter", () => {
            byId("details").textContent = `${box.name}: ${box.details}`;
        });
    }
    byId("boxes").addEventListener("mouseleave", () => {
        byId("details").textContent = whole.details;
    });
    byId("reset").addEventListener("click", () => zoom(whole));
    byId("search").addEventListener("click", promptForPattern);
    window.addEventListener("keydown", (event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === "f") {
            event.preventDefault();
            promptForPattern();
        } else if (event.key === "Escape") {
            zoom(whole);
        }
    });
})();
