/** Images for tasks, and the models that read them. */

import { GlslInfer, InputError, type Canvas, type Fit, type Picture, type PictureSource, type Results, type Tensor } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import type { Pixels } from "./cuts.ts";

/** An image for a task: a texture source, or an image file. */
export type Source = PictureSource | Blob;

/** A model with a single image input, and the shapes of its outputs. */
export class Network {
  private constructor(
    readonly model: GlslInfer,
    readonly entry: Extent & { readonly name: string; readonly fit: Fit },
    readonly shapes: ReadonlyMap<string, readonly number[]>,
  ) {}

  /**
   * Load a model, and run it once, because drivers postpone much work until then.
   *
   * @throws InputError it has other inputs; and as `GlslInfer.load`.
   */
  static async load(address: string, canvas: Canvas, progress?: (received: number, total: number) => void): Promise<Network> {
    const model = await GlslInfer.load(address, canvas, progress ? { progress } : {});
    try {
      const { name, fit, value } = model.session.picture;
      const entry = { name, fit, width: value.width, height: value.height };
      const black = new Uint8Array(4 * entry.width * entry.height);
      for (let at = 3; at < black.length; at += 4) black[at] = 255;
      const outputs = await model.run({ [name]: black });
      return new Network(model, entry, new Map(Object.values(outputs).map((output) => [output.name, output.shape])));
    } catch (error) {
      model.close();
      throw error;
    }
  }

  run(picture: Picture): Promise<Results> {
    return this.model.run({ [this.entry.name]: picture });
  }

  /**
   * Return the shape of an output.
   *
   * @throws InputError it does not exist.
   */
  shape(name: string): readonly number[] {
    const shape = this.shapes.get(name);
    if (!shape) throw new InputError(`no output '${name}'; the model has ${[...this.shapes.keys()].join(", ")}`);
    return shape;
  }

  /**
   * Return the total number of rows of some outputs.
   *
   * @throws InputError an output does not exist, or its length is not a multiple of `columns`.
   */
  rows(names: readonly string[], columns: number): number {
    return names.reduce((rows, name) => {
      const numbers = this.shape(name).reduce((product, side) => product * side, 1);
      if (numbers % columns) throw new InputError(`output '${name}' has ${numbers} numbers, not a multiple of ${columns}`);
      return rows + numbers / columns;
    }, 0);
  }
}

/** Return some outputs as a concatenated list. */
export function joined(outputs: Readonly<Record<string, Tensor>>, names: readonly string[]): Float32Array {
  const parts = names.map((name) => outputs[name]!.data);
  if (parts.length === 1) return parts[0]!;
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Return an image that can be drawn; a file is decoded, upright and in sRGB. */
export async function still(source: Source): Promise<PictureSource> {
  if (!(source instanceof Blob)) return source;
  return createImageBitmap(source, { premultiplyAlpha: "none", colorSpaceConversion: "default" });
}

/** Return width and height of an image in pixels; 0 if it has none yet. */
export function sizeOf(picture: PictureSource): Extent {
  if ("videoWidth" in picture) return { width: picture.videoWidth, height: picture.videoHeight };
  if ("naturalWidth" in picture) return { width: picture.naturalWidth, height: picture.naturalHeight };
  if ("displayWidth" in picture) return { width: picture.displayWidth, height: picture.displayHeight };
  return { width: picture.width, height: picture.height };
}

let reader: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | undefined;

/** Return the bytes of an image, or of a video's current frame. */
export function pixelsIn(picture: PictureSource): Pixels & ImageData {
  if (picture instanceof ImageData) return picture;
  const { width, height } = sizeOf(picture);
  if (!width || !height) throw new InputError("the image has no pixels (yet): wait until it is loaded or plays");
  reader ??= readerOf();
  reader.canvas.width = width;
  reader.canvas.height = height;
  reader.drawImage(picture, 0, 0, width, height);
  return reader.getImageData(0, 0, width, height);
}

function readerOf(): CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D {
  const canvas = typeof document === "undefined" ? new OffscreenCanvas(1, 1) : document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D | null;
  if (!context) throw new InputError("this browser draws no images; use another browser");
  return context;
}
