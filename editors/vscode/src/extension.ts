// The part that knows VS Code: commands, the text beside functions, hovers, and the page of a trace file.

import * as path from "node:path";
import * as vscode from "vscode";

import { exportPage } from "./exportPage";
import { LastCall, lastCalls, lastText } from "./lastCalls";
import { tracePage } from "./page";
import { testAt } from "./pytestNames";
import { run } from "./run";
import { annotation, FunctionSummary, functionsByFile } from "./summary";
import { versionOf } from "./traceFile";
import { valueLines } from "./values";
import { startViewer, Viewer } from "./viewer";
import {
  lastWords,
  recordFileWords,
  recordTestWords,
  Settings,
  summaryWords,
  tableWords,
  valuesWords,
  viewerWords,
  Words,
} from "./words";

const TRACE = "trace.fg";

function settings(): Settings & { values: number } {
  const read = vscode.workspace.getConfiguration("funcgraph");
  return {
    command: read.get<string[]>("command", ["funcgraph"]),
    recordOptions: read.get<string[]>("recordOptions", []),
    values: read.get<number>("values", 3),
  };
}

/** The folder that commands run in: the workspace's of a file, else the file's own. */
function folderOf(uri: vscode.Uri): string {
  return vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? path.dirname(uri.fsPath);
}

/** What is shown of one trace. */
class Calls implements vscode.HoverProvider, vscode.Disposable {
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 2em" },
  });
  private files = new Map<string, FunctionSummary[]>();
  private last: LastCall[] = [];
  private trace: vscode.Uri | undefined;

  /** Show the figures of a trace, and then its last values, which take another reading. */
  async show(trace: vscode.Uri): Promise<void> {
    this.hide();
    this.trace = trace;
    const files = functionsByFile(await run(summaryWords(settings(), trace.fsPath), folderOf(trace)));
    if (this.trace !== trace || files.size === 0) {
      return; // another one is to be shown by now, or there is nothing to show
    }
    this.files = files;
    this.refresh();
    const last = lastCalls(await run(lastWords(settings(), trace.fsPath), folderOf(trace)));
    if (this.trace === trace) {
      this.last = last;
      this.refresh();
    }
  }

  hide(): void {
    this.files = new Map();
    this.last = [];
    this.trace = undefined;
    this.refresh();
  }

  private textBeside(row: FunctionSummary): string {
    const call = this.last.find((one) => one.name === row.name && one.file === row.file && one.line === row.line);
    const last = call && lastText(call);
    return last ? `${annotation(row)} · ${last}` : annotation(row);
  }

  refresh(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      editor.setDecorations(this.decoration, this.decorationsOf(editor.document));
    }
  }

  private decorationsOf(document: vscode.TextDocument): vscode.DecorationOptions[] {
    const rows = this.files.get(document.uri.fsPath) ?? [];
    return rows
      .filter((row) => row.line <= document.lineCount)
      .map((row) => ({
        range: document.lineAt(row.line - 1).range,
        renderOptions: { after: { contentText: this.textBeside(row) } },
      }));
  }

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    const { values, ...rest } = settings();
    const rows = this.files.get(document.uri.fsPath) ?? [];
    const row = rows.find((one) => one.line === position.line + 1);
    if (row === undefined || this.trace === undefined || values < 1) {
      return undefined;
    }
    const text = new vscode.MarkdownString();
    text.appendText(`${row.name}: ${annotation(row)}`);
    try {
      const json = await run(valuesWords(rest, this.trace.fsPath, row.name), folderOf(this.trace));
      const lines = valueLines(json, values);
      if (lines.length > 0) {
        text.appendCodeblock(lines.join("\n"), "text"); // names and values of a program: never as markup
      }
    } catch (error) {
      text.appendCodeblock(String(error), "text");
    }
    return new vscode.Hover(text);
  }

  dispose(): void {
    this.decoration.dispose();
  }
}

/** The servers of the viewer that run, by trace. They end when their last page is closed, and with the editor. */
class Viewers implements vscode.Disposable {
  private readonly running = new Map<string, Viewer>();

  async open(trace: vscode.Uri): Promise<void> {
    const viewer = this.running.get(trace.fsPath) ?? (await this.start(trace));
    await vscode.env.openExternal(await vscode.env.asExternalUri(vscode.Uri.parse(viewer.address, true)));
  }

  private async start(trace: vscode.Uri): Promise<Viewer> {
    const viewer = await startViewer(viewerWords(settings(), [trace.fsPath]), folderOf(trace));
    this.running.set(trace.fsPath, viewer);
    viewer.process.once("close", () => this.running.delete(trace.fsPath));
    return viewer;
  }

  dispose(): void {
    for (const { process } of this.running.values()) {
      process.kill("SIGINT");
    }
  }
}

/** What a person sees who opens a trace file: the viewer's page; if there is none the summary, and why. */
class TracePage implements vscode.CustomReadonlyEditorProvider {
  constructor(
    private readonly viewers: Viewers,
    private readonly calls: Calls,
  ) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    panel.webview.onDidReceiveMessage((message: unknown) =>
      attempt(async () => {
        if (message === "view") {
          await this.viewers.open(document.uri);
        } else if (message === "show") {
          await this.calls.show(document.uri);
        }
      }),
    );
    let isOpen = true;
    panel.onDidDispose(() => (isOpen = false));
    panel.webview.html = tracePage({ exported: "", remarks: `reading ${path.basename(document.uri.fsPath)} ...` });
    const page = await pageOf(document.uri);
    if (isOpen) {
      panel.webview.html = page;
    }
  }
}

async function pageOf(trace: vscode.Uri): Promise<string> {
  const folder = folderOf(trace);
  try {
    return tracePage(await exportPage(settings(), trace.fsPath, folder));
  } catch (error) {
    // Of a file that is no trace the table's command fails for the same reason.
    const table = await run(tableWords(settings(), trace.fsPath), folder).catch(() => "");
    return tracePage({ exported: "", remarks: `${textOf(error)}\n\n${table}` });
  }
}

/** Run a command in a terminal, and show what it recorded when it has ended. An older trace is never shown. */
async function record(words: Words, folder: vscode.Uri, calls: Calls): Promise<void> {
  const [command, ...rest] = words;
  const trace = vscode.Uri.joinPath(folder, TRACE);
  const before = await versionOf(trace.fsPath);
  calls.hide();
  const execution = new vscode.ProcessExecution(command, rest, { cwd: folder.fsPath });
  const status = await statusOf(
    new vscode.Task({ type: "funcgraph" }, vscode.TaskScope.Workspace, "record", "funcgraph", execution),
  );
  const ending = status === undefined ? "it ended with no status" : `it ended with status ${status}`;
  const now = await versionOf(trace.fsPath);
  if (now === undefined || now === before) {
    throw new Error(`nothing was recorded: ${ending}. The terminal has what it said`);
  }
  await calls.show(trace);
  if (status !== 0) {
    void vscode.window.showWarningMessage(`the calls that are shown end with a failure: ${ending}`);
  }
}

/** Run a task to its end; return its exit status, or undefined if it never ran or was killed. */
async function statusOf(task: vscode.Task): Promise<number | undefined> {
  const statuses = new Map<vscode.TaskExecution, number | undefined>();
  const ended = new Set<vscode.TaskExecution>();
  let tell: () => void = () => undefined;
  const listeners = [
    vscode.tasks.onDidEndTaskProcess((event) => statuses.set(event.execution, event.exitCode)),
    vscode.tasks.onDidEndTask((event) => {
      ended.add(event.execution);
      tell();
    }),
  ];
  try {
    const started = await vscode.tasks.executeTask(task); // it may have ended by then
    while (!ended.has(started)) {
      await new Promise<void>((resolve) => (tell = resolve));
    }
    return statuses.get(started);
  } finally {
    listeners.forEach((listener) => listener.dispose());
  }
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    void vscode.window.showErrorMessage(textOf(error));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function chosenTrace(given: vscode.Uri | undefined): Promise<vscode.Uri | undefined> {
  if (given !== undefined) {
    return given;
  }
  const found = await vscode.workspace.findFiles("**/*.fg", undefined, 100);
  const items = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
  if (items.length === 0) {
    throw new Error("there is no trace (*.fg) in this workspace: record one first");
  }
  return items.length === 1 ? items[0]?.uri : (await vscode.window.showQuickPick(items))?.uri;
}

export function activate(context: vscode.ExtensionContext): void {
  const calls = new Calls();
  const viewers = new Viewers();
  const command = (name: string, action: (uri?: vscode.Uri) => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(`funcgraph.${name}`, (uri?: vscode.Uri) => attempt(() => action(uri)));

  context.subscriptions.push(
    calls,
    viewers,
    command("openViewer", async (uri) => {
      const trace = await chosenTrace(uri);
      if (trace !== undefined) {
        await viewers.open(trace);
      }
    }),
    command("showCalls", async (uri) => {
      const trace = await chosenTrace(uri);
      if (trace !== undefined) {
        await calls.show(trace);
      }
    }),
    command("hideCalls", async () => calls.hide()),
    command("recordFile", async (uri) => {
      const file = uri ?? vscode.window.activeTextEditor?.document.uri;
      if (file === undefined) {
        throw new Error("open a Python file first");
      }
      await record(recordFileWords(settings(), TRACE, file.fsPath), vscode.Uri.file(folderOf(file)), calls);
    }),
    command("recordTest", async () => {
      const editor = vscode.window.activeTextEditor;
      const { document, selection } = editor ?? {};
      const test =
        document && selection && testAt(document.uri.fsPath, document.getText(), selection.active.line);
      if (document === undefined || test === undefined) {
        throw new Error("the cursor is in no test");
      }
      await record(recordTestWords(settings(), TRACE, test), vscode.Uri.file(folderOf(document.uri)), calls);
    }),
    vscode.languages.registerHoverProvider({ language: "python" }, calls),
    vscode.window.registerCustomEditorProvider("funcgraph.trace", new TracePage(viewers, calls)),
    vscode.window.onDidChangeVisibleTextEditors(() => calls.refresh()),
  );
}
