/** Outputs that are images, as pictures. */

import { InputError } from "./errors.ts";
import type { Tensor } from "./frameReader.ts";
import { rangeOf } from "./layout.ts";
import type { Session } from "./session.ts";

/**
 * Return an image as pixels: a number becomes the byte that stands for it in the model's picture, clipped.
 *
 * That is the first input with a picture of as many channels; without one, 0 is black and 1 is white.
 *
 * @param output what `run` returned, (height, width, channels) with 1 or 3 channels, or (height, width).
 * @throws InputError it is no picture.
 */
export function toPicture(session: Session, output: Tensor): ImageData {
  const [height, width, channels = 1] = output.shape;
  if (!height || !width || output.shape.length > 3 || (channels !== 1 && channels !== 3)) {
    throw new InputError(`the model's output has the shape (${output.shape.join(", ")}); a picture has 1 or 3 channels`);
  }
  const input = session.inputs.find(({ kind, value }) => kind === "picture" && value.channels === channels);
  const pixels = new Uint8ClampedArray(4 * height * width).fill(255);
  for (let c = 0; c < 3; c++) {
    const from = channels === 3 ? c : 0;
    const [scale, zero] = input?.kind === "picture" ? rangeOf(input.value, from) : [1, 0];
    for (let i = 0; i < height * width; i++) {
      // Half a step up, as float32 has it: a byte between two is common where the ranges differ.
      pixels[4 * i + c] = Math.floor((output.data[i * channels + from]! * 255) / scale + zero + 0.5 + 2 ** -12);
    }
  }
  return new ImageData(pixels, width, height);
}
