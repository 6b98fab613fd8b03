// The panels of answers, in the order of their tabs; an exported page has none of them in their place.

import {exceptionsView} from "./exceptions.js";
import {expectView} from "./expect.js";
import {repeatsView} from "./repeats.js";
import {valuesView} from "./values.js";
import {whyView} from "./why.js";

/** [[name, title, make]], as in views.js. */
export const ANSWERS = [
    ["why", "Why", whyView],
    ["values", "Values", valuesView],
    ["repeat", "Repeats", repeatsView],
    ["exceptions", "Exceptions", exceptionsView],
    ["expect", "Expect", expectView],
];
