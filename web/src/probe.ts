/** The probe: inputs computed by a formula, and the expected results of all layers. */

import { SelfCheckError } from "./errors.ts";
import { isFixed, isMap, sizeOfFixed } from "./layout.ts";
import { littleEndian } from "./littleEndian.ts";
import type { Probe, ProbeLayer } from "./manifest.ts";
import { refuse } from "./refusal.ts";
import { joinFixed16, type Texels } from "./texels.ts";

/** Size of a record: x and y as 16-bit integers, then a texel of 4 bytes. */
const RECORD_BYTES = 8;

/** Difference between a layer and the probe, in stored integers. */
export interface LayerError {
  readonly layer: string;
  readonly worst: number;
  readonly mean: number;
  /** The layer of the probe, with the tolerances. */
  readonly allowed: ProbeLayer;
}

/** Throw SelfCheckError with the first layer whose error exceeds its tolerance; `renderer` is the GPU's name. */
export function requirePassed(errors: readonly LayerError[], renderer: string): void {
  const error = errors.find((entry) => !passed(entry));
  if (!error) return;
  throw new SelfCheckError(
    `layer '${error.layer}' comes out wrong on this driver (${renderer}): off by up to ${error.worst} ` +
      `(${error.mean.toFixed(2)} on average), where ${error.allowed.max_error} ` +
      `(${error.allowed.mean_error.toFixed(2)} on average) is tolerated; please report it with these numbers`,
  );
}

/** Return whether both errors are within the tolerance. */
function passed(error: LayerError): boolean {
  return error.worst <= error.allowed.max_error && error.mean <= error.allowed.mean_error;
}

/** Return the byte of column x, row y and channel c of the `index`-th input. */
export function byteOf(x: number, y: number, c: number, index: number): number {
  return (Math.floor((3 * x * x + 5 * y * y + 7 * x * y) / 8) + 89 * c + 37 * index) % 256;
}

/**
 * Compare a layer with its records.
 *
 * @param member bytes of the probe's member.
 * @param textures textures of the layer's output, read directly after its passes, because later layers can overwrite
 *     them.
 */
export function compare(layer: ProbeLayer, member: Uint8Array, textures: ReadonlyMap<string, Texels>): LayerError {
  const { value } = layer;
  let worst = 0;
  let sum = 0;
  let count = 0;
  const add = (difference: number): void => {
    worst = Math.max(worst, Math.abs(difference));
    sum += Math.abs(difference);
    count += 1;
  };
  records(layer, member).forEach(({ x, y, at }, k) => {
    const texels = textures.get(isFixed(value) ? value.texture : value.views[k % value.views.length]!.texture)!;
    const drawn = texels.data.subarray(4 * (y * texels.width + x), 4 * (y * texels.width + x) + 4);
    const expected = member.subarray(at + 4, at + 8);
    if (isMap(value)) {
      for (let i = 0; i < 4; i++) add(drawn[i]! - expected[i]!);
      return;
    }
    for (let i = 0; i < 2; i++) {
      const beyondEnd = isFixed(value) && 2 * (value.columns ? y : x) + i >= value.length;
      if (beyondEnd) continue; // with an odd length, the last value is undefined
      add(joinFixed16(drawn[2 * i]!, drawn[2 * i + 1]!) - joinFixed16(expected[2 * i]!, expected[2 * i + 1]!));
    }
  });
  return { layer: layer.layer, worst, mean: sum / count, allowed: layer };
}

/**
 * Refuse records outside of their layer's output.
 *
 * @throws BundleError with the layer.
 */
export function checkRecords(probe: Probe, member: Uint8Array): void {
  if (member.length % RECORD_BYTES) {
    refuse(`probe: member '${probe.member}' is not a sequence of ${RECORD_BYTES}-byte records`);
  }
  for (const layer of probe.layers) {
    const { value } = layer;
    records(layer, member).forEach(({ x, y }, k) => {
      const view = isFixed(value) ? { x: 0, y: 0 } : value.views[k % value.views.length]!;
      const [width, height] = isFixed(value) ? sizeOfFixed(value) : [value.width, value.height];
      if (x < view.x || y < view.y || x >= view.x + width || y >= view.y + height) {
        refuse(`probe: a texel of layer '${layer.layer}' is outside its output`);
      }
    });
  }
}

function records(layer: ProbeLayer, member: Uint8Array): { x: number; y: number; at: number }[] {
  const { u16 } = littleEndian(member);
  return Array.from({ length: layer.count }, (_, k) => {
    const at = RECORD_BYTES * (layer.offset + k);
    return { x: u16(at), y: u16(at + 2), at };
  });
}
