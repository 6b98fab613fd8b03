// Runs a command to its end and takes what it prints.

import { execFile } from "node:child_process";

import type { Words } from "./words";

/** More than this no command prints that the extension runs. */
const MOST_BYTES = 64 * 1024 * 1024;

/** What a command printed. */
export interface Printed {
  output: string;
  /** Its standard error. */
  errors: string;
}

/** Run a command, as `runFor`; return its standard output. */
export async function run(words: Words, folder: string): Promise<string> {
  return (await runFor(words, folder)).output;
}

/**
 * Run a command.
 *
 * @param words its command line.
 * @param folder where it runs.
 * @throws what it said on standard error, if it fails.
 */
export function runFor(words: Words, folder: string): Promise<Printed> {
  const [command, ...rest] = words;
  return new Promise((resolve, reject) => {
    execFile(command, rest, { cwd: folder, maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      if (error === null) {
        resolve({ output: stdout, errors: stderr });
      } else {
        reject(new Error(stderr.trim() || error.message));
      }
    });
  });
}
