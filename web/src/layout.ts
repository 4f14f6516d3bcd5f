/** Positions of layers' outputs in textures; docs/reference/bundle-format.md, "values in textures". */

import { product, sum } from "./lists.ts";

/** The tile of one slice (4 channels): the texture's name and the texel of pixel (0, 0). */
export interface View {
  readonly texture: string;
  readonly x: number;
  readonly y: number;
}

/**
 * A feature map in 8 bits: byte b of channel c has the value `scales[c] * (b - zeros[c]) / 255`. A single scale is for
 * all.
 */
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

/**
 * A feature map in 16 bits, two channels in a texel: n of channel c, 0 to 65280, has the value `scales[c] * (n / 256 -
 * zeros[c]) / 255`.
 */
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

/** Values in 16-bit fixed point, two in a texel: a vector if `columns` is 0, otherwise partial sums with that width. */
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

/** Return whether a value is a vector or partial sums. */
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

/** Return the names of a value's textures, without duplicates. */
export function texturesOf(value: Value): string[] {
  return isFixed(value) ? [value.texture] : [...new Set(value.views.map((view) => view.texture))];
}

/** Return scale and zero of a channel. */
export function rangeOf({ scales, zeros }: FeatureMap | FineMap, channel: number): [number, number] {
  return [scales[scales.length > 1 ? channel : 0]!, zeros[zeros.length > 1 ? channel : 0]!];
}

/** Return the number of texels for a pixel of `channels` values. */
export function slicesOf(channels: number, perTexel = 4): number {
  return Math.ceil(channels / perTexel);
}

/** Return width and height of the rectangle of a value in fixed point. */
export function sizeOfFixed(value: FixedPoint): [number, number] {
  const pairs = slicesOf(value.length, 2);
  return value.columns ? [value.columns, pairs] : [pairs, 1];
}

/** Width and height of a texture or a rectangle, in texels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Return whether a texture exists and contains the rectangle of that size and position. */
export function isInside(place: { readonly x: number; readonly y: number }, size: Size, texture: Size | undefined): boolean {
  return !!texture && place.x + size.width <= texture.width && place.y + size.height <= texture.height;
}

/** Return the total number of texels. */
export function areaOf(sizes: Iterable<Size>): number {
  return sum(sizes, ({ width, height }) => width * height);
}

/** Return the shape of a value. */
export function shapeOf(value: Value): number[] {
  if (isFixed(value)) return value.columns ? [value.columns, value.length] : [value.length];
  return [value.height, value.width, value.channels];
}

/** Return the number of elements of a value. */
export function sizeOf(value: Value): number {
  return product(shapeOf(value));
}

/** Return whether two parts of a manifest are equal in every field. */
export function same<T>(a: T, b: T): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
