/** The most that a bundle may ask for; glsl_infer/caps.py says why. */

import type { Members } from "./container.ts";
import { most, sum } from "./lists.ts";
import type { Manifest } from "./manifest.ts";
import { refuse } from "./refusal.ts";

/** Bytes of manifest.json. */
export const MAX_MANIFEST_BYTES = 16 * 2 ** 20;

/** Refuse a manifest that asks for more than any network needs. Throws BundleError. */
export function checkCaps({ model: { layers }, passes, programs, textures }: Manifest, members: Members): void {
  const quads = passes.flatMap((one) => one.quads);
  const area = (one: { readonly width: number; readonly height: number }): number => one.width * one.height;
  atMost("layers", layers.length, 2048);
  atMost("textures", textures.length, 2 ** 14);
  atMost("programs", programs.length, 2 ** 14);
  atMost("passes", passes.length, 2 ** 16);
  atMost("quads", quads.length, 2 ** 18);
  atMost("bytes of textures", 4 * sum(textures, area), 2 ** 28);
  atMost("texels drawn in a frame", sum(quads, area), 2 ** 28);
  for (const [name, { length }] of members) {
    if (name.startsWith("shaders/")) atMost(`bytes of GLSL in '${name}'`, length, 2 ** 18);
  }
  for (const { name, weights } of layers) {
    atMost(`dimensions of a weight of layer '${name}'`, most(weights.values(), (shape) => shape.length), 4);
  }
}

function atMost(what: string, count: number, cap: number): void {
  if (count > cap) refuse(`${count} ${what}; a model has at most ${cap}`);
}
