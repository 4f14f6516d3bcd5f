/** A task: bundles on the GPU, and the decoding of their outputs. */

import { InputError, type PictureSource } from "glsl-infer";
import type { Description } from "./description.ts";
import { Detector } from "./detection.ts";
import { Landmarker } from "./landmarks.ts";
import { Mask } from "./masks.ts";
import { Network, sizeOf, still, type Source } from "./picture.ts";
import { readTask } from "./reading.ts";
import type { Found } from "./results.ts";

/** Settings of `openTask`. */
export interface TaskOptions {
  /** Returns the address of a model given by name, not as a file (`*.glslnn`); by default `models/NAME.glslnn`. */
  readonly locate?: (model: string) => string;
  /** Called with a model, its received bytes, and its size (0 if the server does not send it). */
  readonly progress?: (model: string, received: number, total: number) => void;
}

/** A task that finds something in images; `close` it when it is no longer needed. */
export class Task {
  constructor(
    readonly description: Description,
    /** Its own network, followed by the detector's. */
    readonly networks: readonly Network[],
    private readonly _run: (picture: PictureSource, followed: boolean) => Promise<Found>,
    private readonly _close: () => void = () => {},
  ) {}

  /** Return the results for an image. */
  run(picture: Source): Promise<Found> {
    return this._find(picture, false);
  }

  /** Return the results for the next frame of a video; some tasks use those of the previous frame. */
  follow(picture: Source): Promise<Found> {
    return this._find(picture, true);
  }

  /** Free the GPU resources. */
  close(): void {
    this._close();
    free(this.networks);
  }

  private async _find(source: Source, followed: boolean): Promise<Found> {
    const picture = await still(source);
    try {
      return await this._run(picture, followed);
    } finally {
      if (picture !== source && picture instanceof ImageBitmap) picture.close();
    }
  }
}

/** Close networks, and release their shared context. */
function free(networks: readonly Network[]): void {
  for (const { model } of networks) model.close();
  networks[0]?.model.session.context.gl.getExtension("WEBGL_lose_context")?.loseContext();
}

/**
 * Load a task and its models.
 *
 * @param address address of its JSON file (docs/reference/task-files.md); its detector is in the same folder.
 * @throws InputError the file is invalid, or does not fit its model; and as `GlslInfer.load`.
 */
export async function openTask(address: string, options: TaskOptions = {}): Promise<Task> {
  const canvas = document.createElement("canvas"); // all networks of a task share its context
  canvas.width = canvas.height = 1;
  const loaded: Network[] = [];

  async function network(description: Description, base: string): Promise<Network> {
    const { model } = description;
    const locate = options.locate ?? ((name: string) => `models/${name}.glslnn`);
    const where = model.endsWith(".glslnn") ? new URL(model, base).href : locate(model);
    const opened = await Network.load(where, canvas, (received, total) => options.progress?.(model, received, total));
    loaded.push(opened);
    return opened;
  }

  async function detector(description: Description, base: string, by?: string): Promise<Detector> {
    const { rules, name } = description;
    if (rules.task !== "detection") {
      throw new InputError(`${by}: its detector '${name}' is a task for ${rules.task}; name one for detection`);
    }
    const read = await network(description, base);
    return named(description, () => new Detector(read, rules));
  }

  const base = new URL(address, document.baseURI).href;
  const description = await fetchTask(base);
  const { rules } = description;
  try {
    if (rules.task === "detection") {
      const finder = await detector(description, base);
      return new Task(description, [finder.network], (picture) => finder.run(picture));
    }
    const own = await network(description, base);
    if (rules.task === "landmarks") {
      const file = rules.detector.endsWith(".json") ? rules.detector : `${rules.detector}.json`;
      const detectorAddress = new URL(file, base).href;
      const finder = await detector(await fetchTask(detectorAddress), detectorAddress, description.name);
      const landmarker = named(description, () => new Landmarker(own, rules, finder));
      const run = (picture: PictureSource, followed: boolean) => (followed ? landmarker.follow(picture) : landmarker.run(picture));
      return new Task(description, [own, finder.network], run, () => landmarker.close());
    }
    if (rules.task === "classification") {
      return new Task(description, [own], async (picture) => {
        const { labels } = await own.model.classify(picture, rules.top);
        return { kind: "classification", size: sizeOf(picture), labels };
      });
    }
    named(description, () => checkMask(own, rules.mask, rules.channel));
    return new Task(description, [own], async (picture) => {
      const size = sizeOf(picture);
      const outputs = await own.run(picture);
      return { kind: "segmentation", size, mask: new Mask(outputs[rules.mask]!, rules, own.entry, size) };
    });
  } catch (error) {
    free(loaded);
    throw error;
  }
}

/**
 * Fetch and read a task's file.
 *
 * @throws InputError it is missing or invalid.
 */
export async function fetchTask(address: string): Promise<Description> {
  const name = address.replace(/.*\//, "").replace(/\.json$/, "");
  const response = await fetch(address).catch((error: Error) => error);
  if (response instanceof Error) throw new InputError(`${address}: cannot be fetched (${response.message})`);
  if (!response.ok) throw new InputError(`${address}: cannot be fetched (HTTP ${response.status})`);
  return readTask(name, await response.text());
}

function checkMask(network: Network, name: string, channel: number): void {
  const shape = network.shape(name);
  if (shape.length !== 2 && shape.length !== 3) {
    throw new InputError(`output '${name}' has the shape (${shape.join(", ")}); a mask is (height, width[, classes])`);
  }
  if (shape.length === 3 && channel >= shape[2]!) {
    throw new InputError(`'channel' is ${channel}; output '${name}' has ${shape[2]}, from 0 on`);
  }
}

/** Call a function; its errors name the task and its model. */
function named<T>({ name, model }: Description, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new InputError(`${name}.json, with the model ${model}: ${(error as Error).message}`);
  }
}
