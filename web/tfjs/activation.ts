/** Activations as tfjs computes them here: x, plus clamped multiples of it, all cut off at two ends. */

import type { Layer } from "./graph.ts";

/** An activation of x, or of `factor` * x + an offset, both of which a bundle has in its weights already. */
export interface Activation {
  /** Whether it does nothing but cut off: the weights of a bundle are then in units of the stored range. */
  readonly clipsOnly: boolean;
  readonly factor: number;
  /** Factor, least and most of each clamped multiple. */
  readonly clamps: readonly (readonly [number, number, number])[];
  /** Where it is cut off; null: nowhere. */
  readonly low: number | null;
  readonly high: number | null;
}

/** Return the activation that an attribute of a layer names. Throws Error for one that is not made of straight pieces. */
export function activationOf(layer: Layer, attribute: string): Activation {
  const name = String(layer.attrs.get(attribute));
  const clipping = { clipsOnly: true, factor: 1, clamps: [], low: 0, high: null };
  if (name === "linear") return { ...clipping, low: null };
  if (name === "relu") return clipping;
  const [, kind, list = ""] = /^(relu|piecewise_linear)\((.*)\)$/.exec(name) ?? [];
  const numbers = list.split(",").map(Number);
  if (kind === "relu") return { ...clipping, high: numbers[0]! };
  if (kind === undefined) throw new Error(`layer '${layer.name}': activation ${name} is not converted for tfjs`);
  const clamps: [number, number, number][] = [];
  for (let i = 2; i < numbers.length; i += 3) clamps.push([numbers[i]!, numbers[i + 1]!, numbers[i + 2]!]);
  return { clipsOnly: false, factor: numbers[0]!, clamps, low: 0, high: 1 };
}
