// Names and values as people may safely see them: they come from the traced program, and can hold anything.

const HIDDEN =
    /[\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\p{Surrogate}/gu;

/** Return a character that cannot be seen as one that can: control pictures, and <U+202E>. */
function seen(character) {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Return at most so many characters of a text, with nothing hidden and nothing that changes direction. */
export function visible(text, most = 300) {
    const cut = text.length > most ? text.slice(0, most) : text;
    const shown = cut.replace(HIDDEN, seen);
    return cut === text ? shown : `${shown}…`;
}

/** Return the part of a function's name that says most in little room: without its module and `<locals>`. */
export function shortName(name, module) {
    let short = module && name.startsWith(`${module}.`) ? name.slice(module.length + 1) : name;
    short = short.replaceAll("<locals>.", "");
    return visible(short || name, 200);
}

/** Return the last part of a file's path. */
export const fileName = (path) => visible(path.slice(path.lastIndexOf("/") + 1));
