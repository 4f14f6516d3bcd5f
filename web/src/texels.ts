/** Decoding of RGBA8 texels of a layer's output. */

import { isFixed, isMap, isRanged, rangeOf, type Value, type View } from "./layout.ts";

/** Content of a texture: 4 bytes for each texel, first row first. */
export interface Texels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Return the 16-bit integer of fixed point in two bytes: `(high - 128) * 256 + low`. */
export function joinFixed16(high: number, low: number): number {
  return (high - 128) * 256 + low;
}

/**
 * Return the values in textures, in the order of `shapeOf(value)`, in row-major order.
 *
 * @param value layout of a layer's output.
 * @param textures contents of the textures, by name.
 */
export function unpack(value: Value, textures: ReadonlyMap<string, Texels>): Float64Array {
  // Partial sums are decoded as a row of pixels, one for each column; a vector is one pixel.
  const [height, width, channels] =
    isFixed(value) ? [1, value.columns || 1, value.length] : [value.height, value.width, value.channels];
  const perTexel = isMap(value) ? 4 : 2;
  const numbers = new Float64Array(height * width * channels);
  for (let c = 0; c < channels; c++) {
    const view = viewOf(value, Math.floor(c / perTexel));
    const texels = textures.get(view.texture)!;
    // 128 and 0 are the bytes of the value 0 in fixed point.
    const [scale, zero, unit] = isRanged(value) ? [...rangeOf(value, c), 255] : [value.scale, 128, 1];
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const at = 4 * ((view.y + y) * texels.width + view.x + x) + (4 / perTexel) * (c % perTexel);
        const low = perTexel === 4 ? 0 : texels.data[at + 1]! / 256;
        numbers[(y * width + x) * channels + c] = (scale * (texels.data[at]! + low - zero)) / unit;
      }
    }
  }
  return numbers;
}

/** Return the position of the `index`-th texels of all pixels. */
function viewOf(value: Value, index: number): View {
  if (!isFixed(value)) return value.views[index]!;
  const { texture, columns } = value;
  return columns ? { texture, x: 0, y: index } : { texture, x: index, y: 0 };
}
