// The command lines that the extension runs: each is one that a person can type.

export interface Settings {
  /** The command and its first words. */
  command: readonly string[];
  /** Options of `record`. */
  recordOptions: readonly string[];
}

/** A command line, as words. */
export type Words = readonly [string, ...string[]];

function words(settings: Settings, ...rest: string[]): Words {
  const [first, ...more] = settings.command;
  if (first === undefined || first === "") {
    throw new Error("the setting funcgraph.command is empty");
  }
  return [first, ...more, ...rest];
}

/** A file's name as an argument: never taken for an option. */
function argument(file: string): string {
  return file.startsWith("-") ? `./${file}` : file;
}

export function viewerWords(settings: Settings, traces: readonly string[]): Words {
  return words(settings, "view", "--no-browser", "--once", ...traces.map(argument));
}

export function exportWords(settings: Settings, trace: string, page: string): Words {
  return words(settings, "view", "--export", page, argument(trace));
}

export function recordFileWords(settings: Settings, trace: string, file: string): Words {
  return words(settings, "record", ...settings.recordOptions, "-o", trace, argument(file));
}

export function recordTestWords(settings: Settings, trace: string, test: string): Words {
  return words(settings, "record", ...settings.recordOptions, "-o", trace, "-m", "pytest", argument(test));
}

export function summaryWords(settings: Settings, trace: string): Words {
  return words(settings, "summary", "--json", "-i", trace);
}

/** The table that a person reads. */
export function tableWords(settings: Settings, trace: string): Words {
  return words(settings, "summary", "-i", trace);
}

export function lastWords(settings: Settings, trace: string): Words {
  return words(settings, "values", "--last", "--json", "-i", trace, "*");
}

/** Of one function, whose name may have characters that a pattern would take for others. */
export function valuesWords(settings: Settings, trace: string, name: string): Words {
  return words(settings, "values", "--json", "-i", trace, literal(name));
}

/** A pattern that only this name matches. */
export function literal(name: string): string {
  return name.replace(/[*?[\]\\]/g, (character) => (character === "]" ? character : `[${character}]`));
}
