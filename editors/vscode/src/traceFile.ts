// Whether a trace file is the one that was there before.

import { stat } from "node:fs/promises";

/** What changes when a file is written or replaced; undefined: there is none. */
export async function versionOf(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return undefined;
  }
}
