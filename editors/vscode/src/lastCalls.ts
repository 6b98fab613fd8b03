// What `funcgraph values --last --json` says: each function's last call, as the text beside the function.

/** A function's last call. */
export interface LastCall {
  name: string;
  file: string;
  line: number;
  /** As a report prints them; "": there are none, or they are not recorded. */
  arguments: string;
  /** Likewise; of a call that raised the type of the exception. */
  result: string;
  ended: "return" | "raise" | "open" | "close";
}

/** So many characters of the arguments, and of the result, stand beside a function. */
const MOST_ARGUMENTS = 80;
const MOST_RESULT = 40;

export function lastCalls(json: string): LastCall[] {
  return (JSON.parse(json) as { functions: LastCall[] }).functions;
}

/** The text beside a function: `last: (amount=3) = 4.0`; "": nothing of the call is recorded, or it only returned. */
export function lastText(call: LastCall): string {
  const ending = { return: "=", close: "=", raise: "raised", open: "did not end" }[call.ended];
  const result = call.ended === "open" ? ending : call.result && `${ending} ${cut(call.result, MOST_RESULT)}`;
  const says = call.arguments !== "" || (call.result !== "" && (call.result !== "None" || call.ended === "raise"));
  return says ? `last: (${cut(call.arguments, MOST_ARGUMENTS)}) ${result}`.trimEnd() : "";
}

function cut(text: string, most: number): string {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}
