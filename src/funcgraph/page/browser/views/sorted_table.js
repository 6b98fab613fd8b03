// A table of functions that its heads sort, and the button that shows more of it.

import {element} from "../base/dom.js";
import {count} from "../base/times.js";

/**
 * The heads of a table: a click sorts by a column, and again the other way round.
 *
 * `columns` begin with a title and what it says; `show` makes the table again, sorted as it is given.
 */
export function sortableHeads(holder, columns, sorted, show) {
    return columns.map(([title, about], column) => {
        const isSorted = sorted.column === column;
        const sort = () => {
            show({column, down: isSorted ? !sorted.down : column > 0});
            holder.querySelectorAll(".head")[column].focus();
        };
        return element(
            "th",
            {
                scope: "col",
                "aria-sort": isSorted ? (sorted.down ? "descending" : "ascending") : "none",
                title: about,
            },
            element(
                "button",
                {className: "head", onclick: sort},
                title,
                element("span", {"aria-hidden": "true"}, isSorted ? (sorted.down ? " ↓" : " ↑") : ""),
            ),
        );
    });
}

/** Put a table in place of what `holder` has. `lines` are the first of `total` rows; `showMore` shows more. */
export function replaceTable(holder, {className, label, heads, lines, total, showMore}) {
    holder.replaceChildren(
        element(
            "table",
            {className, "aria-label": label},
            element("thead", {}, element("tr", {}, ...heads)),
            element("tbody", {}, ...lines),
        ),
    );
    if (total > lines.length)
        holder.append(element("button", {onclick: showMore}, `Show more of ${count(total)} functions`));
}
