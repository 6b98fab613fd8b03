// Runs a command to its end and takes what it prints.

import { execFile } from "node:child_process";

import type { Words } from "./words";

/** More than this no command prints that the extension runs. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Run a command.
 *
 * @param words its command line.
 * @param folder where it runs.
 * @returns its standard output.
 * @throws what it said on standard error.
 */
export function run(words: Words, folder: string): Promise<string> {
  const [command, ...rest] = words;
  return new Promise((resolve, reject) => {
    execFile(command, rest, { cwd: folder, maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
      } else {
        reject(new Error(stderr.trim() || error.message));
      }
    });
  });
}
