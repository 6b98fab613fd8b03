// The document that shows a trace file, and the command that makes it: `npm test`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { remarksIn } from "../exportPage";
import { tracePage } from "../page";

const HASH = "'sha256-NNroeFFmFXNu+2OboFVeB/oKvtODOGuia/RBdenift0='";
const POLICY = `default-src 'none'; script-src ${HASH}; img-src data: blob:; base-uri 'none'`;
const meta = (policy: string): string => `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
const EXPORTED = `<!doctype html>${meta(POLICY)}<p title="a">'&amp;'</p>`;

function policyOf(page: string): Map<string, string> {
  const found = /content="(default-src[^"]*)"/.exec(page)?.[1] ?? "";
  return new Map(found.split("; ").map((one) => [one.split(" ")[0] ?? "", one.slice(one.indexOf(" ") + 1)]));
}

test("the page is in a frame that reaches nothing, under the policies of both", () => {
  const page = tracePage({ exported: EXPORTED, remarks: "" });
  const policy = policyOf(page);
  const nonce = /<script nonce="(\w{32})">/.exec(page)?.[1];
  assert.equal(policy.get("default-src"), "'none'");
  assert.equal(policy.get("script-src"), `${HASH} 'nonce-${nonce}'`);
  assert.equal(policy.get("style-src"), `'nonce-${nonce}'`);
  assert.equal(policy.get("img-src"), "data: blob:");
  const frame = /<iframe sandbox="allow-scripts" title="trace" srcdoc="([^"]*)"><\/iframe>/.exec(page)?.[1] ?? "";
  assert.equal(frame.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))), EXPORTED);
  assert.notEqual(nonce, /<script nonce="(\w{32})">/.exec(tracePage({ exported: EXPORTED, remarks: "" }))?.[1]);
});

test("a page whose policy lets more in is refused", () => {
  for (const source of ["https://evil.example", "*", "'unsafe-inline'", "'self'"]) {
    const exported = meta(`default-src 'none'; script-src ${source}`);
    assert.throws(() => tracePage({ exported, remarks: "" }), /policy/);
  }
});

test("a text is shown as text, without a frame", () => {
  const page = tracePage({ exported: "", remarks: "<script>alert('1')</script>" });
  assert.ok(page.includes("<pre>&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;</pre>"));
  assert.ok(!page.includes("<iframe"));
  assert.match(policyOf(page).get("script-src") ?? "", /^'nonce-\w{32}'$/);
});

test("what a page lacks is told, its size is not", () => {
  const size = "funcgraph: /tmp/a/trace.html: 347.0 KiB\n";
  assert.equal(remarksIn(size, "/tmp/a/trace.html"), "");
  const remark = "funcgraph: /tmp/a/trace.html: 3 calls left out\n";
  assert.equal(remarksIn(`${remark}${size}`, "/tmp/a/trace.html"), "3 calls left out");
});
