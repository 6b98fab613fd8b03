// The test around a line of a Python file, by pytest's node id.

const DEFINITION = /^(\s*)(?:async\s+)?(def|class)\s+([A-Za-z_]\w*)/;

/**
 * The node id of the test at a line, as `tests/test_shop.py::TestCart::test_total`.
 *
 * @param path the file, as pytest is to find it.
 * @param text the file's text.
 * @param line the line's number, from 0.
 * @returns undefined: the line is in no test.
 */
export function testAt(path: string, text: string, line: number): string | undefined {
  const lines = text.split(/\r?\n/);
  const names: string[] = [];
  let indent = Infinity;
  let found = false;
  for (let at = Math.min(line, lines.length - 1); at >= 0 && indent > 0; at--) {
    const match = DEFINITION.exec(lines[at] ?? "");
    if (match === null) {
      const own = /^(\s*)\S/.exec(lines[at] ?? "");
      if (own !== null && names.length === 0 && indent === Infinity && !/^\s*(?:@|#|\)|\])/.test(lines[at] ?? "")) {
        indent = (own[1] ?? "").length; // only what is indented less is around it
        if (indent === 0) {
          return undefined; // code of the module
        }
      }
      continue;
    }
    const [, spaces = "", kind, name = ""] = match;
    if (spaces.length >= indent) {
      continue;
    }
    indent = spaces.length;
    if (kind === "def") {
      names.length = 0; // a function inside of a test is no test
      found = name.startsWith("test");
    }
    names.unshift(name);
  }
  return found ? [path, ...names].join("::") : undefined;
}
