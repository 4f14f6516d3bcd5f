/** Activations in tfjs: x, plus clamped multiples of it, clipped to an interval. */

import type { Layer } from "./graph.ts";

/** An activation of x, or of `factor` * x + an offset that are included in a bundle's weights. */
export interface Activation {
  /** True if it only clips; the weights of a bundle are then in units of the stored range. */
  readonly clipsOnly: boolean;
  readonly factor: number;
  /** Factor, lower and upper limit of each clamped multiple. */
  readonly clamps: readonly (readonly [number, number, number])[];
  /** Limits of the result; null for none. */
  readonly low: number | null;
  readonly high: number | null;
}

/** Return the activation in an attribute of a layer. Throws Error if it is not piecewise linear. */
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
