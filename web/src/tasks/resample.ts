/**
 * Bilinear resampling of arrays; when shrinking, the triangle is as wide as a pixel of the result: Pillow's arithmetic.
 */

/** Indices and weights of the values for each result along an axis. */
interface Taps {
  readonly from: number;
  readonly weights: readonly number[];
}

/**
 * Return a region of an array at another size.
 *
 * @param box left, top, right and bottom of the region, which can be fractional.
 */
export function resized(
  numbers: Float32Array,
  columns: number,
  box: readonly [number, number, number, number],
  width: number,
  height: number,
): Float32Array {
  const rows = numbers.length / columns;
  const across = tapsOf(columns, box[0], box[2], width);
  const down = tapsOf(rows, box[1], box[3], height);
  const narrow = new Float32Array(rows * width);
  for (let y = 0; y < rows; y++) {
    across.forEach(({ from, weights }, x) => {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) sum += numbers[y * columns + from + k]! * weights[k]!;
      narrow[y * width + x] = sum;
    });
  }
  const out = new Float32Array(width * height);
  down.forEach(({ from, weights }, y) => {
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) sum += narrow[(from + k) * width + x]! * weights[k]!;
      out[y * width + x] = sum;
    }
  });
  return out;
}

function tapsOf(length: number, begin: number, end: number, size: number): Taps[] {
  const scale = (end - begin) / size;
  const support = Math.max(scale, 1);
  return Array.from({ length: size }, (_, i) => {
    const center = begin + (i + 0.5) * scale;
    const from = Math.max(0, Math.trunc(center - support + 0.5));
    const to = Math.min(length, Math.trunc(center + support + 0.5));
    const heights = Array.from({ length: to - from }, (_, k) =>
      Math.max(0, 1 - Math.abs((k + from - center + 0.5) / support)),
    );
    const total = heights.reduce((sum, height) => sum + height, 0);
    return { from, weights: heights.map((height) => (total ? height / total : height)) };
  });
}
