/** Limits of a bundle's resources; glsl_infer/bundle/caps.py has the reasons. */

import type { Members } from "./container.ts";
import {
  MAX_DRAWN_TEXELS,
  MAX_RESULT,
  MAX_SHADER_BYTES,
  MAX_TEXTURE_BYTES,
} from "./formatConstants.ts";
import { areaOf, sizeOf } from "./layout.ts";
import { sum } from "./lists.ts";
import type { Manifest, Pass } from "./manifest.ts";
import { refuse } from "./refusal.ts";

/**
 * Refuse a manifest with larger resources than any network needs, other than the lengths of its lists. Throws
 * BundleError.
 */
export function checkCaps({ inputs, outputs, textures }: Manifest, members: Members): void {
  for (const { value } of inputs) atMost("numbers in an input", sizeOf(value), MAX_RESULT);
  for (const { values } of outputs) atMost("numbers in an output", sum(values, sizeOf), MAX_RESULT);
  atMost("bytes of textures", 4 * areaOf(textures), MAX_TEXTURE_BYTES);
  for (const [name, { length }] of members) {
    if (name.startsWith("shaders/")) atMost(`bytes of GLSL in '${name}'`, length, MAX_SHADER_BYTES);
  }
}

/** Refuse passes that occupy a GPU for longer than any network does. Throws BundleError. */
export function checkDrawnTexels(passes: readonly Pass[]): void {
  atMost("texels drawn in a frame", sum(passes, ({ quads }) => areaOf(quads)), MAX_DRAWN_TEXELS);
}

function atMost(what: string, count: number, cap: number): void {
  if (count > cap) refuse(`${count} ${what}; a model has at most ${cap}`);
}
