/**
 * The manifest of a bundle: what a runner needs to know besides the members.
 *
 * docs/bundle-format.md explains every field; `manifestJson.ts` reads it, `manifestCheck.ts` says whether its parts fit
 * together.
 */

import type { FeatureMap, FixedPoint, Value, View } from "./layout.ts";

export const FORMAT = "glslnn";
export const VERSION = 2;
/** What a driver must have: WebGL 1, with highp floats in fragment shaders. */
export const PROFILE = "es2";
export const FIT = "center-square/area-average";
export const PROBE_FORMULA = "((3*x*x + 5*y*y + 7*x*y) div 8 + 89*c) mod 256";

/** Member that every fragment shader begins with. */
export const PRELUDE = "shaders/prelude.glsl";
export const LABELS = "labels.txt";

/** The member with the network itself, which a runner does not read. */
export const GRAPH = "graph.json";
/** The member with the draws; see `passTable.ts`. */
export const PASSES = "passes.bin";

/** A picture that the runner uploads to the only view of `value`, a square of 3 channels. */
export interface Input {
  readonly name: string;
  readonly kind: "picture";
  readonly fit: string;
  readonly value: FeatureMap;
}

/** What the bundle needs of a driver. */
export interface Limits {
  readonly texture_units: number;
  readonly texture_size: number;
  readonly fragment_uniform_vectors: number;
  readonly varying_vectors: number;
  readonly vertex_attributes: number;
}

export type Clear = readonly [number, number, number, number];

/** An RGBA8 texture: `clear` is what a target is filled with, `member` holds the texels of a constant. */
export interface Texture {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly kind: "input" | "target" | "constant";
  readonly member: string | undefined;
  readonly clear: Clear;
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
  return new Map(entries.map((one) => [one.name, one]));
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

/** The result: a vector in fixed point with a number for each of the `classes`, or an `image`, a feature map. */
export type Output = { readonly name: string } & (
  | { readonly purpose: "classes"; readonly value: FixedPoint }
  | { readonly purpose: "image"; readonly value: FeatureMap }
);

/** `count` records of a layer from `offset` on, how far its stored integers may be off, and where its output lies. */
export interface ProbeLayer {
  readonly layer: string;
  readonly offset: number;
  readonly count: number;
  readonly max_error: number;
  readonly mean_error: number;
  readonly value: Value;
}

/** A built-in picture and what every layer must make of it. */
export interface Probe {
  readonly formula: string;
  readonly member: string;
  readonly layers: readonly ProbeLayer[];
  readonly logits: readonly number[];
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

/** Return where the picture lies: its texture, the texel of its first pixel, and its side in pixels. */
export function pictureOf({ inputs }: Manifest): View & { readonly size: number } {
  const { views, height } = inputs[0]!.value;
  return { ...views[0]!, size: height };
}
