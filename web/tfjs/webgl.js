// tfjs on its WebGL backend: WebGL 2 if the browser supports it.
import "@tensorflow/tfjs-backend-webgl";
import { env } from "@tensorflow/tfjs-core";
import * as network from "./network.js";

/** Load a network; see network.js. The default is "split": draws with many zeros take longer than many draws. */
export const load = (folder, grouped = "split") => network.load("webgl", folder, grouped);

/** Return a description of the backend. */
export async function about() {
  return `WebGL ${env().getNumber("WEBGL_VERSION")}`;
}
