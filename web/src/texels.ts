/** From the RGBA8 texels that hold a layer's output to its numbers. */

import { slicesOf, type FeatureMap, type FixedMap, type FixedPoint, type Value } from "./layout.ts";

/** A texture read back: 4 bytes a texel, first row first. */
export interface Texels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Return the 16-bit integer n of fixed point that two bytes hold: `(high - 128) * 256 + low`. */
export function joinFixed16(high: number, low: number): number {
  return (high - 128) * 256 + low;
}

/**
 * Return the numbers that textures hold, in the order of `shapeOf(value)`, row by row.
 *
 * @param value where a layer's output lies.
 * @param textures read back, by name.
 */
export function unpack(value: Value, textures: ReadonlyMap<string, Texels>): Float32Array {
  if (value.kind === "fixed") return unpackFixed(value, textures.get(value.texture)!);
  return value.kind === "map" ? unpackMap(value, textures) : unpackFixedMap(value, textures);
}

function unpackFixed(value: FixedPoint, texels: Texels): Float32Array {
  const rows = Math.max(1, value.columns);
  const numbers = new Float32Array(rows * value.length);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < value.length; i++) {
      const [x, y] = value.columns ? [row, i >> 1] : [i >> 1, 0];
      const at = 4 * (y * texels.width + x) + 2 * (i & 1);
      numbers[row * value.length + i] = (joinFixed16(texels.data[at]!, texels.data[at + 1]!) * value.scale) / 256;
    }
  }
  return numbers;
}

function unpackMap(value: FeatureMap, textures: ReadonlyMap<string, Texels>): Float32Array {
  const { height, width, channels } = value;
  const numbers = new Float32Array(height * width * channels);
  for (let c = 0; c < channels; c++) {
    const view = value.views[c >> 2]!;
    const texels = textures.get(view.texture)!;
    const scale = value.scales[value.scales.length > 1 ? c : 0]!;
    const zero = value.zeros[value.zeros.length > 1 ? c : 0]!;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const byte = texels.data[4 * ((view.y + y) * texels.width + view.x + x) + (c & 3)]!;
        numbers[(y * width + x) * channels + c] = (scale * (byte - zero)) / 255;
      }
    }
  }
  return numbers;
}

function unpackFixedMap(value: FixedMap, textures: ReadonlyMap<string, Texels>): Float32Array {
  const { height, width, channels, scale } = value;
  const numbers = new Float32Array(height * width * channels);
  for (let c = 0; c < channels; c++) {
    const view = value.views[slicesOf(c + 1, 2) - 1]!;
    const texels = textures.get(view.texture)!;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const at = 4 * ((view.y + y) * texels.width + view.x + x) + 2 * (c & 1);
        numbers[(y * width + x) * channels + c] = (joinFixed16(texels.data[at]!, texels.data[at + 1]!) * scale) / 256;
      }
    }
  }
  return numbers;
}
