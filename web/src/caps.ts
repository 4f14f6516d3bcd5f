/** The most that a bundle may ask for; glsl_infer/bundle/caps.py says why. */

import type { Members } from "./container.ts";
import {
  MAX_DRAWN_TEXELS,
  MAX_FLOATS,
  MAX_LAYERS,
  MAX_PASSES,
  MAX_PROGRAMS,
  MAX_QUADS,
  MAX_SHADER_BYTES,
  MAX_TEXTURES,
  MAX_TEXTURE_BYTES,
} from "./formatConstants.ts";
import { areaOf } from "./layout.ts";
import { sum } from "./lists.ts";
import type { Manifest, Pass } from "./manifest.ts";
import { refuse } from "./refusal.ts";

/** Refuse a manifest that asks for more than any network needs. Throws BundleError. */
export function checkCaps({ layers, floats, passes, programs, textures }: Manifest, members: Members): void {
  atMost("layers", layers.length, MAX_LAYERS);
  atMost("members with floats", floats.length, MAX_FLOATS);
  atMost("textures", textures.length, MAX_TEXTURES);
  atMost("programs", programs.length, MAX_PROGRAMS);
  atMost("passes", passes.count, MAX_PASSES);
  atMost("quads", passes.quads, MAX_QUADS);
  atMost("bytes of textures", 4 * areaOf(textures), MAX_TEXTURE_BYTES);
  for (const [name, { length }] of members) {
    if (name.startsWith("shaders/")) atMost(`bytes of GLSL in '${name}'`, length, MAX_SHADER_BYTES);
  }
}

/** Refuse passes that keep a GPU busy for longer than any network does. Throws BundleError. */
export function checkDrawnTexels(passes: readonly Pass[]): void {
  atMost("texels drawn in a frame", sum(passes, (one) => areaOf(one.quads)), MAX_DRAWN_TEXELS);
}

function atMost(what: string, count: number, cap: number): void {
  if (count > cap) refuse(`${count} ${what}; a model has at most ${cap}`);
}
