// tfjs on its WebGL backend: WebGL 2 where the browser has it.
import "@tensorflow/tfjs-backend-webgl";
import { env } from "@tensorflow/tfjs-core";
import * as network from "./network.js";

/** Load a network; see network.js. By default split: draws of many zeros take longer than many draws. */
export const load = (folder, grouped = "split") => network.load("webgl", folder, grouped);

/** Return what a loaded network runs on. */
export async function about() {
  return `WebGL ${env().getNumber("WEBGL_VERSION")}`;
}
