/** The worker of one runner; runners.ts has what it is told and what it answers. */

import type { Tensor } from "glsl-infer";
import type { Pixels, Reply, RunnerName, Task } from "./runners.ts";

/** A network that is loaded. */
interface Loaded {
  readonly about: string;
  readonly run: (pixels: Pixels) => Promise<Tensor>;
}

/** What web/tfjs builds for each backend. */
interface Tfjs {
  load(folder: string): Promise<(pixels: { data: Uint8Array; width: number; height: number }) => Promise<Tensor>>;
  about(): Promise<string>;
}

let loaded: Loaded | undefined;

/** Return the files that a runner needs; one that turns out to need others fetches them later. */
function filesOf(runner: RunnerName, model: string): string[] {
  if (runner === "glsl-infer") return ["glsl-infer.js", `models/${model}`];
  const network = folderOf(model);
  const files = [`tfjs/${runner}.js`, `${network}/model.json`, `${network}/weights.bin`];
  return runner === "wasm" ? [...files, "tfjs/tfjs-backend-wasm-simd.wasm"] : files;
}

function folderOf(model: string): string {
  return `tfjs/${model.replace(/\.glslnn$/, "")}`;
}

/** Load a runner's code and the model, as a page does that has nothing else. */
async function load(runner: RunnerName, model: string): Promise<Loaded> {
  if (runner === "glsl-infer") {
    const { GlslInfer } = await import("glsl-infer");
    const network = await GlslInfer.load(`models/${model}`);
    return { about: "WebGL 1", run: ({ data }) => network.run(data) };
  }
  // An address that is put together is left alone by the page's build: tfjs is no part of the page.
  const tfjs = (await import(new URL(`tfjs/${runner}.js`, location.href).href)) as Tfjs;
  const run = await tfjs.load(folderOf(model));
  return { about: await tfjs.about(), run };
}

/** Return the bytes of all files that were loaded, as they were sent: compressed, where the server does that. */
function loadedBytes(): number {
  const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
  return entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0);
}

async function answer({ start, pixels }: Task): Promise<Reply> {
  try {
    if (start) {
      // How fast the network is, is no runner's: all files come into the browser's cache before the clock starts.
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
