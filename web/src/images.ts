/** Models that end in an image: their output as a picture. */

import { InputError } from "./errors.ts";
import { rangeOf } from "./layout.ts";
import type { Session, Tensor } from "./session.ts";

/**
 * Return a model's image as pixels: a number becomes the byte that stands for it in the model's input, clipped.
 *
 * @param output what `run` returned, (height, width, channels) with 1 or 3 channels.
 * @throws InputError the model ends in something that is no picture.
 */
export function toPicture(session: Session, output: Tensor): ImageData {
  const [height, width, channels] = output.shape;
  if (!height || !width || (channels !== 1 && channels !== 3)) {
    throw new InputError(`the model's output has the shape (${output.shape.join(", ")}); a picture has 1 or 3 channels`);
  }
  const entry = session.bundle.manifest.inputs[0]!.value;
  const pixels = new Uint8ClampedArray(4 * height * width).fill(255);
  for (let c = 0; c < 3; c++) {
    const from = channels === 3 ? c : 0;
    const [scale, zero] = rangeOf(entry, from);
    for (let i = 0; i < height * width; i++) {
      // Half a step up, as float32 has it: a byte between two is common where the ranges differ.
      pixels[4 * i + c] = Math.floor((output.data[i * channels + from]! * 255) / scale + zero + 0.5 + 2 ** -12);
    }
  }
  return new ImageData(pixels, width, height);
}
