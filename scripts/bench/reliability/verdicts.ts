// The verdicts of the browser's reader, in Node: a line for each path on standard input. It is the refusal, or "ok" with
// a sum (Java's hashCode) of the content: name, number of passes, and labels.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { read } from "../../../web/src/bundle.ts";
import { BundleError } from "../../../web/src/errors.ts";

function sum(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(31, hash) + text.charCodeAt(index)) | 0;
  return hash;
}

for await (const path of createInterface({ input: process.stdin })) {
  try {
    const { manifest, passes, labels } = await read(new Uint8Array(readFileSync(path)), "file");
    console.log(`ok ${sum([manifest.name, String(passes.length), ...labels].join("\n"))}`);
  } catch (error) {
    const text = error instanceof BundleError ? error.message : `TRACEBACK ${error.stack}`;
    console.log(text.replace(/[\x00-\x1f\x7f\u2028\u2029]/g, "?"));
  }
}
