/**
 * Conversion of a bundle to the files of network.js: the same layers, with the shaders' weights as 32-bit floats.
 *
 * Ranges and other factors folded into weights for shaders are removed; bundle-format.md, "layers", has the formulas
 * and symbols. build.mjs runs this for each model of the page.
 */

import type { Bundle } from "../src/bundle.ts";
import { isMap, rangeOf } from "../src/layout.ts";
import { byName } from "../src/manifest.ts";
import { joinFixed16 } from "../src/texels.ts";
import { activationOf } from "./activation.ts";
import { graphOf, type Layer } from "./graph.ts";
import { packedConvolution } from "./packing.ts";

/** A part of the weights: position of its first byte, and shape. */
interface Part {
  readonly offset: number;
  readonly shape: readonly number[];
}

/** A layer in the format of network.js; further fields depend on `op`. */
type TfjsLayer = { readonly name: string; readonly op: string; readonly inputs: readonly string[] } & Record<string, unknown>;

/** Content of model.json and weights.bin. */
export interface Converted {
  readonly model: { readonly input: string; readonly output: string; readonly layers: readonly TfjsLayer[] };
  readonly weights: Float32Array;
}

/** A dense layer, collected from several layers of a bundle. */
interface Products {
  readonly input: string;
  readonly kernel: Float32Array;
  readonly shape: readonly [number, number];
}

/** Convert a bundle. Throws Error with the first layer that tfjs cannot represent. */
export function convert(bundle: Bundle): Converted {
  const { members } = bundle;
  const graph = graphOf(bundle);
  const layers = byName(graph.layers);
  const [result] = graph.outputs;
  if (graph.outputs.length !== 1 || result?.layers.length !== 1 || result.steps.length) {
    throw new Error("it has several outputs, or host steps");
  }
  const parts: Float32Array[] = [];
  const products = new Map<string, Products>();
  const tfjsLayers: TfjsLayer[] = [];
  let length = 0;
  let input = "";

  function keep(data: Float32Array, shape: readonly number[]): Part {
    const part = { offset: length, shape };
    parts.push(data);
    length += data.byteLength;
    return part;
  }

  function convolution(layer: Layer): Record<string, unknown> {
    const shape = layer.weights.get("kernel") as [number, number, number, number];
    const [height, width, channels, filters] = shape;
    const { packedKernel, packedBias } = packedConvolution(layer, members);
    const activation = activationOf(layer, "activation");
    const [read, residual] = layer.inputs.map((name) => mapOf(layers.get(name)!));
    const kernel = new Float32Array(height * width * channels * filters);
    const bias = new Float32Array(filters);
    for (let f = 0; f < filters; f++) {
      const [scale, zero] = rangeOf(mapOf(layer), f);
      // a and o of the format, as used by tfjs too: the first factor and offset of a piecewise linear activation.
      const [a, o] = activation.clipsOnly ? [1 / scale, zero / 255] : [activation.factor, 0];
      const unit = activation.clipsOnly ? a : 1;
      const first = Math.floor((f * Number(layer.attrs.get("groups"))) / filters) * channels;
      let offset = packedBias(f) - o;
      for (let tap = 0; tap < height * width; tap++) {
        for (let i = 0; i < channels; i++) {
          const [scaleIn, zeroIn] = rangeOf(read!, first + i);
          const stored = packedKernel(tap, i, f);
          kernel[(tap * channels + i) * filters + f] = stored / (scaleIn * unit);
          if (!layer.attrs.get("alpha")) offset += (stored * zeroIn) / 255;
        }
      }
      if (residual) {
        const [scaleOther, zeroOther] = rangeOf(residual, f);
        offset += (a * scaleOther * zeroOther) / 255;
      }
      bias[f] = offset / unit;
    }
    const { clamps, low, high } = activation;
    return {
      ...{ kernel: keep(kernel, shape), bias: keep(bias, [filters]) },
      ...{ strides: layer.attrs.get("strides"), padding: layer.attrs.get("padding"), groups: layer.attrs.get("groups") },
      ...{ residual: activation.clipsOnly ? 1 : activation.factor, clamps, low, high },
    };
  }

  function startDense(layer: Layer): Products {
    const [inputs, outputs] = layer.weights.get("kernel") as [number, number];
    const width = 16 * Number(layer.attrs.get("columns")); // two numbers in each of a column's 8 texels
    const texels = members.get(layer.members[0]!)!;
    const kernel = new Float32Array(inputs * outputs);
    for (let k = 0; k < inputs; k++) {
      for (let r = 0; r < outputs; r++) kernel[k * outputs + r] = fixed16(texels, r * width + k) / 256;
    }
    return { input: layer.inputs[0]!, kernel, shape: [inputs, outputs] };
  }

  function dense(layer: Layer, { input, kernel, shape }: Products, number = byRow): TfjsLayer {
    if (layer.attrs.get("activation") !== "linear") throw unknown(layer, `activation ${layer.attrs.get("activation")}`);
    const [inputs, outputs] = shape;
    const texels = members.get(layer.members[0]!)!;
    const bias = new Float32Array(outputs);
    for (let r = 0; r < outputs; r++) {
      const rowScale = fixed16(texels, number(r, 0)) * Number(layer.attrs.get("row_unit"));
      for (let k = 0; k < inputs; k++) kernel[k * outputs + r]! *= rowScale;
      bias[r] = (fixed16(texels, number(r, 1)) / 256) * Number(layer.attrs.get("bias_scale"));
    }
    return { name: layer.name, op: "dense", inputs: [input], kernel: keep(kernel, shape), bias: keep(bias, [outputs]) };
  }

  /**
   * A dense layer with a single pass: a column of its texture for each output, two weights in a texel; then scale and
   * bias.
   */
  function denseAtOnce(layer: Layer): TfjsLayer {
    const [inputs, outputs] = layer.weights.get("kernel") as [number, number];
    const width = outputs + (outputs % 2);
    const texels = members.get(layer.members[0]!)!;
    const kernel = new Float32Array(inputs * outputs);
    const number = (r: number, k: number): number => 2 * (Math.floor(k / 2) * width + r) + (k % 2);
    for (let k = 0; k < inputs; k++) {
      for (let r = 0; r < outputs; r++) kernel[k * outputs + r] = fixed16(texels, number(r, k)) / 256;
    }
    const last = texels.length / 2 / width - 2;
    return dense(layer, { input: layer.inputs[0]!, kernel, shape: [inputs, outputs] }, (r, k) => number(r, last + k));
  }

  for (const layer of graph.layers) {
    const { name, op, inputs, attrs } = layer;
    const add = (fields: Record<string, unknown>): void => void tfjsLayers.push({ name, op, inputs, ...fields });
    switch (op) {
      case "input":
        input = name;
        if (mapOf(layer).scales.some((scale) => scale !== 1) || mapOf(layer).zeros.some(Boolean)) {
          throw unknown(layer, "an image whose numbers are not from 0 to 1");
        }
        break;
      case "conv2d":
        add(convolution(layer));
        break;
      case "add": {
        const { clamps, low, high, clipsOnly } = activationOf(layer, "activation");
        if (!clipsOnly) throw unknown(layer, `activation ${attrs.get("activation")}`);
        add({ clamps, low, high });
        break;
      }
      case "upsample_bilinear":
        add({ size: attrs.get("size") });
        break;
      case "depth_to_space":
        add({ block: attrs.get("block") });
        break;
      case "channel_shuffle":
        add({ order: shuffled(mapOf(layer).channels, Number(attrs.get("step"))) });
        break;
      case "global_average_pool":
        add({});
        break;
      case "dense_products":
        products.set(name, startDense(layer));
        break;
      case "dense_at_once":
        tfjsLayers.push(denseAtOnce(layer));
        break;
      case "dense_sum":
        if (attrs.get("last")) tfjsLayers.push(dense(layer, products.get(inputs[0]!)!));
        else products.set(name, products.get(inputs[0]!)!);
        break;
      default:
        throw unknown(layer, op);
    }
  }
  const weights = new Float32Array(length / 4);
  let at = 0;
  for (const part of parts) {
    weights.set(part, at);
    at += part.length;
  }
  return { model: { input, output: result.layers[0]!, layers: tfjsLayers }, weights };
}

/** Return the source of each channel of a shuffled map, a permutation of slices of 4. */
function shuffled(channels: number, step: number): number[] {
  const slices = channels / 4;
  return Array.from({ length: channels }, (_, c) => {
    const i = Math.floor(c / 4);
    return 4 * (slices <= step ? i : ((step * i) % slices) + Math.floor((step * i) / slices)) + (c % 4);
  });
}

/** Return the `index`-th 16-bit integer of RGBA texels, two in each texel. */
function fixed16(texels: Uint8Array, index: number): number {
  return joinFixed16(texels[2 * index]!, texels[2 * index + 1]!);
}

/** Return the index of the scale (0) or bias (1) of row `r` in the texture of a dense layer's last pass. */
function byRow(r: number, which: number): number {
  return 2 * r + which;
}

function mapOf(layer: Layer) {
  if (!isMap(layer.output)) throw unknown(layer, "a map in 16 bits");
  return layer.output;
}

function unknown(layer: Layer, what: string): Error {
  return new Error(`layer '${layer.name}': ${what} is not converted for tfjs`);
}
