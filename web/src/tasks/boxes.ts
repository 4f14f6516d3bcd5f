/** From a detector's numbers to boxes: decode what is likely enough, then let one box stand for all that overlap it. */

/** A box e**20 times its anchor is no box. */
const LARGEST_EXPONENT = 20;

export type Activation = "sigmoid" | "softmax" | "none";

/** How four numbers and an anchor make a box; pairs of numbers behind them are points. */
export interface Code {
  /** What x, y, width and height are divided by. */
  readonly units: readonly number[];
  /** Of the four numbers, and of each point's two. */
  readonly order: "xywh" | "yxhw";
  /** Sizes are the anchor's times the number, or times its exponential. */
  readonly sizes: "linear" | "exponential";
}

/** A likely thing: the anchor and the class that say so. */
export interface Candidate {
  readonly score: number;
  readonly row: number;
  readonly index: number;
}

export function sigmoid(number: number): number {
  return 1 / (1 + Math.exp(-Math.min(Math.max(number, -80), 80)));
}

/** Return what numbers of all classes mean, 0 to 1 where an activation makes it so. */
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
 * Return what is likely enough, anchor by anchor.
 *
 * @param numbers `classes` for each anchor, as the network leaves them.
 * @param background the first class means that there is nothing, and is not returned.
 */
export function likely(
  numbers: Float32Array,
  classes: number,
  activation: Activation,
  threshold: number,
  background: boolean,
): Candidate[] {
  const first = background ? 1 : 0;
  // Compared before: few numbers need the exponential.
  const least =
    activation === "sigmoid" && threshold > 0 && threshold < 1 ? Math.log(threshold / (1 - threshold)) : undefined;
  const found: Candidate[] = [];
  for (let row = 0; row * classes < numbers.length; row++) {
    const own = numbers.subarray(row * classes, (row + 1) * classes);
    const scores = least === undefined ? scoresOf(own, activation) : own;
    for (let c = first; c < classes; c++) {
      const number = scores[c]!;
      if (number >= (least ?? threshold)) {
        found.push({ score: least === undefined ? number : sigmoid(number), row, index: c - first });
      }
    }
  }
  return found;
}

/** Return a box and its points: left, top, right, bottom, then x and y of each point, in parts of the network's picture. */
export function decode(numbers: Float32Array, anchor: Float32Array, { units, order, sizes }: Code): number[] {
  const raw = Array.from(numbers, (_, i) => numbers[order === "yxhw" ? i ^ 1 : i]!);
  const place = (i: number): number => (raw[i]! / units[i & 1]!) * anchor[2 + (i & 1)]! + anchor[i & 1]!;
  const half = (axis: number): number => {
    const grown = raw[2 + axis]! / units[2 + axis]!;
    return ((sizes === "exponential" ? Math.exp(Math.min(grown, LARGEST_EXPONENT)) : grown) * anchor[2 + axis]!) / 2;
  };
  const [x, y, wide, high] = [place(0), place(1), half(0), half(1)];
  return raw.map((_, i) => (i < 4 ? [x - wide, y - high, x + wide, y + high][i]! : place(i)));
}

/** A box that stands for others, and which of the given ones is the best of them. */
export interface Kept {
  readonly box: readonly number[];
  readonly best: number;
}

/**
 * Return few boxes for many, best first: the best stands for all that overlap it, then the best of the others, and so on.
 *
 * @param boxes left, top, right, bottom, and whatever goes with them.
 * @param overlap area that two boxes share by the area that they cover, above which they are of one thing.
 * @param merge `weighted`: the mean of all, by their scores; `best`: the best box.
 */
export function suppress(
  boxes: readonly (readonly number[])[],
  scores: readonly number[],
  overlap: number,
  most: number,
  merge: "weighted" | "best",
): Kept[] {
  let left = boxes
    .map((_, i) => i)
    .filter((i) => boxes[i]!.every(Number.isFinite) && boxes[i]![2]! > boxes[i]![0]! && boxes[i]![3]! > boxes[i]![1]!)
    .sort((a, b) => scores[b]! - scores[a]!);
  const kept: Kept[] = [];
  while (left.length && kept.length < most) {
    const best = left[0]!;
    const group = left.filter((i) => i === best || isSame(boxes[best]!, boxes[i]!, overlap));
    const total = group.reduce((sum, i) => sum + scores[i]!, 0);
    const alone = merge === "best" || group.length === 1 || total <= 0;
    const mean = (_: number, k: number): number => group.reduce((sum, i) => sum + scores[i]! * boxes[i]![k]!, 0) / total;
    kept.push({ best, box: alone ? boxes[best]! : boxes[best]!.map(mean) });
    const gone = new Set(group);
    left = left.filter((i) => !gone.has(i));
  }
  return kept;
}

function isSame(a: readonly number[], b: readonly number[], overlap: number): boolean {
  const along = (k: number): number => Math.max(0, Math.min(a[k + 2]!, b[k + 2]!) - Math.max(a[k]!, b[k]!));
  const area = (box: readonly number[]): number => (box[2]! - box[0]!) * (box[3]! - box[1]!);
  return along(0) * along(1) * (1 + overlap) > overlap * (area(a) + area(b)); // shared > overlap * what both cover
}
