/** Encoding of input values in RGBA8 texels: docs/reference/bundle-format.md, "values in textures". */

import { InputError } from "./errors.ts";
import { isFixed, isMap, isRanged, rangeOf, sizeOf, sizeOfFixed, type Value } from "./layout.ts";
import { byteOf } from "./probe.ts";

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

/** Return the stored integer for column x, row y and channel c; a vector has columns only. */
type Stored = (x: number, y: number, c: number) => number;

/**
 * Encode values for upload, each rounded to the nearest stored value.
 *
 * @param numbers as many as the value has: (length,) for a vector, (height, width, channels) for a map.
 * @throws InputError their count is wrong, or one is not a number.
 */
export function encoded(numbers: Numbers, value: Value, name: string): Upload[] {
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
export function probeUploads(value: Value, index: number): Upload[] {
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
