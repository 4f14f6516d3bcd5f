/** Values of numbers in a shader, as known without running it: constants as intervals, and marks. */

/**
 * True for an integer, smallest and largest value as a constant (NaN: unknown), and marks: `WILD` can be NaN, such
 * as 0 / 0; `PLAIN` consists of uniforms.
 */
export type Value = readonly [isInteger: boolean, least: number, most: number, marks: number];

/**
 * Operations as compilers see them, with inlined functions; and the executed operations of a fragment, with all loop
 * iterations.
 */
export type Cost = [written: number, executed: number];

/** Costs of a call; whether it fetches texels, and whether its result can be NaN. */
export interface Called {
  readonly cost: Cost;
  readonly fetches: boolean;
  readonly wild: number;
}

/** `value` is undefined before an assignment; `size`: elements of an array, or 0. */
export interface Variable {
  readonly kind: string;
  value: Value | undefined;
  readonly size: number;
}

/** A preprocessor condition: its depth in blocks, and the variables assigned in this branch and before #else. */
export interface Branch {
  readonly depth: number;
  readonly now: Variable[];
  readonly before: readonly Variable[];
}

export const WILD = 1;
export const PLAIN = 2;
export const ANY: Value = [false, NaN, NaN, 0];
export const INTEGER: Value = [true, NaN, NaN, 0];
export const UNIFORM: Value = [false, NaN, NaN, PLAIN];

const TINY = 1e-30;

export const isKnown = (value: Value): boolean => !Number.isNaN(value[1]);

/** Return the union of two values; a constant if one of them is. */
export function hull(one: Value, other: Value): Value {
  const marks = ((one[3] | other[3]) & WILD) | (one[3] & other[3]);
  if (!isKnown(one) || !isKnown(other)) {
    const [whole, least, most] = isKnown(other) ? other : one;
    return [whole, least, most, marks];
  }
  return [one[0], Math.min(one[1], other[1]), Math.max(one[2], other[2]), marks];
}

/** Return the result of an operation on numbers; undefined for integer division and possible divisions by 0. */
export function mixed(sign: string, left: Value, right: Value): Value | undefined {
  const [whole, a, b, marks] = left;
  const [, c, d, others] = right;
  const isPlain = (isKnown(left) || marks & PLAIN) && (isKnown(right) || others & PLAIN);
  const wild = sign === "/" && !isKnown(right) && !(others & PLAIN) ? WILD : (marks | others) & WILD;
  if (sign === "/" && (whole || right[0] || (c <= TINY && d >= -TINY))) return undefined;
  if (sign === "*" && ((a === 0 && b === 0) || (c === 0 && d === 0))) return [whole, 0, 0, wild];
  if (!isKnown(left) || !isKnown(right)) return [whole, NaN, NaN, wild | (isPlain && sign === "*" ? PLAIN : 0)];
  const ends =
    sign === "+" ? [a + c, b + d]
    : sign === "-" ? [a - d, b - c]
    : sign === "*" ? [a * c, a * d, b * c, b * d]
    : [a / c, a / d, b / c, b / d];
  return [whole, Math.min(...ends), Math.max(...ends), wild];
}
