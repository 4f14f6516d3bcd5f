/** Images given as bytes in an input's own size, and their upload. */

import { ImageError } from "./errors.ts";
import type { FeatureMap } from "./layout.ts";

/** Bytes of pixels, starting with the top row. */
export type Pixels = Uint8Array | Uint8ClampedArray;

/**
 * Return the RGBA bytes to upload for an image.
 *
 * @param pixels RGBA, or as many bytes for each pixel as the input has channels. RGBA is composited over white if the
 *     input has no alpha, and converted to grey for an input with one channel.
 * @throws ImageError their count is wrong.
 */
export function uploaded(pixels: Pixels, { width, height, channels }: FeatureMap): Uint8Array {
  const count = width * height;
  const given = pixels.length / count;
  if (given !== 4 && given !== channels) {
    const other = channels === 4 ? "" : `, or ${channels * count}: ${channels === 1 ? "grey" : "RGB"}`;
    throw new ImageError(
      `${pixels.length} bytes were given; the model reads ${4 * count}: RGBA of ${width} x ${height} pixels${other} ` +
        "(a video, an image or a canvas may have any size)",
    );
  }
  if (channels === 4 || (channels === 3 && given === 4 && isOpaque(pixels))) {
    return new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.length); // WebGL 1 rejects clamped arrays
  }
  const bytes = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    const at = given * i;
    const alpha = given === 4 ? pixels[at + 3]! : 255;
    const byte = (c: number): number => overWhite(pixels[at + (given === 1 ? 0 : c)]!, alpha);
    const [red, green, blue] = [byte(0), byte(1), byte(2)];
    bytes.set(channels === 1 ? [grey(red, green, blue), 0, 0, 255] : [red, green, blue, 255], 4 * i);
  }
  return bytes;
}

function isOpaque(rgba: Pixels): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return false;
  return true;
}

function overWhite(byte: number, alpha: number): number {
  return Math.floor((2 * (byte * alpha + 255 * (255 - alpha)) + 255) / 510);
}

function grey(red: number, green: number, blue: number): number {
  return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}
