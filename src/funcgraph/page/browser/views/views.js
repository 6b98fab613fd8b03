// The views of the panel beside that of a call, in the order of their tabs.

import {ANSWERS} from "./answer_views.js";
import {butterflyView} from "./butterfly.js";
import {differenceView, pairOf} from "./difference.js";
import {flameView} from "./flame.js";
import {tableView} from "./table.js";
import {textView} from "./text_view.js";
import {treeView} from "./tree_view.js";
import {hasTimeLine} from "../base/trace.js";

/** [[name, title, make]]: `make` fills a panel for the page, and returns {close}. */
const FIGURES = [
    ["flame", "Flame graph", flameView],
    ["table", "Table", tableView],
    ["tree", "Call tree", treeView],
    ["butterfly", "Butterfly", butterflyView],
];

/** Return the views of a server's traces: with the difference, if one of them is compared with another. */
export const viewsOf = (traces) =>
    traces.every(hasTimeLine)
        ? [
              ...FIGURES,
              ["text", "Text", textView],
              ...(pairOf(traces) ? [["diff", "Difference", differenceView]] : []),
              ...ANSWERS,
          ]
        : FIGURES;
