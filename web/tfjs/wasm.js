// tfjs on its WebAssembly backend: the CPU, with SIMD where the browser has it. Threads need a page that its server has
// isolated from all others (COOP and COEP headers), which plain servers do not.
import { getThreadsCount, setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { env } from "@tensorflow/tfjs-core";
import * as network from "./network.js";

setWasmPaths(new URL("./", import.meta.url).href);

/** Load a network; see network.js. By default whole: one call for all groups is faster, though most of it are zeros. */
export const load = (folder, grouped = "whole") => network.load("wasm", folder, grouped);

/** Return what a loaded network runs on. */
export async function about() {
  const simd = (await env().getAsync("WASM_HAS_SIMD_SUPPORT")) ? "SIMD" : "no SIMD";
  const threads = getThreadsCount();
  return `WebAssembly, ${simd}, ${threads > 1 ? `${threads} threads` : "1 thread"}`;
}
