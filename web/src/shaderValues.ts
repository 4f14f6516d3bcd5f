/** What a reader knows of the numbers in a shader: constants as intervals, and marks. */

/**
 * Whether it is an integer, the smallest and largest number that it may be as a constant (NaN: nobody can know), and
 * marks: `WILD` may be no number at all, as 0 / 0; `PLAIN` is made of uniforms.
 */
export type Value = readonly [isInteger: boolean, least: number, most: number, marks: number];

/** Operations as a compiler sees them, with functions in their places; and those of a fragment, loops with all turns. */
export type Cost = [written: number, executed: number];

/** What calls of it cost; whether it fetches texels, and whether what it returns may be no number. */
export interface Called {
  readonly cost: Cost;
  readonly fetches: boolean;
  readonly wild: number;
}

/** `value` is undefined before anything is assigned; `size`: elements of an array, or 0. */
export interface Variable {
  readonly kind: string;
  value: Value | undefined;
  readonly size: number;
}

/** A condition of the preprocessor: how deep in blocks it begins, and which variables got a value now and before #else. */
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

/** Return what holds one value or the other: a constant, if one of them is. */
export function hull(one: Value, other: Value): Value {
  const marks = ((one[3] | other[3]) & WILD) | (one[3] & other[3]);
  if (!isKnown(one) || !isKnown(other)) {
    const [whole, least, most] = isKnown(other) ? other : one;
    return [whole, least, most, marks];
  }
  return [one[0], Math.min(one[1], other[1]), Math.max(one[2], other[2]), marks];
}

/** Return the value of an operation with numbers; undefined for a division that may be by 0, or of integers. */
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
