// The extension itself, run with a small `vscode` and a command that answers as funcgraph does: `npm test`.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, beforeEach, test } from "node:test";

import { activated, command, fileUri, state, textBeside, textEditor } from "./fakeVscode";

const folder = mkdtempSync(path.join(tmpdir(), "funcgraph-"));
const source = path.join(folder, "test_shop.py");
const trace = path.join(folder, "trace.fg");
const deactivate = activated();

/** What stands in for funcgraph: `record` writes a trace if FAKE has a text for it, and ends with FAKE's status. */
const FUNCGRAPH = `
const fs = require("node:fs");
const words = process.argv.slice(2);
const fake = JSON.parse(fs.readFileSync("fake.json", "utf8"));
fs.appendFileSync("words.txt", JSON.stringify(words) + "\\n");
if (words[0] === "record") {
  if (fake.written !== undefined) {
    fs.writeFileSync("trace.fg", fake.written);
  }
  process.exit(fake.status);
}
if (words[0] === "view" && words[1] === "--export") {
  if (fake.page === undefined) {
    console.error("funcgraph: error: too large for a page");
    process.exit(2);
  }
  fs.writeFileSync(words[2], fake.page);
  console.error("funcgraph: " + words[2] + ": 3 threads left out\\nfuncgraph: " + words[2] + ": 1.0 KiB");
} else if (words[0] === "view") {
  console.log("http://127.0.0.1:1/?token=a");
  setInterval(() => 0, 1000);
}
const trace = words[words.indexOf("-i") + 1];
if (words[0] === "summary" && !words.includes("--json")) {
  console.log("CALLS  FUNCTION");
} else if (words[0] === "summary") {
  const calls = Number(fs.readFileSync(trace, "utf8"));
  const row = { name: "test_shop.test_total", file: ${JSON.stringify(source)}, line: 1, calls, exceptions: 0 };
  console.log(JSON.stringify({ functions: [{ ...row, total_ns: 1500, self_ns: 500, max_ns: 1500 }] }));
} else if (words.includes("--last")) {
  const call = { name: "test_shop.test_total", file: ${JSON.stringify(source)}, line: 1, arguments: "n=3" };
  console.log(JSON.stringify({ functions: [{ ...call, result: "None", ended: "return" }] }));
} else if (words[0] === "values") {
  const group = { value: "'a'", calls: 5, raised: 0, timed: 5, mean_ns: 7 };
  const fields = [{ name: words.at(-1), values: [group, group] }];
  console.log(JSON.stringify({ functions: [{ name: "test_shop.test_total", fields }] }));
}
`;

function fake(answers: { status?: number; written?: string; page?: string }): void {
  writeFileSync(path.join(folder, "fake.json"), JSON.stringify(answers));
}

/** The command lines that were run. */
function lines(): string[][] {
  const text = readFileSync(path.join(folder, "words.txt"), "utf8");
  return text.trimEnd().split("\n").map((line) => JSON.parse(line) as string[]);
}

/** The panel of the trace, opened as the editor does. */
async function opened(): Promise<any> {
  let send: (message: unknown) => Promise<void> = async () => undefined;
  const webview = { html: "", options: {}, onDidReceiveMessage: (listener: typeof send) => (send = listener) };
  const panel = { webview, onDidDispose: () => undefined, send: (message: unknown) => send(message) };
  const provider = state.customEditors.get("funcgraph.trace");
  await provider.resolveCustomEditor(provider.openCustomDocument(fileUri(trace)), panel);
  return panel;
}

beforeEach(() => {
  rmSync(trace, { force: true });
  rmSync(path.join(folder, "words.txt"), { force: true });
  writeFileSync(path.join(folder, "funcgraph.js"), FUNCGRAPH);
  writeFileSync(source, "def test_total():\n    assert 1\n");
  const settings = { command: [process.execPath, path.join(folder, "funcgraph.js")], recordOptions: ["--args"] };
  Object.assign(state, { settings, folder, editors: [textEditor(source, 1)], errors: [], warnings: [], opened: [] });
});

after(() => {
  deactivate();
  rmSync(folder, { recursive: true });
});

test("each command of the manifest has an action, and each action a command", () => {
  const manifest = JSON.parse(readFileSync(path.join(__dirname, "..", "..", "package.json"), "utf8"));
  const names: string[] = manifest.contributes.commands.map((one: { command: string }) => one.command);
  assert.deepEqual(names.sort(), [...state.commands.keys()].sort());
  const types: string[] = manifest.contributes.customEditors.map((one: { viewType: string }) => one.viewType);
  assert.deepEqual(types, [...state.customEditors.keys()]);
});

test("the test at the cursor is recorded, and its calls are shown", async () => {
  fake({ status: 0, written: "1" });
  await command("recordTest");
  assert.deepEqual(lines()[0], ["record", "--args", "-o", "trace.fg", "-m", "pytest", `${source}::test_total`]);
  assert.deepEqual(textBeside(state.editors[0]), {
    1: "1 call · 1.500 us · 500 ns itself · last: (n=3) = None",
  });
  assert.deepEqual([state.errors, state.warnings], [[], []]);
  await command("hideCalls");
  assert.deepEqual(textBeside(state.editors[0]), {});
});

test("a trace file opens in the viewer's page", async () => {
  writeFileSync(trace, "5");
  fake({ page: "<!doctype html><p>the viewer" });
  const panel = await opened();
  const html = panel.webview.html as string;
  assert.match(html, /srcdoc="&#60;!doctype html&#62;&#60;p&#62;the viewer"/);
  assert.match(html, /<pre>3 threads left out<\/pre>/);
  const [words] = lines();
  assert.deepEqual([words?.slice(0, 2), words?.[3]], [["view", "--export"], trace]);
  assert.ok(words?.[2] && !existsSync(path.dirname(words[2])), "the page's own folder is left");
  await panel.send("show");
  assert.match(textBeside(state.editors[0])[1] ?? "", /^5 calls/);
  await panel.send("rm -rf");
  assert.deepEqual([state.errors, state.opened], [[], []]);
});

test("a trace without a page has its summary, why, and the way to the browser", async () => {
  writeFileSync(trace, "5");
  fake({});
  const panel = await opened();
  assert.match(panel.webview.html, /<pre>funcgraph: error: too large for a page\n\nCALLS  FUNCTION\n<\/pre>/);
  assert.ok(!panel.webview.html.includes("<iframe"));
  await panel.send("view");
  await command("openViewer", fileUri(trace));
  assert.deepEqual(state.opened, ["http://127.0.0.1:1/?token=a", "http://127.0.0.1:1/?token=a"]);
  assert.equal(lines().filter(([verb, option]) => verb === "view" && option === "--no-browser").length, 1);
});

test("a hover has the values of the function at the line, as no markup", async () => {
  writeFileSync(trace, "5");
  await command("showCalls", fileUri(trace));
  const hover = (line: number): Promise<any> => state.hovers[0].provideHover(state.editors[0].document, { line });
  assert.equal(await hover(1), undefined);
  state.settings["values"] = 1;
  const shown = (await hover(0)).contents.value;
  assert.match(shown, /^test_shop.test_total: 5 calls.*\ntest_shop.test_total:\n  'a'  \(5 calls, mean 7 ns\)\n  and 1 more/);
  state.settings["values"] = 0;
  assert.equal(await hover(0), undefined);
});

test("a trace that is hidden while it is read does not come back", async () => {
  writeFileSync(trace, "5");
  const showing = command("showCalls", fileUri(trace));
  await new Promise(setImmediate); // it runs the command by now
  await command("hideCalls");
  await showing;
  assert.deepEqual(textBeside(state.editors[0]), {});
});

test("a test that fails has a trace: it is shown, and the status said", async () => {
  fake({ status: 1, written: "12" });
  await command("recordTest");
  assert.match(textBeside(state.editors[0])[1] ?? "", /^12 calls/);
  assert.deepEqual(state.errors, []);
  assert.match(state.warnings.join(), /status 1/);
});

test("a recording that failed shows no older trace", async () => {
  for (const status of [0, 2]) {
    writeFileSync(trace, "7");
    fake({ status });
    await command("recordFile");
    assert.deepEqual(textBeside(state.editors[0]), {});
    assert.match(state.errors.join(), new RegExp(`nothing was recorded.*status ${status}`));
    assert.ok(!lines().some(([verb]) => verb === "summary"));
    state.errors = [];
  }
});

test("a recording that failed takes the calls of an older trace away", async () => {
  writeFileSync(trace, "7");
  await command("showCalls", fileUri(trace));
  assert.match(textBeside(state.editors[0])[1] ?? "", /^7 calls/);
  fake({ status: 2 });
  await command("recordFile");
  assert.deepEqual(textBeside(state.editors[0]), {});
});

test("a command that is not there is an error", async () => {
  writeFileSync(trace, "7");
  state.settings["command"] = ["/nonexistent/funcgraph"];
  await command("recordFile");
  assert.match(state.errors.join(), /nothing was recorded.*no status/);
});

test("the cursor outside of a test, and no file, are errors", async () => {
  writeFileSync(source, "x = 1\n");
  state.editors = [textEditor(source)];
  await command("recordTest");
  state.editors = [];
  await command("recordFile");
  await command("openViewer");
  assert.deepEqual(state.errors, [
    "the cursor is in no test",
    "open a Python file first",
    "there is no trace (*.fg) in this workspace: record one first",
  ]);
});
