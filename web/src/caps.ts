/** The most that a bundle may ask for; glsl_infer/bundle/caps.py says why, docs/bundle-format.md lists them. */

import type { Members } from "./container.ts";
import { areaOf } from "./layout.ts";
import { sum } from "./lists.ts";
import type { Manifest, Pass } from "./manifest.ts";
import { refuse } from "./refusal.ts";

/** Bytes that all members may unpack to. */
export const MAX_BYTES = 256 * 2 ** 20;
/** Bytes of manifest.json, and of graph.json. */
export const MAX_JSON_BYTES = 16 * 2 ** 20;
/** Bytes of the zip's central directory. */
export const MAX_DIRECTORY_BYTES = 16 * 2 ** 20;
/** Bytes of one member of GLSL. */
const MAX_SHADER_BYTES = 2 ** 18;
const MAX_LAYERS = 2048;
const MAX_TEXTURES = 2 ** 14;
const MAX_PROGRAMS = 2 ** 14;
const MAX_PASSES = 2 ** 16;
/** Quads of all passes together. */
const MAX_QUADS = 2 ** 18;
/** Bytes of all textures together, 4 a texel. */
const MAX_TEXTURE_BYTES = 2 ** 28;
/** Texels that all quads of a frame cover together. */
const MAX_DRAWN_TEXELS = 2 ** 28;
/** Members that uniforms take their floats from. */
const MAX_FLOATS = 2 ** 14;

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
