/** Decoding of a detector's outputs: boxes with a sufficient score, and non-maximum suppression. */

/** Limit of the exponent: a box e**20 times its anchor is invalid. */
const LARGEST_EXPONENT = 20;

export type Activation = "sigmoid" | "softmax" | "none";

/** Encoding of a box by four numbers and an anchor, followed by pairs of numbers for points. */
export interface Code {
  /** Divisors of x, y, width and height. */
  readonly units: readonly number[];
  /** Order of the four numbers, and of each point's two. */
  readonly order: "xywh" | "yxhw";
  /** Sizes are the anchor's multiplied by the number, or by its exponential. */
  readonly sizes: "linear" | "exponential";
}

/** A candidate object: its anchor and class. */
export interface Candidate {
  readonly score: number;
  readonly row: number;
  readonly index: number;
}

export function sigmoid(number: number): number {
  return 1 / (1 + Math.exp(-Math.min(Math.max(number, -80), 80)));
}

/** Return the scores of all classes, in 0 to 1 if there is an activation. */
export function scoresOf(numbers: Float32Array, activation: Activation): Float64Array {
  const scores = Float64Array.from(numbers);
  if (activation === "sigmoid") return scores.map(sigmoid);
  if (activation === "none") return scores;
  const highest = scores.reduce((most, number) => Math.max(most, number), -Infinity);
  const powers = scores.map((number) => Math.exp(number - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/**
 * Return the candidates with a sufficient score, in the order of anchors.
 *
 * @param numbers `classes` outputs of the network for each anchor.
 * @param background whether the first class means no object; it is not returned.
 */
export function likely(
  numbers: Float32Array,
  classes: number,
  activation: Activation,
  threshold: number,
  background: boolean,
): Candidate[] {
  const first = background ? 1 : 0;
  // Compared before the activation, because few values need the exponential.
  const least =
    activation === "sigmoid" && threshold > 0 && threshold < 1 ? Math.log(threshold / (1 - threshold)) : undefined;
  const candidates: Candidate[] = [];
  for (let row = 0; row * classes < numbers.length; row++) {
    const values = numbers.subarray(row * classes, (row + 1) * classes);
    const scores = least === undefined ? scoresOf(values, activation) : values;
    for (let c = first; c < classes; c++) {
      const number = scores[c]!;
      if (number >= (least ?? threshold)) {
        candidates.push({ score: least === undefined ? number : sigmoid(number), row, index: c - first });
      }
    }
  }
  return candidates;
}

/**
 * Return a box and its points, relative to the network's input: left, top, right, bottom, then x and y of each point.
 */
export function decode(numbers: Float32Array, anchor: Float32Array, { units, order, sizes }: Code): number[] {
  const raw = Array.from(numbers, (_, i) => numbers[order === "yxhw" ? i ^ 1 : i]!);
  const coordinate = (i: number): number => (raw[i]! / units[i & 1]!) * anchor[2 + (i & 1)]! + anchor[i & 1]!;
  const half = (axis: number): number => {
    const grown = raw[2 + axis]! / units[2 + axis]!;
    return ((sizes === "exponential" ? Math.exp(Math.min(grown, LARGEST_EXPONENT)) : grown) * anchor[2 + axis]!) / 2;
  };
  const [x, y, halfWidth, halfHeight] = [coordinate(0), coordinate(1), half(0), half(1)];
  return raw.map((_, i) => (i < 4 ? [x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight][i]! : coordinate(i)));
}

/** A box that represents a group, and the index of the best box in it. */
export interface MergedBox {
  readonly box: readonly number[];
  readonly best: number;
}

/**
 * Non-maximum suppression: the best box represents all that overlap it, then the best of the others, and so on. Return
 * them, best first.
 *
 * @param boxes left, top, right, bottom, and further values.
 * @param overlap intersection over union above which boxes belong to the same object.
 * @param merge `weighted`: the mean of the group, weighted by scores; `best`: the best box.
 */
export function suppress(
  boxes: readonly (readonly number[])[],
  scores: readonly number[],
  overlap: number,
  most: number,
  merge: "weighted" | "best",
): MergedBox[] {
  let remaining = boxes
    .map((_, i) => i)
    .filter((i) => boxes[i]!.every(Number.isFinite) && boxes[i]![2]! > boxes[i]![0]! && boxes[i]![3]! > boxes[i]![1]!)
    .sort((a, b) => scores[b]! - scores[a]!);
  const merged: MergedBox[] = [];
  while (remaining.length && merged.length < most) {
    const best = remaining[0]!;
    const group = remaining.filter((i) => i === best || isSame(boxes[best]!, boxes[i]!, overlap));
    const total = group.reduce((sum, i) => sum + scores[i]!, 0);
    const unmerged = merge === "best" || group.length === 1 || total <= 0;
    const mean = (_: number, k: number): number => group.reduce((sum, i) => sum + scores[i]! * boxes[i]![k]!, 0) / total;
    merged.push({ best, box: unmerged ? boxes[best]! : boxes[best]!.map(mean) });
    const suppressed = new Set(group);
    remaining = remaining.filter((i) => !suppressed.has(i));
  }
  return merged;
}

function isSame(a: readonly number[], b: readonly number[], overlap: number): boolean {
  const along = (k: number): number => Math.max(0, Math.min(a[k + 2]!, b[k + 2]!) - Math.max(a[k]!, b[k]!));
  const area = (box: readonly number[]): number => (box[2]! - box[0]!) * (box[3]! - box[1]!);
  return along(0) * along(1) * (1 + overlap) > overlap * (area(a) + area(b)); // intersection > overlap * union
}
