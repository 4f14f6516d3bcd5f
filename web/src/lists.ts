/** Sums, maxima and products over lists. */

/** Return the sum of what `of` says of each. */
export function sum<T>(list: Iterable<T>, of: (entry: T) => number): number {
  let total = 0;
  for (const entry of list) total += of(entry);
  return total;
}

/** Return the largest of what `of` says of each, `least` at least. */
export function most<T>(list: Iterable<T>, of: (entry: T) => number, least = 0): number {
  let largest = least;
  for (const entry of list) largest = Math.max(largest, of(entry));
  return largest;
}

/** Return the product of a shape's sizes: how many numbers an array has. */
export function product(shape: readonly number[]): number {
  return shape.reduce((all, size) => all * size, 1);
}
