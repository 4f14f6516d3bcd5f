/** Input values of a model: assignment to its inputs, and uploads. */

import { encoded, probeUploads, type Numbers, type Upload } from "./encode.ts";
import { InputError } from "./errors.ts";
import type { Input } from "./manifest.ts";
import { uploaded, type Pixels } from "./picturePixels.ts";
import type { PictureSource } from "./preprocess.ts";

/** Bytes in an input's own size, or a source for a texture. */
export type Picture = Pixels | PictureSource;

/** Value of an input: an image, or values of any type in row-major order. */
export type Given = Picture | Numbers;

/** Values of all inputs, by name. */
export type Inputs = Readonly<Record<string, Given>>;

/** Return whether inputs are given by name: a plain object. */
export function isNamed<T extends object>(given: T | Readonly<Record<string, T>>): given is Readonly<Record<string, T>> {
  const prototype = Object.getPrototypeOf(given) as unknown;
  return prototype === Object.prototype || prototype === null;
}

/** Return names as a list for messages. */
export function listed(ends: readonly { readonly name: string }[]): string {
  return ends.map(({ name }) => `'${name}'`).join(", ");
}

/**
 * Return all inputs with their values.
 *
 * @throws InputError with the name of the first missing or unknown input.
 */
export function matched(inputs: readonly Input[], given: Inputs): [Input, Given][] {
  const left = new Map(Object.entries(given));
  const pairs = inputs.map((input): [Input, Given] => {
    const entry = left.get(input.name);
    if (entry === undefined) throw new InputError(`input '${input.name}' is missing; the model reads ${listed(inputs)}`);
    left.delete(input.name);
    return [input, entry];
  });
  const [unknown] = left.keys();
  if (unknown !== undefined) throw new InputError(`the model has no input '${unknown}'; it reads ${listed(inputs)}`);
  return pairs;
}

/**
 * Return the uploads for an input, or the image that shaders scale into it.
 *
 * @throws InputError the input has another kind.
 * @throws ImageError the bytes have another size.
 */
export function uploadOf(input: Input, given: Given): readonly Upload[] | PictureSource {
  const { name, kind, value } = input;
  const isList = Array.isArray(given) || (ArrayBuffer.isView(given) && !(given instanceof DataView));
  if (kind === "numbers") {
    if (!isList) throw new InputError(`input '${name}' reads numbers; give an array of them`);
    return encoded(given as Numbers, value, name);
  }
  if (given instanceof Uint8Array || given instanceof Uint8ClampedArray) {
    return [{ ...value, ...value.views[0]!, data: uploaded(given, value) }];
  }
  if (isList) {
    throw new InputError(`input '${name}' is a picture; give its bytes as Uint8Array, or a video, an image or a canvas`);
  }
  return given as PictureSource;
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
