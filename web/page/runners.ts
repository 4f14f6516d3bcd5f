/** Runners compared by the page: each in its own worker, and the messages between page and worker. */

import type { Tensor } from "glsl-infer";

/** A runner: this library, or a backend of tfjs. */
export type RunnerName = "glsl-infer" | "webgl" | "wasm";

/** RGBA bytes of an image, the input of the network. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Message to a worker: first the runner and the model's file name, then pixels only. */
export interface Task {
  readonly start?: { readonly runner: RunnerName; readonly model: string };
  readonly pixels: Pixels;
}

/** Message from a worker: the network's output, or an error message. */
export interface Answer {
  readonly output: Tensor;
  /**
   * Time from the pixels to the output; the first time includes loading the runner's code, which is in the cache by
   * then.
   */
  readonly milliseconds: number;
  /** Description of the runner's device. */
  readonly about: string;
  /** Bytes of all files loaded by the runner so far, as transferred. */
  readonly bytes: number;
}

export type Reply = Answer | { readonly error: string };

/** A runner in its own worker, which starts empty and frees all resources when it ends. */
export class Runner {
  private readonly _worker = new Worker("runnerWorker.js", { type: "module" });
  private _begun = false;
  private _giveUp: (error: Error) => void = () => {};

  constructor(
    private readonly _runner: RunnerName,
    private readonly _model: string,
  ) {}

  /**
   * Run the network on pixels; the first call loads everything. Wait for each call before the next.
   *
   * @throws Error with the missing feature, or because the runner was closed in the meantime.
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

  /** Stop it, even during a frame. */
  close(): void {
    this._worker.terminate();
    this._giveUp(new Error("The runner was closed."));
  }
}
