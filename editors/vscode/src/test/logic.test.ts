// What the extension runs and shows, without an editor: `npm test`.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import { durationText } from "../durations";
import { exportPage } from "../exportPage";
import { lastCalls, lastText } from "../lastCalls";
import { tracePage } from "../page";
import { testAt } from "../pytestNames";
import { run } from "../run";
import { annotation, functionsByFile } from "../summary";
import { valueLines } from "../values";
import { addressIn, startViewer } from "../viewer";
import {
  exportWords,
  lastWords,
  literal,
  recordFileWords,
  recordTestWords,
  summaryWords,
  tableWords,
  valuesWords,
  viewerWords,
} from "../words";

const SETTINGS = { command: ["python", "-m", "funcgraph"], recordOptions: ["--args"] };

test("each command is one that a person can type", () => {
  const start = ["python", "-m", "funcgraph"];
  assert.deepEqual(viewerWords(SETTINGS, ["a.fg"]), [...start, "view", "--no-browser", "--once", "a.fg"]);
  assert.deepEqual(exportWords(SETTINGS, "-a.fg", "/t/a.html"), [...start, "view", "--export", "/t/a.html", "./-a.fg"]);
  assert.deepEqual(tableWords(SETTINGS, "t.fg").slice(3), ["summary", "-i", "t.fg"]);
  assert.deepEqual(recordFileWords(SETTINGS, "t.fg", "-x.py"), [...start, "record", "--args", "-o", "t.fg", "./-x.py"]);
  assert.deepEqual(recordTestWords(SETTINGS, "t.fg", "t.py::test_a").slice(-3), ["-m", "pytest", "t.py::test_a"]);
  assert.deepEqual(summaryWords(SETTINGS, "t.fg").slice(3), ["summary", "--json", "-i", "t.fg"]);
  assert.deepEqual(lastWords(SETTINGS, "t.fg").slice(3), ["values", "--last", "--json", "-i", "t.fg", "*"]);
  assert.deepEqual(valuesWords(SETTINGS, "t.fg", "m.f").slice(3), ["values", "--json", "-i", "t.fg", "m.f"]);
  assert.throws(() => viewerWords({ command: [], recordOptions: [] }, []), /funcgraph\.command is empty/);
});

test("a name with the characters of patterns is itself", () => {
  assert.equal(literal("m.f.<locals>.g"), "m.f.<locals>.g");
  assert.equal(literal("m.a*b?c[d]"), "m.a[*]b[?]c[[]d]");
});

const ROW = {
  name: "shop.total", file: "/w/shop.py", line: 3, calls: 1, exceptions: 0, total_ns: 1500, self_ns: 500, max_ns: 1500,
};

test("functions are found by their file, instances are added up, C functions left out", () => {
  const other = { ...ROW, calls: 1200, exceptions: 2, total_ns: 2_000_000, self_ns: 1_000_000, max_ns: 9 };
  const c = { ...ROW, file: "", line: 0, name: "builtins.len" };
  const one = functionsByFile(JSON.stringify({ functions: [ROW, c] }));
  assert.deepEqual([...one.keys()], ["/w/shop.py"]);
  const both = functionsByFile(JSON.stringify({ buffers: { "": { functions: [ROW] }, b: { functions: [other] } } }));
  const [row] = both.get("/w/shop.py") ?? [];
  assert.ok(row);
  assert.equal(annotation(row), "1,201 calls · 2.002 ms · 1.000 ms itself · 2 raised");
  assert.equal(annotation(ROW), "1 call · 1.500 us · 500 ns itself");
});

test("durations are those of the tables", () => {
  assert.deepEqual([0, 999, 1000, 1_255_000, 61e9].map(durationText), ["0 ns", "999 ns", "1.000 us", "1.255 ms", "61.000 s"]);
});

test("a hover has the values of each argument", () => {
  const group = { value: "'JPY'", calls: 60, raised: 1, timed: 60, mean_ns: 876678 };
  const others = { value: null, calls: 2, raised: 0, timed: 0, mean_ns: null };
  const json = JSON.stringify({ functions: [{ name: "f", fields: [{ name: "currency", values: [group, others] }] }] });
  const lines = ["currency:", "  'JPY'  (60 calls, mean 876.678 us, 1 raised)"];
  assert.deepEqual(valueLines(json, 1), [...lines, "  and 1 more"]);
  assert.deepEqual(valueLines(json, 2), [...lines, "  others  (2 calls)"]);
});

test("the last call is one line: arguments, and how it ended", () => {
  const call = { name: "f", file: "/f.py", line: 1, arguments: "n=3", result: "4", ended: "return" as const };
  assert.equal(lastText(call), "last: (n=3) = 4");
  assert.equal(lastText({ ...call, result: "" }), "last: (n=3)");
  assert.equal(lastText({ ...call, arguments: "" }), "last: () = 4");
  for (const result of ["", "None"]) {
    assert.equal(lastText({ ...call, arguments: "", result }), "");
  }
  assert.equal(lastText({ ...call, result: "KeyError", ended: "raise" }), "last: (n=3) raised KeyError");
  assert.equal(lastText({ ...call, result: "", ended: "open" }), "last: (n=3) did not end");
  const long = lastText({ ...call, arguments: "é".repeat(99), result: "𝒳".repeat(99) });
  assert.equal(long, `last: (${"é".repeat(79)}…) = ${"𝒳".repeat(39)}…`);
  assert.deepEqual(lastCalls(JSON.stringify({ functions: [call] })), [call]);
});

const TESTS = `import pytest

def helper():
    pass

class TestCart:
    @pytest.mark.slow
    async def test_total(self):
        def inner():
            return 1

        assert inner()

def test_top(
    tmp_path,
):
    assert tmp_path
x = 1
`;

test("the test at the cursor has pytest's name", () => {
  const at = (text: string): string | undefined =>
    testAt("t.py", TESTS, TESTS.split("\n").findIndex((line) => line.includes(text)));
  assert.equal(at("def helper"), undefined);
  assert.equal(at("async def"), "t.py::TestCart::test_total");
  assert.equal(at("assert inner"), "t.py::TestCart::test_total");
  assert.equal(at("return 1"), "t.py::TestCart::test_total");
  assert.equal(at("assert tmp_path"), "t.py::test_top");
  assert.equal(at("def test_top"), "t.py::test_top");
  assert.equal(at("x = 1"), undefined);
});

test("only the server's own line is an address", () => {
  const address = "http://127.0.0.1:40437/?token=zJ1n-_a";
  assert.equal(addressIn(`${address}\n`), address);
  assert.equal(addressIn("http://evil.example/?token=a"), undefined);
  assert.equal(addressIn(`see ${address}`), undefined);
});

test("a viewer that cannot start says why; one that starts has its address", async () => {
  const node = process.execPath;
  await assert.rejects(startViewer([node, "-e", "console.error('no such trace'); process.exit(2)"], "."), /no such trace/);
  await assert.rejects(startViewer(["/nonexistent/funcgraph"], "."), /ENOENT/);
  const code = "console.log('http://127.0.0.1:1/?token=a'); setInterval(() => 0, 1000)";
  const viewer = await startViewer([node, "-e", code], ".");
  assert.equal(viewer.address, "http://127.0.0.1:1/?token=a");
  viewer.process.kill();
});

test("a command that fails says what it said", async () => {
  const node = process.execPath;
  assert.equal(await run([node, "-e", "console.log(1)"], "."), "1\n");
  await assert.rejects(run([node, "-e", "console.error('bad trace'); process.exit(1)"], "."), /^Error: bad trace$/);
});

// With FUNCGRAPH="python -m funcgraph" and FUNCGRAPH_TRACE: the real commands, as tests/test_vscode.py runs them.
const real = process.env["FUNCGRAPH_COMMAND"];
test("the real commands answer", { skip: real === undefined }, async () => {
  const settings = { command: (real ?? "").split(" "), recordOptions: ["-q", "--args", "--retval"] };
  const folder = process.env["FUNCGRAPH_FOLDER"] ?? ".";
  await run(recordFileWords(settings, "trace.fg", "shop.py"), folder);
  const files = functionsByFile(await run(summaryWords(settings, "trace.fg"), folder));
  const rows = [...files.values()].flat();
  const row = rows.find((one) => one.name === "__main__.convert");
  assert.ok(row);
  assert.match(annotation(row), /^240 calls · /);
  const lines = valueLines(await run(valuesWords(settings, "trace.fg", row.name), folder), 2);
  assert.ok(lines.some((line) => line.includes("'JPY'  (60 calls")), lines.join("\n"));
  const last = lastCalls(await run(lastWords(settings, "trace.fg"), folder));
  const convert = last.find((one) => one.name === row.name && one.file === row.file && one.line === row.line);
  assert.ok(convert);
  assert.match(lastText(convert), /^last: \(amount=\d+, currency='[A-Z]+'\) = [\d.]+$/);
  const page = await exportPage(settings, "trace.fg", folder);
  assert.match(page.exported, /<script type="text\/plain"[^>]*id="embedded-trace">/);
  writeFileSync(path.join(folder, "webview.html"), tracePage(page)); // what test_vscode.py shows a browser
  const viewer = await startViewer(viewerWords(settings, ["trace.fg"]), folder);
  assert.match(viewer.address, /^http:\/\/127/);
  viewer.process.kill("SIGINT");
});
