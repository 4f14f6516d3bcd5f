// tfjs on its WebAssembly backend: the CPU, with SIMD if the browser supports it. Threads need a cross-origin isolated
// page (COOP and COEP headers), which plain servers do not provide.
import { getThreadsCount, setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { env } from "@tensorflow/tfjs-core";
import * as network from "./network.js";

setWasmPaths(new URL("./", import.meta.url).href);

/**
 * Load a network; see network.js. The default is "whole": a single call for all groups is faster, despite its zeros.
 */
export const load = (folder, grouped = "whole") => network.load("wasm", folder, grouped);

/** Return a description of the backend. */
export async function about() {
  const simd = (await env().getAsync("WASM_HAS_SIMD_SUPPORT")) ? "SIMD" : "no SIMD";
  const threads = getThreadsCount();
  return `WebAssembly, ${simd}, ${threads > 1 ? `${threads} threads` : "1 thread"}`;
}
