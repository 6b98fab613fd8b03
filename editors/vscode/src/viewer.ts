// The viewer's server: one process for each trace that is looked at.

import { ChildProcess, spawn } from "node:child_process";

import type { Words } from "./words";

const ADDRESS = /^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+$/;

/** The address in a line that the server prints; undefined: it is another line. */
export function addressIn(line: string): string | undefined {
  return ADDRESS.exec(line.trim())?.[0];
}

/** A server that runs. */
export interface Viewer {
  address: string;
  process: ChildProcess;
}

/**
 * Start a server.
 *
 * @param words its command line.
 * @param folder where it runs.
 * @throws what it said, if it ends without an address.
 */
export function startViewer(words: Words, folder: string): Promise<Viewer> {
  const [command, ...rest] = words;
  const process = spawn(command, rest, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let output = "";
    let errors = "";
    process.stderr.on("data", (data: Buffer) => (errors += data.toString()));
    process.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      const address = output.split("\n").slice(0, -1).map(addressIn).find((found) => found !== undefined);
      if (address !== undefined) {
        resolve({ address, process });
      }
    });
    process.on("error", (error) => reject(new Error(`${command}: ${error.message}`)));
    process.on("close", (status) => reject(new Error(errors.trim() || `${command} ended with status ${status}`)));
  });
}
