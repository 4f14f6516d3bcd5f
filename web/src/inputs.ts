/**
 * Input values of a model: assignment to its inputs, and their encoding in RGBA8 texels
 * (docs/reference/bundle-format.md, "values in textures").
 */

import { ImageError, InputError } from "./errors.ts";
import { isFixed, isMap, isRanged, rangeOf, sizeOf, sizeOfFixed, type FeatureMap, type Value } from "./layout.ts";
import type { Input } from "./manifest.ts";
import type { PictureSource } from "./preprocess.ts";
import { byteOf } from "./probe.ts";

/** Bytes of pixels, starting with the top row. */
export type Pixels = Uint8Array | Uint8ClampedArray;

/** Numbers of any type, in row-major order. */
export type Numbers = ArrayLike<number | bigint>;

/** A rectangle of a texture and its new texels. */
export interface Upload {
  readonly texture: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Bytes in an input's own size, or a source for a texture. */
export type Picture = Pixels | PictureSource;

/** Value of an input: an image, or values of any type in row-major order. */
export type Given = Picture | Numbers;

/** Values of all inputs, by name. */
export type Inputs = Readonly<Record<string, Given>>;

/** Return whether inputs are given by name: a plain object. */
export function isNamed<T extends object>(inputs: T | Readonly<Record<string, T>>): inputs is Readonly<Record<string, T>> {
  const prototype = Object.getPrototypeOf(inputs) as unknown;
  return prototype === Object.prototype || prototype === null;
}

/** Return names as a list for messages. */
export function listed(entries: readonly { readonly name: string }[]): string {
  return entries.map(({ name }) => `'${name}'`).join(", ");
}

/**
 * Return all inputs with their values.
 *
 * @throws InputError with the name of the first missing or unknown input.
 */
export function matched(inputs: readonly Input[], values: Inputs): [Input, Given][] {
  const remaining = new Map(Object.entries(values));
  const pairs = inputs.map((input): [Input, Given] => {
    const entry = remaining.get(input.name);
    if (entry === undefined) throw new InputError(`input '${input.name}' is missing; the model reads ${listed(inputs)}`);
    remaining.delete(input.name);
    return [input, entry];
  });
  const [unknown] = remaining.keys();
  if (unknown !== undefined) throw new InputError(`the model has no input '${unknown}'; it reads ${listed(inputs)}`);
  return pairs;
}

/**
 * Return the uploads for an input, or the image that shaders scale into it.
 *
 * @throws InputError the input has another kind.
 * @throws ImageError the bytes have another size.
 */
export function uploadOf(input: Input, content: Given): readonly Upload[] | PictureSource {
  const { name, kind, value } = input;
  const isList = Array.isArray(content) || (ArrayBuffer.isView(content) && !(content instanceof DataView));
  if (kind === "numbers") {
    if (!isList) throw new InputError(`input '${name}' reads numbers; give an array of them`);
    return encoded(content as Numbers, value, name);
  }
  if (content instanceof Uint8Array || content instanceof Uint8ClampedArray) {
    return [{ ...value, ...value.views[0]!, data: rgbaOf(content, value) }];
  }
  if (isList) {
    throw new InputError(`input '${name}' is an image; give its bytes as Uint8Array, or a video, an <img> or a canvas`);
  }
  return content as PictureSource;
}

/** Return the uploads of the probe for the `index`-th input. */
export function probeOf({ kind, value }: Input, index: number): readonly Upload[] {
  const uploads = probeUploads(value, index);
  if (kind === "picture" && value.channels < 4) {
    const { data } = uploads[0]!;
    for (let at = 3; at < data.length; at += 4) data[at] = 255; // opaque pixels
  }
  return uploads;
}

/** Return the stored integer for column x, row y and channel c; a vector has columns only. */
type Stored = (x: number, y: number, c: number) => number;

/**
 * Encode values for upload, each rounded to the nearest stored value.
 *
 * @param numbers as many as the value has: (length,) for a vector, (height, width, channels) for a map.
 * @throws InputError their count is wrong, or one is not a number.
 */
function encoded(numbers: Numbers, value: Value, name: string): Upload[] {
  if (numbers.length !== sizeOf(value)) {
    throw new InputError(`input '${name}': ${numbers.length} numbers were given; the model reads ${sizeOf(value)}`);
  }
  const [width, channels] = isFixed(value) ? [value.length, 1] : [value.width, value.channels];
  return uploads(value, (x, y, c) => {
    const number = Number(numbers[(y * width + x) * channels + c]!);
    if (Number.isNaN(number)) throw new InputError(`input '${name}': one of its numbers is NaN; give numbers alone`);
    if (!isRanged(value)) return clipped((number / value.scale) * 256, -32768, 32767);
    const [scale, zero] = rangeOf(value, c);
    const steps = (number / scale) * 255 + zero;
    return isMap(value) ? clipped(steps, 0, 255) : clipped(256 * steps, 0, 65280) - 32768;
  });
}

/** Return the uploads for the `index`-th input of the probe, an image or values. */
function probeUploads(value: Value, index: number): Upload[] {
  const stored: Stored = (x, y, c) => byteOf(x, y, c, index);
  return uploads(value, isMap(value) ? stored : (x, y, c) => 256 * (stored(x, y, c) - 128));
}

function clipped(number: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, Math.floor(number + 0.5)));
}

function uploads(value: Value, stored: Stored): Upload[] {
  if (isFixed(value)) {
    const [width, height] = sizeOfFixed(value);
    const data = new Uint8Array(4 * width);
    for (let i = 0; i < value.length; i++) putFixed16(data, 2 * i, stored(i, 0, 0));
    return [{ texture: value.texture, x: 0, y: 0, width, height, data }];
  }
  const { width, height, channels, views } = value;
  const perView = isMap(value) ? 4 : 2;
  return views.map((view, index) => {
    const data = new Uint8Array(4 * width * height);
    const first = perView * index;
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        for (let k = 0; k < perView && first + k < channels; k++) {
          if (isMap(value)) data[at + k] = stored(x, y, first + k);
          else putFixed16(data, at + 2 * k, stored(x, y, first + k));
        }
      }
    }
    return { ...view, width, height, data };
  });
}

/** Store an integer from -32768 to 32767 in two bytes, high and low. */
function putFixed16(data: Uint8Array, at: number, number: number): void {
  data[at] = (number >> 8) + 128;
  data[at + 1] = number & 255;
}

/**
 * Return the RGBA bytes to upload for an image.
 *
 * @param pixels RGBA, or as many bytes for each pixel as the input has channels. RGBA is composited over white if the
 *     input has no alpha, and converted to grey for an input with one channel.
 * @throws ImageError their count is wrong.
 */
function rgbaOf(pixels: Pixels, { width, height, channels }: FeatureMap): Uint8Array {
  const count = width * height;
  const perPixel = pixels.length / count;
  if (perPixel !== 4 && perPixel !== channels) {
    const other = channels === 4 ? "" : `, or ${channels * count}: ${channels === 1 ? "grey" : "RGB"}`;
    throw new ImageError(
      `${pixels.length} bytes were given; the model reads ${4 * count}: RGBA of ${width} x ${height} pixels${other} ` +
        "(a video, an image or a canvas may have any size)",
    );
  }
  if (channels === 4 || (channels === 3 && perPixel === 4 && isOpaque(pixels))) {
    return new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.length); // WebGL 1 rejects clamped arrays
  }
  const bytes = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    const at = perPixel * i;
    const alpha = perPixel === 4 ? pixels[at + 3]! : 255;
    const byte = (c: number): number => overWhite(pixels[at + (perPixel === 1 ? 0 : c)]!, alpha);
    const [red, green, blue] = [byte(0), byte(1), byte(2)];
    bytes.set(channels === 1 ? [grey(red, green, blue), 0, 0, 255] : [red, green, blue, 255], 4 * i);
  }
  return bytes;
}

function isOpaque(rgba: Pixels): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return false;
  return true;
}

/** Return a byte composited over white, rounded to nearest. */
function overWhite(byte: number, alpha: number): number {
  return Math.floor((2 * (byte * alpha + 255 * (255 - alpha)) + 255) / 510);
}

/** Return the BT.601 luma, computed in 16-bit fixed point. */
function grey(red: number, green: number, blue: number): number {
  return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}
