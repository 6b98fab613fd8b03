// What `funcgraph summary --json` says, by source file: the text beside each function's first line.

import { countText, durationText } from "./durations";

/** A function of a trace. */
export interface FunctionSummary {
  name: string;
  file: string;
  /** Of its first line, from 1. */
  line: number;
  calls: number;
  exceptions: number;
  total_ns: number;
  self_ns: number;
  max_ns: number;
}

interface BufferSummary {
  functions: FunctionSummary[];
}

/** The functions of a trace by file. A function that several instances recorded is there once, with its sums. */
export function functionsByFile(json: string): Map<string, FunctionSummary[]> {
  const whole = JSON.parse(json) as BufferSummary | { buffers: Record<string, BufferSummary> };
  const buffers = "buffers" in whole ? Object.values(whole.buffers) : [whole];
  const files = new Map<string, FunctionSummary[]>();
  for (const row of buffers.flatMap((buffer) => buffer.functions)) {
    if (row.file === "" || row.line < 1) {
      continue; // a C function
    }
    const rows = files.get(row.file) ?? [];
    const known = rows.find((other) => other.name === row.name && other.line === row.line);
    if (known === undefined) {
      rows.push({ ...row });
    } else {
      add(known, row);
    }
    files.set(row.file, rows);
  }
  return files;
}

function add(sum: FunctionSummary, row: FunctionSummary): void {
  sum.calls += row.calls;
  sum.exceptions += row.exceptions;
  sum.total_ns += row.total_ns;
  sum.self_ns += row.self_ns;
  sum.max_ns = Math.max(sum.max_ns, row.max_ns);
}

/** The text beside a function. */
export function annotation(row: FunctionSummary): string {
  const parts = [`${countText(row.calls)} ${row.calls === 1 ? "call" : "calls"}`, durationText(row.total_ns)];
  if (row.self_ns !== row.total_ns) {
    parts.push(`${durationText(row.self_ns)} itself`);
  }
  if (row.exceptions > 0) {
    parts.push(`${countText(row.exceptions)} raised`);
  }
  return parts.join(" · ");
}
