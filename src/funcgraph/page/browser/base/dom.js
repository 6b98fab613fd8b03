// Elements of the page: making them, and putting text into them, never markup.

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Whether the page is a part of another one, as in a notebook. */
export const isFramed = globalThis.parent !== globalThis;

/** Make an element. Properties that are no properties of elements become attributes. */
export function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (value === undefined || value === null) continue;
        if (name in made && name !== "role" && name !== "list") made[name] = value;
        else made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}

/** Return a name with places where a line may end: after its dots. */
export const dotted = (name) =>
    name.split(/(?<=\.)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part]));

const SVG = "http://www.w3.org/2000/svg";

/** Make an element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
}

/** Copy text, and say so in the button that was pressed. */
export async function copy(text, button) {
    const before = button.textContent;
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
    } catch {
        button.textContent = "Not allowed: select it";
    }
    setTimeout(() => {
        button.textContent = before;
    }, 1500);
}

/** Return a function that runs another once, a while after the last call of it. */
export function debounced(run, wait) {
    let timer = 0;
    return (...words) => {
        clearTimeout(timer);
        timer = setTimeout(() => run(...words), wait);
    };
}
