// What the browser's reader says of files, in Node: for each path on standard input a line, "ok" or the refusal.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { read } from "../../web/src/bundle.ts";
import { BundleError } from "../../web/src/errors.ts";

for await (const path of createInterface({ input: process.stdin })) {
  try {
    await read(new Uint8Array(readFileSync(path)), "file");
    console.log("ok");
  } catch (error) {
    const text = error instanceof BundleError ? error.message : `TRACEBACK ${error.stack}`;
    console.log(text.replace(/[\x00-\x1f\x7f\u2028\u2029]/g, "?"));
  }
}
