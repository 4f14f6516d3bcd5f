/** The runners that the page compares: each in a worker of its own, and what the two say to one another. */

import type { Tensor } from "glsl-infer";

/** A runner: this library, or tfjs on one of its backends. */
export type RunnerName = "glsl-infer" | "webgl" | "wasm";

/** RGBA bytes of pixels: what a network reads. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** What a worker is told: first of all which runner it is, and the name of the model's file; then pixels alone. */
export interface Task {
  readonly start?: { readonly runner: RunnerName; readonly model: string };
  readonly pixels: Pixels;
}

/** What it answers: the network's output, or why there is none. */
export interface Answer {
  readonly output: Tensor;
  /** From the pixels to the output; the first time from before the runner's code is loaded, which by then has come. */
  readonly milliseconds: number;
  /** What it runs on, in words. */
  readonly about: string;
  /** Bytes of all files that the runner has loaded so far, as the server sent them. */
  readonly bytes: number;
}

export type Reply = Answer | { readonly error: string };

/** A runner in a worker: it starts from nothing, and all that it has made goes with it when it ends. */
export class Runner {
  private readonly _worker = new Worker("runnerWorker.js", { type: "module" });
  private _begun = false;
  private _giveUp: (error: Error) => void = () => {};

  constructor(
    private readonly _runner: RunnerName,
    private readonly _model: string,
  ) {}

  /**
   * Run the network on pixels; the first call loads everything. Wait for one call before the next.
   *
   * @throws Error saying what the runner lacks, or that it was closed meanwhile.
   */
  run(pixels: Pixels): Promise<Answer> {
    const task: Task = this._begun ? { pixels } : { start: { runner: this._runner, model: this._model }, pixels };
    this._begun = true;
    return new Promise((resolve, reject) => {
      this._giveUp = reject;
      this._worker.onerror = () => reject(new Error("This browser does not start the worker that it runs in."));
      this._worker.onmessage = ({ data }: MessageEvent<Reply>) => {
        if ("error" in data) reject(new Error(data.error));
        else resolve(data);
      };
      this._worker.postMessage(task);
    });
  }

  /** End it, in the middle of a frame too. */
  close(): void {
    this._worker.terminate();
    this._giveUp(new Error("The runner was closed."));
  }
}
