/** Where the output of a layer lies in textures; docs/reference/bundle-format.md, "values in textures". */

import { product, sum } from "./lists.ts";

/** The tile of one slice (4 channels): the texture's name and the texel of pixel (0, 0). */
export interface View {
  readonly texture: string;
  readonly x: number;
  readonly y: number;
}

/** A feature map in 8 bits: byte b of channel c is `scales[c] * (b - zeros[c]) / 255`. One scale may stand for all. */
export interface FeatureMap {
  readonly kind: "map";
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly gutter: number;
  readonly views: readonly View[];
  readonly scales: readonly number[];
  readonly zeros: readonly number[];
}

/** A feature map in 16 bits, two channels a texel: n of channel c, 0 to 65280, is `scales[c] * (n / 256 - zeros[c]) / 255`. */
export interface FineMap {
  readonly kind: "fineMap";
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly bits: number;
  readonly views: readonly View[];
  readonly scales: readonly number[];
  readonly zeros: readonly number[];
}

/** Numbers in 16-bit fixed point, two a texel: a vector where `columns` is 0, else so many partial sums. */
export interface FixedPoint {
  readonly kind: "fixed";
  readonly texture: string;
  readonly columns: number;
  readonly length: number;
  readonly scale: number;
}

/** A feature map in 16-bit fixed point: view 2s holds channels 4s and 4s + 1, view 2s + 1 the next two. */
export interface FixedMap {
  readonly kind: "fixedMap";
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly scale: number;
  readonly views: readonly View[];
}

export type Value = FeatureMap | FineMap | FixedPoint | FixedMap;

/** Return whether a value is no feature map. */
export function isFixed(value: Value): value is FixedPoint {
  return value.kind === "fixed";
}

/** Return whether a value is a feature map in 8 bits. */
export function isMap(value: Value): value is FeatureMap {
  return value.kind === "map";
}

/** Return whether a value is a map with a range for each channel. */
export function isRanged(value: Value): value is FeatureMap | FineMap {
  return "scales" in value;
}

/** Return the names of the textures that a value lies in, each once. */
export function texturesOf(value: Value): string[] {
  return isFixed(value) ? [value.texture] : [...new Set(value.views.map((view) => view.texture))];
}

/** Return scale and zero of a channel. */
export function rangeOf({ scales, zeros }: FeatureMap | FineMap, channel: number): [number, number] {
  return [scales[scales.length > 1 ? channel : 0]!, zeros[zeros.length > 1 ? channel : 0]!];
}

/** Return how many texels a pixel of `channels` values takes. */
export function slicesOf(channels: number, perTexel = 4): number {
  return Math.ceil(channels / perTexel);
}

/** Return width and height of what fixed point takes of its texture. */
export function sizeOfFixed(value: FixedPoint): [number, number] {
  const pairs = slicesOf(value.length, 2);
  return value.columns ? [value.columns, pairs] : [pairs, 1];
}

/** Width and height of a texture or a rectangle, in texels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Return whether a rectangle of that size at that place lies in a texture, and there is that texture. */
export function isInside(place: { readonly x: number; readonly y: number }, size: Size, texture: Size | undefined): boolean {
  return !!texture && place.x + size.width <= texture.width && place.y + size.height <= texture.height;
}

/** Return how many texels textures or rectangles have together. */
export function areaOf(sizes: Iterable<Size>): number {
  return sum(sizes, ({ width, height }) => width * height);
}

/** Return the shape of the numbers that a value holds. */
export function shapeOf(value: Value): number[] {
  if (isFixed(value)) return value.columns ? [value.columns, value.length] : [value.length];
  return [value.height, value.width, value.channels];
}

/** Return how many numbers a value holds. */
export function sizeOf(value: Value): number {
  return product(shapeOf(value));
}

/** Return whether two parts of a manifest are equal in every field. */
export function same<T>(a: T, b: T): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
