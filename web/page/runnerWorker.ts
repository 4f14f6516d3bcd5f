/** Worker of a runner; runners.ts defines its messages. */

import type { Tensor } from "glsl-infer";
import type { Pixels, Reply, RunnerName, Task } from "./runners.ts";

/** A loaded network. */
interface Loaded {
  readonly about: string;
  readonly run: (pixels: Pixels) => Promise<Tensor>;
}

/** Module built by web/tfjs for each backend. */
interface Tfjs {
  load(folder: string): Promise<(pixels: { data: Uint8Array; width: number; height: number }) => Promise<Tensor>>;
  about(): Promise<string>;
}

let loaded: Loaded | undefined;

/** Return the files known to be needed by a runner; others are fetched later. */
function filesOf(runner: RunnerName, model: string): string[] {
  if (runner === "glsl-infer") return ["glsl-infer.js", `models/${model}`];
  const network = folderOf(model);
  const files = [`tfjs/${runner}.js`, `${network}/model.json`, `${network}/weights.bin`];
  return runner === "wasm" ? [...files, "tfjs/tfjs-backend-wasm-simd.wasm"] : files;
}

function folderOf(model: string): string {
  return `tfjs/${model.replace(/\.glslnn$/, "")}`;
}

/** Load a runner's code and the model, as a page with nothing else would. */
async function load(runner: RunnerName, model: string): Promise<Loaded> {
  if (runner === "glsl-infer") {
    const { GlslInfer } = await import("glsl-infer");
    const network = await GlslInfer.load(`models/${model}`);
    return { about: "WebGL 1", run: ({ data }) => network.run(data) };
  }
  // The page's build leaves a computed address alone: tfjs is not part of the page.
  const tfjs = (await import(new URL(`tfjs/${runner}.js`, location.href).href)) as Tfjs;
  const run = await tfjs.load(folderOf(model));
  return { about: await tfjs.about(), run };
}

/** Return the bytes of all loaded files as transferred, which can be compressed. */
function loadedBytes(): number {
  const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
  return entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0);
}

async function answer({ start, pixels }: Task): Promise<Reply> {
  try {
    if (start) {
      // Load all files into the browser's cache before the timer starts, because the speed of the connection does not
      // matter.
      await Promise.all(filesOf(start.runner, start.model).map(async (file) => (await fetch(file)).arrayBuffer()));
      performance.clearResourceTimings();
    }
    const begun = performance.now();
    if (start) loaded = await load(start.runner, start.model);
    const { run, about } = loaded!;
    const output = await run(pixels);
    return { output, milliseconds: performance.now() - begun, about, bytes: loadedBytes() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

addEventListener("message", async ({ data }: MessageEvent<Task>) => postMessage(await answer(data)));
