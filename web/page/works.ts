/** Processing of images in the page: by a model whose output is shown, or by a task that draws its results. */

import { fitted, GlslInfer, read, type Fit, type Picture, type Rectangle, type Session } from "glsl-infer";
import { draw, openTask, type Found, type MaskLook, type Task } from "glsl-infer/tasks";
import { page, say } from "./elements.ts";
import * as results from "./results.ts";
import { kilobytes } from "./results.ts";

/** Largest and smallest longest side of an image with results; lines are no finer than its pixels. */
const [MOST_DRAWN, LEAST_DRAWN] = [1024, 640];

/** Longest side in pixels of the mask for computing shares. */
const COUNTED = 128;

/** Description of the region that a network reads, for each fit. */
const READ: Record<Fit, string> = {
  "center-square/area-average": "the centred square",
  "center-crop/area-average": "the centre, in the shape of its own image",
  "letterbox/area-average": "all of it, between black bars",
  "stretch/area-average": "all of it, stretched to its own shape",
};

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Processing of images by a model or task. */
export interface Work {
  /** Its models, for the self-check and descriptions. */
  readonly models: readonly GlslInfer[];
  /** The model that reads the page's image alone, if there is one: its layers can be shown. */
  readonly model?: GlslInfer;
  /** Its file in the page's list, which can be compared. */
  readonly listed?: string;
  /** True if it draws on images; otherwise the page shows them. */
  readonly draws: boolean;
  /** Return the region that is read of an image of that size. */
  part(size: Size): Rectangle;
  /** Return a description of the last result. */
  note(): string;
  /** Process an image or the next video frame, and return a function that shows the result with its time. */
  run(source: ImageBitmap | HTMLVideoElement): Promise<(milliseconds: number) => void>;
  close(): void;
}

/**
 * Load a model from its address or a file.
 *
 * @throws Error it has other inputs than one image; and as `GlslInfer.load`.
 */
export async function openModel(source: string | File, name: string, listed: string | undefined): Promise<Work> {
  const file = typeof source === "string" ? source : await read(new Uint8Array(await source.arrayBuffer()), name);
  const model = await GlslInfer.load(file, undefined, { progress: (bytes, of) => loading(name, bytes, of) });
  let input: Session["picture"];
  try {
    input = pictureOf(model);
    // Drivers postpone much work until the first frame, whose time would be misleading.
    await model.run({ [input.name]: new Uint8Array(4 * input.value.width * input.value.height) });
  } catch (error) {
    model.close();
    throw error;
  }
  return {
    models: [model],
    model,
    ...(listed !== undefined && { listed }),
    draws: false,
    part: (size) => fitted(input.fit, size, input.value).from,
    note: () => `; the network reads ${READ[input.fit]}`,
    async run(picture: Picture) {
      const outputs = await model.run({ [input.name]: picture });
      return (took) => results.show(model, outputs, took);
    },
    close: () => model.close(),
  };
}

/** Load a task of the page's folder `tasks`. `look` is the style of masks. */
export async function openWork(address: string, models: Readonly<Record<string, string>>, look: () => MaskLook): Promise<Work> {
  const task = await openTask(address, { locate: (name) => models[name] ?? `models/${name}.glslnn`, progress: loading });
  const [network] = task.networks;
  const alone = task.networks.length === 1;
  const still = document.createElement("canvas");
  let last: Found | undefined;
  return {
    models: task.networks.map(({ model }) => model),
    ...(alone && network && { model: network.model }),
    draws: true,
    part: ({ width, height }) => ({ x: 0, y: 0, width, height }),
    note: () => (last ? `; ${words(last)}` : ""),
    async run(source) {
      const picture = source instanceof HTMLVideoElement ? frameOf(source, still) : source;
      const result = await (source instanceof HTMLVideoElement ? task.follow(picture) : task.run(picture));
      return (took) => {
        last = result;
        showFound(task, picture, result, look());
        results.count(took);
      };
    },
    close: () => task.close(),
  };
}

/** Return the current frame of a video, so that results are drawn on their own frame. */
function frameOf(video: HTMLVideoElement, canvas: HTMLCanvasElement): HTMLCanvasElement {
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d")?.drawImage(video, 0, 0);
  return canvas;
}

function showFound({ description }: Task, picture: ImageBitmap | HTMLCanvasElement, found: Found, look: MaskLook): void {
  const longest = Math.max(picture.width, picture.height);
  const zoom = Math.min(Math.max(longest, LEAST_DRAWN), MOST_DRAWN) / longest;
  page.picture.width = Math.max(1, Math.round(zoom * picture.width));
  page.picture.height = Math.max(1, Math.round(zoom * picture.height));
  draw(page.picture, picture, found, look);
  page.picture.setAttribute("aria-label", `The image, and drawn on it: ${description.what}; ${words(found)}`);
  results.showRows(rowsOf(found));
}

function words(found: Found): string {
  if (found.kind === "segmentation") return `${percent(shareOf(found))} of it belong to it`;
  if (found.kind === "classification") return `it shows ${found.labels[0]?.label ?? "nothing"}`;
  return found.things.length ? `${found.things.length} found` : "nothing found";
}

function rowsOf(found: Found): results.Row[] {
  if (found.kind === "segmentation") return [{ text: "Share of the image", part: shareOf(found) }];
  if (found.kind === "classification") return found.labels.map(({ label, probability }) => ({ text: label, part: probability }));
  if (!found.things.length) return [{ text: "Nothing found" }];
  return found.things.slice(0, results.TOP).map((item, i) => {
    const label = ("label" in item && item.label) || `No. ${i + 1}`;
    return { text: item.points.length ? `${label}, ${item.points.length} points` : label, part: item.score };
  });
}

function shareOf({ mask }: Extract<Found, { kind: "segmentation" }>): number {
  const { width, height } = page.picture;
  const part = Math.min(1, COUNTED / Math.max(width, height)); // enough for a share, and computed by the CPU
  const alpha = mask.alpha({ width: Math.ceil(part * width), height: Math.ceil(part * height) });
  return alpha.reduce((sum, value) => sum + value, 0) / 255 / alpha.length;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function loading(name: string, received: number, total: number): void {
  say(`Loading ${name}: ${kilobytes(received)}${total ? ` of ${kilobytes(total)}` : ""} …`);
}

/** Return the image input of a model. A model with other inputs is refused, because the page has a single image. */
function pictureOf({ session }: GlslInfer): Session["picture"] {
  if (session.inputs.length === 1 && session.inputs[0]!.kind === "picture") return session.picture;
  const inputs = session.inputs.map(({ name, kind }) => `${name} (${kind === "picture" ? "an image" : "numbers"})`);
  throw new Error(
    `This page shows models that read one image. This one reads ${inputs.join(" and ")}. ` +
      "The library runs it: model.run({name: …}).",
  );
}
