// As much of the module `vscode` as the extension uses, for tests without an editor: what the extension asks of
// the editor is kept, commands are run by name, and tasks are processes.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import Module from "node:module";
import * as path from "node:path";

type Listener = (event: any) => void;

/** An event of the editor. */
class Emitter {
  private readonly listeners = new Set<Listener>();

  readonly event = (listener: Listener): { dispose: () => void } => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };

  fire(event: unknown): void {
    for (const listener of [...this.listeners]) {
      listener(event);
    }
  }
}

class Uri {
  private constructor(
    readonly scheme: string,
    readonly fsPath: string,
    private readonly whole: string,
  ) {}

  static file(name: string): Uri {
    return new Uri("file", name, `file://${name}`);
  }

  static parse(address: string): Uri {
    return new Uri(address.split(":")[0] ?? "", "", address);
  }

  static joinPath(folder: Uri, ...names: string[]): Uri {
    return Uri.file(path.join(folder.fsPath, ...names));
  }

  toString(): string {
    return this.whole;
  }
}

/** What a test sets, and what the extension did. */
export const state = {
  settings: {} as Record<string, unknown>,
  folder: "",
  editors: [] as any[],
  errors: [] as string[],
  warnings: [] as string[],
  opened: [] as string[],
  commands: new Map<string, (...words: unknown[]) => Promise<void>>(),
  hovers: [] as any[],
  customEditors: new Map<string, any>(),
};

const editorsChanged = new Emitter();
const taskEnded = new Emitter();
const processEnded = new Emitter();

/** An editor that shows a file, with what stands behind its lines. */
export function textEditor(file: string, line = 0): any {
  const lines = readFileSync(file, "utf8").split("\n");
  const editor = {
    document: {
      uri: Uri.file(file),
      lineCount: lines.length,
      getText: () => lines.join("\n"),
      lineAt: (number: number) => ({ range: { start: { line: number } } }),
    },
    selection: { active: { line } },
    decorations: [] as { range: { start: { line: number } }; renderOptions: { after: { contentText: string } } }[],
    setDecorations: (_type: unknown, given: any[]) => {
      editor.decorations = given;
    },
  };
  return editor;
}

/** What stands behind lines of an editor, by the lines' numbers from 1. */
export function textBeside(editor: any): Record<number, string> {
  return Object.fromEntries(
    editor.decorations.map((one: any) => [one.range.start.line + 1, one.renderOptions.after.contentText]),
  );
}

async function executeTask(task: any): Promise<unknown> {
  const execution = { task };
  const { process: command, args, options } = task.execution;
  const started = spawn(command, args, { cwd: options.cwd, stdio: "ignore" });
  const end = (exitCode: number | undefined): void => {
    if (exitCode !== undefined) {
      processEnded.fire({ execution, exitCode });
    }
    taskEnded.fire({ execution });
  };
  started.once("error", () => end(undefined)); // as in the editor: no process, no status
  started.once("exit", (status) => end(status ?? undefined));
  return execution;
}

const vscode = {
  Uri,
  ThemeColor: class {},
  TaskScope: { Workspace: 2 },
  MarkdownString: class {
    value = "";
    appendText(text: string): void {
      this.value += text;
    }
    appendCodeblock(text: string): void {
      this.value += `\n${text}\n`;
    }
  },
  Hover: class {
    constructor(readonly contents: unknown) {}
  },
  ProcessExecution: class {
    constructor(
      readonly process: string,
      readonly args: string[],
      readonly options: unknown,
    ) {}
  },
  Task: class {
    constructor(
      readonly definition: unknown,
      readonly scope: unknown,
      readonly name: string,
      readonly source: string,
      readonly execution: unknown,
    ) {}
  },
  commands: {
    registerCommand: (name: string, action: (...words: unknown[]) => Promise<void>) => {
      state.commands.set(name, action);
      return { dispose: () => state.commands.delete(name) };
    },
  },
  env: {
    asExternalUri: async (uri: Uri) => uri,
    openExternal: async (uri: Uri) => state.opened.push(uri.toString()),
  },
  languages: {
    registerHoverProvider: (_selector: unknown, provider: unknown) => {
      state.hovers.push(provider);
      return { dispose: () => undefined };
    },
  },
  tasks: { executeTask, onDidEndTask: taskEnded.event, onDidEndTaskProcess: processEnded.event },
  window: {
    get visibleTextEditors() {
      return state.editors;
    },
    get activeTextEditor() {
      return state.editors[0];
    },
    createTextEditorDecorationType: () => ({ dispose: () => undefined }),
    onDidChangeVisibleTextEditors: editorsChanged.event,
    registerCustomEditorProvider: (type: string, provider: unknown) => {
      state.customEditors.set(type, provider);
      return { dispose: () => state.customEditors.delete(type) };
    },
    showErrorMessage: async (text: string) => state.errors.push(text),
    showWarningMessage: async (text: string) => state.warnings.push(text),
    showQuickPick: async (items: unknown[]) => items[0],
  },
  workspace: {
    asRelativePath: (uri: Uri) => path.relative(state.folder, uri.fsPath),
    findFiles: async () => [] as Uri[],
    getConfiguration: () => ({ get: (name: string, usual: unknown) => state.settings[name] ?? usual }),
    getWorkspaceFolder: () => ({ uri: Uri.file(state.folder) }),
  },
};

/** Run the extension as the editor does; return what ends it. */
export function activated(): () => void {
  const loader = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
  const load = loader._load;
  loader._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  try {
    const subscriptions: { dispose: () => void }[] = [];
    (require("../extension") as { activate: (context: unknown) => void }).activate({ subscriptions });
    return () => subscriptions.forEach((one) => one.dispose());
  } finally {
    loader._load = load;
  }
}

/** Run a command of the extension, as its entry in a menu does. */
export function command(name: string, ...words: unknown[]): Promise<void> {
  const action = state.commands.get(`funcgraph.${name}`);
  if (action === undefined) {
    throw new Error(`no command ${name}`);
  }
  return action(...words);
}

export const fileUri = Uri.file;
