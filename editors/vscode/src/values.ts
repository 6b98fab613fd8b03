// What `funcgraph values --json` says of a function, as the text of a hover.

import { countText, durationText } from "./durations";

interface ValueGroup {
  /** null: all other values. */
  value: string | null;
  calls: number;
  raised: number;
  timed: number;
  mean_ns: number | null;
}

interface ValueField {
  name: string;
  values: ValueGroup[];
}

interface FunctionValues {
  name: string;
  fields: ValueField[];
}

/**
 * The lines of a hover: for each argument and the result its values, with calls and mean time. No markup.
 *
 * @param most so many values of each, those with the most time.
 */
export function valueLines(json: string, most: number): string[] {
  const { functions } = JSON.parse(json) as { functions: FunctionValues[] };
  const lines: string[] = [];
  for (const { fields } of functions) {
    for (const field of fields) {
      lines.push(`${field.name}:`);
      lines.push(...field.values.slice(0, most).map((group) => `  ${group.value ?? "others"}  ${figures(group)}`));
      if (field.values.length > most) {
        lines.push(`  and ${countText(field.values.length - most)} more`);
      }
    }
  }
  return lines;
}

function figures(group: ValueGroup): string {
  const parts = [`${countText(group.calls)} calls`];
  if (group.timed > 0 && group.mean_ns !== null) {
    parts.push(`mean ${durationText(group.mean_ns)}`);
  }
  if (group.raised > 0) {
    parts.push(`${countText(group.raised)} raised`);
  }
  return `(${parts.join(", ")})`;
}
