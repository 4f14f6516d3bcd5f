/** Sums, maxima and products over lists. */

/** Return the sum of what `of` says of each. */
export function sum<T>(list: Iterable<T>, of: (one: T) => number): number {
  let total = 0;
  for (const one of list) total += of(one);
  return total;
}

/** Return the largest of what `of` says of each, `least` at least. */
export function most<T>(list: Iterable<T>, of: (one: T) => number, least = 0): number {
  let largest = least;
  for (const one of list) largest = Math.max(largest, of(one));
  return largest;
}

/** Return the product of a shape's sizes: how many numbers an array has. */
export function product(shape: readonly number[]): number {
  return shape.reduce((all, one) => all * one, 1);
}
