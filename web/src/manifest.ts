/**
 * The manifest of a bundle: all data for a runner besides the members.
 *
 * bundle-format.md explains all fields; `manifestJson.ts` reads it, and `manifestCheck.ts` checks its consistency.
 */

import type { FITS, HOST_STEPS, PURPOSES } from "./formatConstants.ts";
import type { FeatureMap, Value } from "./layout.ts";

/** Member at the start of every fragment shader. */
export const PRELUDE = "shaders/prelude.glsl";
export const LABELS = "labels.txt";

/** Member with the network's graph, unused by runners. */
export const GRAPH = "graph.json";
/** Member with the passes; see `passTable.ts`. */
export const PASSES = "passes.bin";

/** Method of fitting an image to an input. */
export type Fit = (typeof FITS)[number];

/** An input: an image, which is one view of a feature map, or values. */
export type Input = { readonly name: string } & (
  | { readonly kind: "picture"; readonly fit: Fit; readonly value: FeatureMap }
  | { readonly kind: "numbers"; readonly value: Value }
);

/** Requirements of the bundle on the driver's limits. */
export interface Limits {
  readonly texture_units: number;
  readonly texture_size: number;
  readonly fragment_uniform_vectors: number;
  readonly varying_vectors: number;
  readonly vertex_attributes: number;
}

export type Clear = readonly [number, number, number, number];

/** An RGBA8 texture: `clear` is the initial colour of a target or input, `member` has the texels of a constant. */
export interface Texture {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly kind: "input" | "target" | "constant";
  readonly member?: string;
  readonly clear?: Clear;
}

/** A pair of shaders: the k-th sampler reads texture unit k; uniforms have these numbers of floats. */
export interface ShaderProgram {
  readonly name: string;
  readonly vertex: string;
  readonly fragment: string;
  readonly samplers: readonly string[];
  readonly varyings: number;
  readonly uniforms: ReadonlyMap<string, number>;
}

/** `count` 32-bit floats of a member, starting at index `offset`. */
export interface Slice {
  readonly member: string;
  readonly offset: number;
  readonly count: number;
}

export type UniformValue = Slice | Float32Array;

export type ByName<T> = ReadonlyMap<string, T>;

/** Return entries by name. */
export function byName<T extends { readonly name: string }>(entries: readonly T[]): Map<string, T> {
  return new Map(entries.map((entry) => [entry.name, entry]));
}

/** Return whether a uniform's value is a slice of a member. */
export function isSlice(value: UniformValue): value is Slice {
  return !(value instanceof Float32Array);
}

/** Source of a pass: a texture unit, and the stride in texels between pixels. */
export interface Source {
  readonly unit: number;
  readonly strideX: number;
  readonly strideY: number;
}

/** A rectangle of the target, with the texel of each source that its first pixel reads. */
export interface Quad {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly origins: readonly (readonly [number, number])[];
}

/** A draw of one or more quads. */
export interface Pass {
  readonly layer: string;
  readonly program: string;
  readonly target: string;
  readonly clear: boolean;
  readonly textures: readonly string[];
  readonly sources: readonly Source[];
  readonly quads: readonly Quad[];
  readonly uniforms: ReadonlyMap<string, UniformValue>;
}

/** A computation on the CPU after the last pass; `columns` is for `rows` only. */
export interface HostStep {
  readonly step: (typeof HOST_STEPS)[number];
  readonly columns?: number;
}

/** A result: the values that passes compute, and the steps that combine them in one array. */
export interface Output {
  readonly name: string;
  readonly purpose: (typeof PURPOSES)[number];
  readonly values: readonly Value[];
  readonly steps: readonly HostStep[];
}

/** `count` records of a layer from `offset` on, the tolerance of its stored integers, and the layout of its output. */
export interface ProbeLayer {
  readonly layer: string;
  readonly offset: number;
  readonly count: number;
  readonly max_error: number;
  readonly mean_error: number;
  readonly value: Value;
}

/** Built-in inputs and the expected results of all layers. */
export interface Probe {
  readonly formula: string;
  readonly member: string;
  readonly layers: readonly ProbeLayer[];
  readonly outputs: readonly ProbeOutput[];
}

/** Expected values of an output with a single vector, before host steps, and their tolerance; otherwise no values. */
export interface ProbeOutput {
  readonly numbers: readonly number[];
  readonly max_error: number;
}

/** Content of manifest.json. */
export interface Manifest {
  readonly format: string;
  readonly version: number;
  readonly profile: string;
  readonly name: string;
  readonly inputs: readonly Input[];
  readonly limits: Limits;
  readonly textures: readonly Texture[];
  readonly programs: readonly ShaderProgram[];
  /** Layers that draw. */
  readonly layers: readonly string[];
  /** Members with the floats of uniforms. */
  readonly floats: readonly string[];
  /** Numbers of passes and quads in passes.bin. */
  readonly passes: { readonly count: number; readonly quads: number };
  readonly outputs: readonly Output[];
  readonly probe: Probe;
  readonly members: ReadonlyMap<string, string>;
}
