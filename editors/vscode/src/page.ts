// What the editor shows of a trace file: the viewer's page in a frame, or a text if there is none.

import { randomBytes } from "node:crypto";

const POLICY = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/;
/** The words of a policy that an exported page has: no address of any kind. */
const STRICT = /^(?:'none'|'sha256-[\w+/]+=*'|data:|blob:)$/;

/** What is shown. */
export interface Shown {
  /** The page of `funcgraph view --export`; "": there is none. */
  exported: string;
  /** What the page lacks, or why there is none; of a trace without a page also its summary. */
  remarks: string;
}

/**
 * The document of a webview.
 *
 * A frame has the exported page, and reaches neither the editor nor the network: it has an origin of its own,
 * and the policies of both documents hold in it. So this document's allows the page's one script and its styles,
 * by their hashes, and its own, by a nonce.
 */
export function tracePage({ exported, remarks }: Shown): string {
  const nonce = randomBytes(16).toString("hex");
  const frame = exported && `<iframe sandbox="allow-scripts" title="trace" srcdoc="${escaped(exported)}"></iframe>`;
  return `<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(exported, nonce)}">
<style nonce="${nonce}">
  body { display: flex; flex-direction: column; height: 100vh; margin: 0; padding: 0; }
  nav, pre { flex: none; margin: 4px 8px; }
  iframe { flex: auto; border: 0; }
</style>
<nav>
<button data-message="show">Show calls beside functions</button>
<button data-message="view">Open in the browser</button>
</nav>
${remarks && `<pre>${escaped(remarks)}</pre>`}
${frame}
<script nonce="${nonce}">
  const vscode = acquireVsCodeApi();
  for (const button of document.querySelectorAll("button")) {
    button.addEventListener("click", () => vscode.postMessage(button.dataset.message));
  }
</script>`;
}

/** A policy that is the exported page's own, and this document's. */
function policy(exported: string, nonce: string): string {
  const found = POLICY.exec(exported)?.[1] ?? "default-src 'none'";
  const directives = new Map(found.split(";").map((one) => one.trim().split(/\s+/)).map(([name, ...of]) => [name, of]));
  for (const [name, sources] of directives) {
    if (!sources.every((source) => STRICT.test(source))) {
      throw new Error(`the page's policy has more than an exported page's: ${name} ${sources.join(" ")}`);
    }
  }
  for (const name of ["script-src", "style-src"]) {
    directives.set(name, [...(directives.get(name) ?? []), `'nonce-${nonce}'`]);
  }
  return [...directives].map(([name, sources]) => [name, ...sources].join(" ")).join("; ");
}

/** A text as HTML, also inside of an attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
