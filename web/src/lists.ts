/** Sums, maxima and products over lists. */

/** Return the sum of `of` over all entries. */
export function sum<T>(list: Iterable<T>, of: (entry: T) => number): number {
  let total = 0;
  for (const entry of list) total += of(entry);
  return total;
}

/** Return the largest result of `of` over all entries, at least `least`. */
export function most<T>(list: Iterable<T>, of: (entry: T) => number, least = 0): number {
  let largest = least;
  for (const entry of list) largest = Math.max(largest, of(entry));
  return largest;
}

/** Return the product of a shape's sizes: the number of elements. */
export function product(shape: readonly number[]): number {
  return shape.reduce((all, size) => all * size, 1);
}
