// Has funcgraph write the viewer's page of a trace as one document.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";

import type { Shown } from "./page";
import { runFor } from "./run";
import { exportWords, Settings } from "./words";

/**
 * Export a trace.
 *
 * @param folder where the command runs.
 * @returns the page, and what it lacks: of a large trace it has a part, or sums.
 * @throws what the command said.
 */
export async function exportPage(settings: Settings, trace: string, folder: string): Promise<Shown> {
  const own = await mkdtemp(path.join(tmpdir(), "funcgraph-"));
  try {
    const file = path.join(own, "trace.html");
    const { errors } = await runFor(exportWords(settings, trace, file), folder);
    return { exported: await readFile(file, "utf8"), remarks: remarksIn(errors, file) };
  } finally {
    await rm(own, { recursive: true });
  }
}

/** What the command said of the page; its last line is the file's size. */
export function remarksIn(errors: string, file: string): string {
  const lines = errors.split("\n").filter((line) => line !== "");
  return lines.slice(0, -1).map((line) => line.replace(`${file}: `, "").replace(/^funcgraph: /, "")).join("\n");
}
