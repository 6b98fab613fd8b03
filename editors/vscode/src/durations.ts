// Durations as `funcgraph summary` prints them.

const UNITS: readonly [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
];

/** A number of nanoseconds as text: `1.255 ms`. */
export function durationText(nanoseconds: number): string {
  for (const [size, unit] of UNITS) {
    if (nanoseconds >= size) {
      return `${(nanoseconds / size).toFixed(3)} ${unit}`;
    }
  }
  return `${Math.round(nanoseconds)} ns`;
}

/** A count with commas: `1,234`. */
export function countText(count: number): string {
  return count.toLocaleString("en-US");
}
