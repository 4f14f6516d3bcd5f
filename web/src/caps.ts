/** The most that a bundle may ask for; glsl_infer/caps.py says why. */

import { BundleError } from "./errors.ts";
import type { Manifest } from "./manifest.ts";

/** Bytes of manifest.json. */
export const MAX_MANIFEST_BYTES = 16 * 2 ** 20;

const MAX_SHADER_BYTES = 256 * 2 ** 10;
const MAX_DIMENSIONS = 4;

/** Refuse a manifest that asks for more than any network needs. Throws BundleError. */
export function checkCaps(manifest: Manifest, sizes: ReadonlyMap<string, number>): void {
  const quads = manifest.passes.flatMap((one) => one.quads);
  const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0);
  const counts: [string, number, number][] = [
    ["layers", manifest.model.layers.length, 2048],
    ["textures", manifest.textures.length, 2 ** 14],
    ["programs", manifest.programs.length, 2 ** 14],
    ["passes", manifest.passes.length, 2 ** 16],
    ["quads", quads.length, 2 ** 18],
    ["bytes of textures", sum(manifest.textures.map((one) => 4 * one.width * one.height)), 256 * 2 ** 20],
    ["texels drawn in a frame", sum(quads.map((one) => one.width * one.height)), 2 ** 28],
  ];
  for (const [what, count, cap] of counts) {
    if (count > cap) throw new BundleError(`${count} ${what}; a model has at most ${cap}`);
  }
  for (const [name, size] of sizes) {
    if (name.startsWith("shaders/") && size > MAX_SHADER_BYTES) {
      throw new BundleError(`member '${name}' has ${size} bytes of GLSL; a shader has at most ${MAX_SHADER_BYTES}`);
    }
  }
  for (const layer of manifest.model.layers) {
    if ([...layer.weights.values()].some((shape) => shape.length > MAX_DIMENSIONS)) {
      throw new BundleError(`layer '${layer.name}': a weight has more than ${MAX_DIMENSIONS} dimensions`);
    }
  }
}
