/** Conversion of image outputs to images. */

import { InputError } from "./errors.ts";
import type { Tensor } from "./frameReader.ts";
import { rangeOf } from "./layout.ts";
import type { Session } from "./session.ts";

/**
 * Return an output as an image: each value becomes the byte that has this value in the model's input image, clipped.
 *
 * The first input image with as many channels is used; without one, 0 is black and 1 is white.
 *
 * @param output result of `run`, (height, width, channels) with 1 or 3 channels, or (height, width).
 * @throws InputError it has another shape.
 */
export function toPicture(session: Session, output: Tensor): ImageData {
  const [height, width, channels = 1] = output.shape;
  if (!height || !width || output.shape.length > 3 || (channels !== 1 && channels !== 3)) {
    throw new InputError(`the model's output has the shape (${output.shape.join(", ")}); an image has 1 or 3 channels`);
  }
  const input = session.inputs.find(({ kind, value }) => kind === "picture" && value.channels === channels);
  const pixels = new Uint8ClampedArray(4 * height * width).fill(255);
  for (let c = 0; c < 3; c++) {
    const from = channels === 3 ? c : 0;
    const [scale, zero] = input?.kind === "picture" ? rangeOf(input.value, from) : [1, 0];
    for (let i = 0; i < height * width; i++) {
      // Halves round up, as in float32: they are common if the ranges differ.
      pixels[4 * i + c] = Math.floor((output.data[i * channels + from]! * 255) / scale + zero + 0.5 + 2 ** -12);
    }
  }
  return new ImageData(pixels, width, height);
}
