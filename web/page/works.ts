/** What the page does with pictures: a model whose output it shows, or a task whose findings it draws. */

import { fitted, GlslInfer, read, type Fit, type Picture, type Rectangle, type Session } from "glsl-infer";
import { draw, openTask, type Found, type MaskLook, type Task } from "glsl-infer/tasks";
import { page, say } from "./elements.ts";
import * as results from "./results.ts";
import { kilobytes } from "./results.ts";

/** Longest side to which a picture with findings is drawn, and the least: lines are no finer than its pixels. */
const [MOST_DRAWN, LEAST_DRAWN] = [1024, 640];

/** Longest side in pixels of the mask that shares are counted in. */
const COUNTED = 128;

/** What a network reads of a picture, in words. */
const READ: Record<Fit, string> = {
  "center-square/area-average": "the centred square",
  "center-crop/area-average": "the centre, in the shape of its own picture",
  "letterbox/area-average": "all of it, between black bars",
  "stretch/area-average": "all of it, stretched to its own shape",
};

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Something that is done with pictures. */
export interface Work {
  /** Its models: what it says about itself is theirs, and what is checked. */
  readonly models: readonly GlslInfer[];
  /** The model that reads the page's picture and nothing else, if there is one: its layers can be shown. */
  readonly model?: GlslInfer;
  /** What of it is in the page's list, and can be compared. */
  readonly listed?: string;
  /** Whether it draws on the pictures; else the page shows them. */
  readonly draws: boolean;
  /** Return the part of a picture of a size that is looked at. */
  part(size: Size): Rectangle;
  /** What is said of a picture that was looked at. */
  note(): string;
  /** Run on a picture or on a film's next frame, and return what shows the result, given how long it took. */
  run(source: ImageBitmap | HTMLVideoElement): Promise<(milliseconds: number) => void>;
  close(): void;
}

/**
 * Load a model, by its address or from a file.
 *
 * @throws Error it does not read a picture alone; and as `GlslInfer.load`.
 */
export async function openModel(source: string | File, name: string, listed: string | undefined): Promise<Work> {
  const given = typeof source === "string" ? source : await read(new Uint8Array(await source.arrayBuffer()), name);
  const model = await GlslInfer.load(given, undefined, { progress: (bytes, of) => loading(name, bytes, of) });
  let input: Session["picture"];
  try {
    input = pictureOf(model);
    // Drivers put much of the work off until the first frame, which is thus no measure of the others.
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

/** Load a task of the page's folder `tasks`. `look` says how masks are shown. */
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
      const found = await (source instanceof HTMLVideoElement ? task.follow(picture) : task.run(picture));
      return (took) => {
        last = found;
        showFound(task, picture, found, look());
        results.count(took);
      };
    },
    close: () => task.close(),
  };
}

/** Return the frame that a film shows now, so that what is found is drawn on the frame that it was found in. */
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
  page.picture.setAttribute("aria-label", `The picture, and drawn on it: ${description.what}; ${words(found)}`);
  results.showRows(rowsOf(found));
}

function words(found: Found): string {
  if (found.kind === "segmentation") return `${percent(shareOf(found))} of it belong to it`;
  if (found.kind === "classification") return `it shows ${found.labels[0]?.label ?? "nothing"}`;
  return found.things.length ? `${found.things.length} found` : "nothing found";
}

function rowsOf(found: Found): results.Row[] {
  if (found.kind === "segmentation") return [{ text: "Share of the picture", part: shareOf(found) }];
  if (found.kind === "classification") return found.labels.map(({ label, probability }) => ({ text: label, part: probability }));
  if (!found.things.length) return [{ text: "Nothing found" }];
  return found.things.slice(0, results.TOP).map((thing, i) => {
    const label = ("label" in thing && thing.label) || `No. ${i + 1}`;
    return { text: thing.points.length ? `${label}, ${thing.points.length} points` : label, part: thing.score };
  });
}

function shareOf({ mask }: Extract<Found, { kind: "segmentation" }>): number {
  const { width, height } = page.picture;
  const part = Math.min(1, COUNTED / Math.max(width, height)); // a share needs no more, and the CPU makes it
  const alpha = mask.alpha({ width: Math.ceil(part * width), height: Math.ceil(part * height) });
  return alpha.reduce((sum, one) => sum + one, 0) / 255 / alpha.length;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function loading(name: string, bytes: number, of: number): void {
  say(`Loading ${name}: ${kilobytes(bytes)}${of ? ` of ${kilobytes(of)}` : ""} …`);
}

/** Return the picture that a model reads, and refuse a model that reads anything else: this page has one picture to give. */
function pictureOf({ session }: GlslInfer): Session["picture"] {
  if (session.inputs.length === 1 && session.inputs[0]!.kind === "picture") return session.picture;
  const inputs = session.inputs.map(({ name, kind }) => `${name} (${kind === "picture" ? "a picture" : "numbers"})`);
  throw new Error(
    `This page shows models that read one picture. This one reads ${inputs.join(" and ")}. ` +
      "The library runs it: model.run({name: …}).",
  );
}
