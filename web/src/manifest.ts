/**
 * The manifest of a bundle: what a runner needs to know besides the members.
 *
 * bundle-format.md explains every field; `manifestJson.ts` reads it, `manifestCheck.ts` says whether its parts fit
 * together.
 */

import type { FITS, HOST_STEPS, Keys, PURPOSES } from "./formatConstants.ts";
import type { FeatureMap, FineMap, FixedMap, FixedPoint, Value } from "./layout.ts";

/** Member that every fragment shader begins with. */
export const PRELUDE = "shaders/prelude.glsl";
export const LABELS = "labels.txt";

/** The member with the network itself, which a runner does not read. */
export const GRAPH = "graph.json";
/** The member with the draws; see `passTable.ts`. */
export const PASSES = "passes.bin";

/** How any picture becomes that of an input. */
export type Fit = (typeof FITS)[number];

/** What the runner uploads: a picture, which is one view of a feature map, or numbers. */
export type Input = { readonly name: string } & (
  | { readonly kind: "picture"; readonly fit: Fit; readonly value: FeatureMap }
  | { readonly kind: "numbers"; readonly value: Value }
);

/** What the bundle needs of a driver. */
export interface Limits {
  readonly texture_units: number;
  readonly texture_size: number;
  readonly fragment_uniform_vectors: number;
  readonly varying_vectors: number;
  readonly vertex_attributes: number;
}

export type Clear = readonly [number, number, number, number];

/** An RGBA8 texture: `clear` is what a target or an input is filled with, `member` holds the texels of a constant. */
export interface Texture {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly kind: "input" | "target" | "constant";
  readonly member?: string;
  readonly clear?: Clear;
}

/** A pair of shaders: the k-th sampler reads texture unit k; uniforms have so many floats. */
export interface ShaderProgram {
  readonly name: string;
  readonly vertex: string;
  readonly fragment: string;
  readonly samplers: readonly string[];
  readonly varyings: number;
  readonly uniforms: ReadonlyMap<string, number>;
}

/** `count` 32-bit floats of a member, from the `offset`-th on. */
export interface Slice {
  readonly member: string;
  readonly offset: number;
  readonly count: number;
}

export type UniformValue = Slice | Float32Array;

/** Return entries by name. */
export function byName<T extends { readonly name: string }>(entries: readonly T[]): Map<string, T> {
  return new Map(entries.map((entry) => [entry.name, entry]));
}

/** Return whether a uniform's value is a part of a member. */
export function isSlice(value: UniformValue): value is Slice {
  return !(value instanceof Float32Array);
}

/** Where the fragments of a pass read: a texture unit, and the step in texels from pixel to pixel. */
export interface Source {
  readonly unit: number;
  readonly strideX: number;
  readonly strideY: number;
}

/** A rectangle of the target, and for each source the texel that its first pixel reads. */
export interface Quad {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly origins: readonly (readonly [number, number])[];
}

/** One draw of one or more quads. */
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

/** What the CPU does after the last pass; `columns` belongs to `rows` alone. */
export interface HostStep {
  readonly step: (typeof HOST_STEPS)[number];
  readonly columns?: number;
}

/** A result: the values that passes leave, and the steps that make one array of them. */
export interface Output {
  readonly name: string;
  readonly purpose: (typeof PURPOSES)[number];
  readonly values: readonly Value[];
  readonly steps: readonly HostStep[];
}

/** `count` records of a layer from `offset` on, how far its stored integers may be off, and where its output lies. */
export interface ProbeLayer {
  readonly layer: string;
  readonly offset: number;
  readonly count: number;
  readonly max_error: number;
  readonly mean_error: number;
  readonly value: Value;
}

/** Built-in inputs and what every layer must make of them. */
export interface Probe {
  readonly formula: string;
  readonly member: string;
  readonly layers: readonly ProbeLayer[];
  readonly outputs: readonly ProbeOutput[];
}

/** What an output must be: the numbers of its only vector before host steps, or none; and how far it may be off. */
export interface ProbeOutput {
  readonly numbers: readonly number[];
  readonly max_error: number;
}

/** Everything that manifest.json says. */
export interface Manifest {
  readonly format: string;
  readonly version: number;
  readonly profile: string;
  readonly name: string;
  readonly inputs: readonly Input[];
  readonly limits: Limits;
  readonly textures: readonly Texture[];
  readonly programs: readonly ShaderProgram[];
  /** The layers that draw. */
  readonly layers: readonly string[];
  /** The members that uniforms take their floats from. */
  readonly floats: readonly string[];
  /** How many there are in passes.bin. */
  readonly passes: { readonly count: number; readonly quads: number };
  readonly outputs: readonly Output[];
  readonly probe: Probe;
  readonly members: ReadonlyMap<string, string>;
}

/** What the reader makes of every object of manifest.json. */
export interface Objects extends Record<keyof Keys, object> {
  manifest: Manifest;
  input: { name: string; kind: Input["kind"]; fit?: Fit; value: Value };
  limits: Limits;
  texture: Texture;
  program: ShaderProgram;
  passes: Manifest["passes"];
  output: Output;
  host_step: HostStep;
  probe: Probe;
  probe_layer: ProbeLayer;
  probe_output: ProbeOutput;
  fixed_point: Omit<FixedPoint, "kind">;
  fixed_map: Omit<FixedMap, "kind">;
  feature_map: Omit<FeatureMap, "kind">;
  fine_map: Omit<FineMap, "kind">;
}
