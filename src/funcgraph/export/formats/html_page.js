"use strict";
(function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    const {paths, functions, edges, hasTimes} = data;
    const CALLS = 3, RESUMES = 4, EXCEPTIONS = 5, TOTAL = 6, SELF = 7; // of a function
    const LEVEL = 20, ROWS = 200;
    const byId = (id) => document.getElementById(id);
    const count = (n) => n.toLocaleString("en-US");

    function time(ns) {
        for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
            if (ns >= size)
                return `${(ns / size).toFixed(ns / size < 10 ? 2 : 1)} ${unit}`;
        return `${ns} ns`;
    }

    function element(tag, className, ...children) {
        const made = document.createElement(tag);
        made.className = className;
        made.append(...children);
        return made;
    }

    // ---- the tree: callees of each path, the widest first; path -1 is the whole

    const nrPaths = paths.parent.length;
    const callees = Array.from({length: nrPaths}, () => []);
    const roots = [];
    for (let i = 0; i < nrPaths; i++)
        (paths.parent[i] < 0 ? roots : callees[paths.parent[i]]).push(i);
    const byWeight = (a, b) => paths.weight[b] - paths.weight[a] || a - b;
    callees.forEach((list) => list.sort(byWeight));
    const tops = data.roots.length > 1 || data.roots[0]?.[0] ? roots.sort(byWeight) : callees[roots[0]] || [];
    const whole = tops.reduce((sum, i) => sum + paths.weight[i], 0);
    const weightOf = (i) => i < 0 ? whole : paths.weight[i];
    const isRoot = (i) => i < 0 || paths.parent[i] < 0;
    const nameOf = (i) => i < 0 ? "all" : isRoot(i) ? data.roots[paths.func[i]][0] : functions[paths.func[i]][0];
    const colorOf = (i) => isRoot(i) ? "#d8d2c6" : functions[paths.func[i]][1];
    const parentOf = (i) => tops.includes(i) ? -1 : paths.parent[i];
    const callsText = (n) => `${count(n)} call${n === 1 ? "" : "s"}`;
    const amount = (n) => hasTimes ? time(n) : callsText(n);
    const percent = (n) => whole ? `${(100 * n / whole).toFixed(1)}%` : "";

    // ---- the flame graph

    const holder = byId("flame"), canvas = holder.querySelector("canvas"), pen = canvas.getContext("2d");
    let zoomed = -1, flipped = false, boxes = [], hovered = null, needle = "", chosen = -1, dimText = "";

    function around(i) {
        const list = [];
        for (let at = i; at >= 0; at = parentOf(at))
            list.unshift(at);
        return [-1, ...list];
    }

    function layOut() {
        const width = holder.clientWidth, chain = around(zoomed);
        boxes = chain.map((path, level) => ({path, level, x: 0, width, isAround: path !== zoomed}));
        const scale = width / (weightOf(zoomed) || 1);
        const stack = [[zoomed < 0 ? tops : callees[zoomed], chain.length, 0]];
        while (stack.length) {
            let [list, level, x] = stack.pop();
            for (const path of list) {
                const wide = paths.weight[path] * scale;
                if (wide < 0.5)
                    break;
                boxes.push({path, level, x, width: wide, isAround: false});
                stack.push([callees[path], level + 1, x]);
                x += wide;
            }
        }
    }

    const isFound = (path) => needle && !isRoot(path) && nameOf(path).toLowerCase().includes(needle);

    function fitting(name, room) {
        if (name.length <= room)
            return name;
        const parts = name.split(".");
        while (parts.length > 1 && parts.join(".").length > room)
            parts.shift();
        const short = parts.join(".");
        return short.length <= room ? short : room >= 4 ? short.slice(0, room - 1) + "…" : "";
    }

    function drawBox(box, y) {
        const isChosen = chosen >= 0 && !isRoot(box.path) && paths.func[box.path] === chosen;
        const isDim = box.isAround || needle && !isFound(box.path);
        pen.globalAlpha = isDim ? 0.35 : 1;
        pen.fillStyle = isFound(box.path) ? "#b566ff" : colorOf(box.path);
        pen.beginPath();
        pen.roundRect(box.x + 0.5, y, Math.max(box.width - 1, 0.5), LEVEL - 1.5, Math.min(2.5, box.width / 3));
        pen.fill();
        pen.globalAlpha = 1;
        if (isChosen || box === hovered) {
            pen.strokeStyle = isChosen ? "#b4480f" : "#1f2328";
            pen.lineWidth = 1.5;
            pen.stroke();
        }
        const text = box.width > 30 ? fitting(nameOf(box.path), Math.floor((box.width - 10) / 6.65)) : "";
        if (text) {
            pen.fillStyle = isDim ? dimText : isFound(box.path) ? "#ffffff" : "#2a1c0c";
            pen.fillText(text, box.x + 5, y + LEVEL / 2);
        }
    }

    function draw() {
        const levels = 1 + Math.max(...boxes.map((box) => box.level)), ratio = window.devicePixelRatio || 1;
        const width = holder.clientWidth, height = Math.min(levels * LEVEL + 12, 30000);
        canvas.width = width * ratio;
        canvas.height = height * ratio;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
        pen.scale(ratio, ratio);
        const style = getComputedStyle(document.documentElement);
        pen.font = `11px ${style.getPropertyValue("--mono")}`;
        dimText = style.getPropertyValue("--quiet");
        pen.textBaseline = "middle";
        for (const box of boxes) {
            box.y = 6 + (flipped ? levels - 1 - box.level : box.level) * LEVEL;
            drawBox(box, box.y);
        }
    }

    function boxAt(event) {
        const area = canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
        return boxes.find((box) => y >= box.y && y < box.y + LEVEL && x >= box.x && x < box.x + box.width) || null;
    }

    function showCrumbs() {
        const list = around(zoomed).slice(1).map((path) => {
            const crumb = element("bdi", "", nameOf(path));
            crumb.onclick = () => zoom(path);
            return crumb;
        });
        // From right to left, so that the end is what stays visible.
        byId("crumbs").replaceChildren(...list.reverse().flatMap((crumb, n) => n ? [" ‹ ", crumb] : [crumb]));
    }

    function zoom(path) {
        zoomed = path;
        hovered = null;
        showCrumbs();
        layOut();
        draw();
        if (flipped)
            holder.scrollTop = holder.scrollHeight;
    }

    function showTip(event) {
        const tip = byId("tip"), path = hovered.path;
        const lines = [element("b", "", nameOf(path)), `${amount(weightOf(path))} · ${percent(weightOf(path))} of all`];
        if (!isRoot(path)) {
            const resumes = paths.resumes[path] ? ` · ${count(paths.resumes[path])} resumes` : "";
            const self = hasTimes ? `self ${time(paths.self[path])} · ` : "";
            lines.push(element("br"), `${self}${callsText(paths.calls[path])}${resumes}`);
            if (functions[paths.func[path]][2])
                lines.push(element("br"), element("span", "", functions[paths.func[path]][2]));
        }
        tip.replaceChildren(...lines);
        tip.hidden = false;
        tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
        const below = event.clientY + 18;
        tip.style.top = `${below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below}px`;
    }

    canvas.onmousemove = (event) => {
        const before = hovered;
        hovered = boxAt(event);
        if (hovered !== before)
            draw();
        if (hovered)
            showTip(event);
        else
            byId("tip").hidden = true;
    };
    canvas.onmouseleave = () => {
        hovered = null;
        byId("tip").hidden = true;
        draw();
    };
    canvas.onclick = (event) => {
        const box = boxAt(event);
        if (!box)
            return;
        if (!isRoot(box.path))
            choose(paths.func[box.path]);
        zoom(box.path);
    };

    // ---- the table

    const columns = [
        ["Function", (f) => f[0], 1],
        ["Calls", (f) => f[CALLS], -1, (f) => count(f[CALLS])],
        ["Resumes", (f) => f[RESUMES], -1, (f) => count(f[RESUMES])],
        ["Exceptions", (f) => f[EXCEPTIONS], -1, (f) => count(f[EXCEPTIONS])],
        ["Self", (f) => f[SELF], -1, (f) => time(f[SELF]), (f) => f[SELF]],
        ["Total", (f) => f[TOTAL], -1, (f) => time(f[TOTAL]), (f) => f[TOTAL]],
    ].filter(([title, value]) => title === "Function" || functions.some((f) => f.length > CALLS && value(f)));
    let sorted = columns.findIndex(([title]) => title === (hasTimes ? "Self" : "Calls"));
    let direction = -1, rowsShown = ROWS;
    const called = functions.map((f, number) => number).filter((number) => functions[number].length > CALLS);

    function nameCell(number) {
        const swatch = element("i", "swatch"), cell = element("td", "name", swatch, functions[number][0]);
        swatch.style.background = functions[number][1];
        cell.title = functions[number][0];
        return cell;
    }

    function shareCell(text, share) {
        const cell = element("td", "share", text);
        cell.style.setProperty("--share", `${Math.min(100, 100 * share).toFixed(1)}%`);
        return cell;
    }

    function row(number) {
        const f = functions[number], made = element("tr", number === chosen ? "chosen" : "");
        for (const [title, , , text, share] of columns) {
            if (title === "Function")
                made.append(nameCell(number));
            else
                made.append(share ? shareCell(text(f), whole ? share(f) / whole : 0) : element("td", "", text(f)));
        }
        made.onclick = () => choose(number);
        return made;
    }

    function showHead() {
        const cells = columns.map(([title, , first], n) => {
            const cell = element("th", n === sorted ? "sorted" : "", title + (n !== sorted ? "" : direction < 0 ? " ↓" : " ↑"));
            cell.onclick = () => {
                direction = n === sorted ? -direction : first;
                sorted = n;
                showTable();
            };
            return cell;
        });
        document.querySelector("#functions thead").replaceChildren(element("tr", "", ...cells));
    }

    function showTable() {
        const value = columns[sorted][1];
        const list = called.filter((number) => functions[number][0].toLowerCase().includes(needle));
        list.sort((a, b) => {
            const x = value(functions[a]), y = value(functions[b]);
            return (x < y ? -1 : x > y ? 1 : 0) * direction || a - b;
        });
        showHead();
        const rows = list.slice(0, rowsShown).map(row);
        if (list.length > rowsShown) {
            const more = element("tr", "more", element("td", "", `Show ${count(list.length - rowsShown)} more`));
            more.firstChild.colSpan = columns.length;
            more.onclick = () => {
                rowsShown = list.length;
                showTable();
            };
            rows.push(more);
        }
        document.querySelector("#functions tbody").replaceChildren(...rows);
        byId("count").textContent = needle ? `${count(list.length)} of ${count(called.length)}` : count(called.length);
    }

    // ---- one function, with its callers and callees

    function neighbours(title, list, other) {
        if (!list.length)
            return [];
        const most = Math.max(...list.map((edge) => edge[4]), 1);
        const rows = list.sort((a, b) => b[4] - a[4] || b[2] - a[2]).slice(0, 12).map((edge) => {
            const number = edge[other];
            const name = number < 0 ? element("td", "name", "(no traced caller)") : nameCell(number);
            const made = element("tr", "", name, element("td", "", callsText(edge[2])));
            if (hasTimes)
                made.append(shareCell(time(edge[4]), edge[4] / most));
            if (number >= 0)
                made.onclick = () => choose(number);
            return made;
        });
        const more = list.length > 12 ? ` (12 of ${count(list.length)})` : "";
        return [element("h4", "", title + more), element("table", "", element("tbody", "", ...rows))];
    }

    function choose(number) {
        chosen = number;
        const f = functions[number];
        const figures = [["Calls", count(f[CALLS])], ["Resumes", f[RESUMES] && count(f[RESUMES])]];
        figures.push(["Exceptions", f[EXCEPTIONS] && count(f[EXCEPTIONS])]);
        if (hasTimes)
            figures.push(["Total", `${time(f[TOTAL])} (${percent(f[TOTAL])})`], ["Self", `${time(f[SELF])} (${percent(f[SELF])})`]);
        const list = figures.filter(([, value]) => value).map(([name, value]) =>
            element("div", "", element("dt", "", name), element("dd", "", value)));
        byId("chosen").replaceChildren(
            element("h3", "", f[0]), element("div", "place", f[2]), element("dl", "", ...list),
            ...neighbours("Called by", edges.filter((edge) => edge[1] === number), 0),
            ...neighbours("Calls", edges.filter((edge) => edge[0] === number), 1));
        showTable();
        draw();
    }

    // ---- search, and all the rest

    function search(word) {
        needle = word.trim().toLowerCase();
        rowsShown = ROWS;
        let matched = 0;
        const stack = [...tops];
        while (stack.length) {
            const path = stack.pop();
            if (isFound(path))
                matched += paths.weight[path]; // with all below it
            else
                stack.push(...callees[path]);
        }
        byId("matched").textContent = needle ? `matched ${percent(matched)}` : "";
        showTable();
        draw();
    }

    function showFacts() {
        const facts = [[hasTimes && time(whole), "in calls"],
            [count(called.reduce((sum, number) => sum + functions[number][CALLS], 0)), "calls"],
            [count(called.length), "functions"], [count(data.tasks), data.tasks === 1 ? "thread" : "threads"]];
        const texts = facts.filter(([value]) => value).flatMap(([value, text], n) =>
            [n ? " · " : "", element("b", "", value), ` ${text}`]);
        if (data.lost)
            texts.push(element("span", "lost", ` · ${count(data.lost)} records were lost`));
        if (data.leftOut)
            texts.push(` · without the ${count(data.leftOut)} narrowest paths`);
        byId("title").textContent = data.title;
        document.title = `${data.title} - funcgraph`;
        byId("facts").replaceChildren(...texts);
    }

    byId("search").oninput = (event) => search(event.target.value);
    byId("reset").onclick = () => zoom(-1);
    byId("flip").onclick = () => {
        flipped = !flipped;
        zoom(zoomed);
    };
    addEventListener("resize", () => zoom(zoomed));
    addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== byId("search")) {
            event.preventDefault();
            byId("search").focus();
        } else if (event.key === "Escape") {
            zoom(-1);
        }
    });
    showFacts();
    zoom(-1);
    if (called.length)
        choose(called.reduce((a, b) => functions[b][hasTimes ? SELF : CALLS] > functions[a][hasTimes ? SELF : CALLS] ? b : a));
})();
