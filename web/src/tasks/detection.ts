/** Detection with anchors: boxes of objects, and points of each. */

import { fitted, InputError, type PictureSource, type Tensor } from "glsl-infer";
import { anchorsOf, type Extent } from "./anchors.ts";
import { decode, likely, suppress, type Candidate } from "./boxes.ts";
import type { Point } from "./cuts.ts";
import type { DetectionRules } from "./description.ts";
import { joined, sizeOf, type Network } from "./picture.ts";
import type { Detection, FoundDetections } from "./results.ts";

/** A candidate and its box, with points, relative to the network's input. */
interface BoxedCandidate extends Candidate {
  readonly box: readonly number[];
}

/** Finds objects with a network such as SSD, which has a score and a box for each anchor. */
export class Detector {
  private readonly _anchors: Float32Array;
  private readonly _columns: number;
  private readonly _classes: number;

  /** @throws InputError the network does not fit the rules. */
  constructor(
    readonly network: Network,
    readonly rules: DetectionRules,
  ) {
    this._anchors = anchorsOf(rules.anchors, network.entry);
    this._columns = 4 + 2 * rules.points.length;
    this._classes = rules.labels.length + (rules.background ? 1 : 0);
    for (const [what, columns] of [["boxes", this._columns], ["scores", this._classes]] as const) {
      const rows = network.rows(rules[what], columns);
      if (4 * rows === this._anchors.length) continue;
      throw new InputError(
        `${rules[what].join(", ")}: ${rows} rows of ${columns} numbers for the ${what} of ${this._anchors.length / 4} ` +
          "anchors; correct 'anchors', 'points' or 'labels'",
      );
    }
  }

  /** Return the objects in an image, best first. */
  async run(picture: PictureSource): Promise<FoundDetections> {
    const size = sizeOf(picture);
    return this.found(await this.network.run(picture), size);
  }

  /** Return the objects for the outputs of the network and the size of the image. */
  found(outputs: Readonly<Record<string, Tensor>>, size: Extent): FoundDetections {
    const { rules, _columns: columns } = this;
    const encodedBoxes = joined(outputs, rules.boxes);
    const scores = joined(outputs, rules.scores);
    const candidates = likely(scores, this._classes, rules.activation, rules.threshold, rules.background);
    const boxed = candidates.map((candidate): BoxedCandidate => {
      const { row } = candidate;
      const encoded = encodedBoxes.subarray(row * columns, (row + 1) * columns);
      const box = decode(encoded, this._anchors.subarray(4 * row, 4 * row + 4), rules);
      return { ...candidate, box: this._squareOfBody(box) };
    });
    const toImage = this._toImage(size);
    const detections = this._best(boxed).map(({ box, score, index }): Detection => {
      const [topLeft, bottomRight, ...points] = toImage(box);
      return { box: [...topLeft!, ...bottomRight!], score, label: rules.labels[index]!, index, points };
    });
    return { kind: "detection", size, things: detections, rules };
  }

  /** Return the best candidate of each object, best first; with exclusive classes, an object has only one class. */
  private _best(candidates: readonly BoxedCandidate[]): BoxedCandidate[] {
    const { exclusive, overlap, most, merge } = this.rules;
    const groups = exclusive ? [candidates] : byClass(candidates);
    const best = groups.flatMap((group) => {
      const scores = group.map(({ score }) => score);
      const chosen = suppress(group.map(({ box }) => box), scores, overlap, most, merge);
      return chosen.map(({ box, best }) => ({ ...group[best]!, box }));
    });
    return best.sort((a, b) => b.score - a.score).slice(0, most);
  }

  /**
   * Return the square around the circle that two of a box's points describe, with the box's points; the box itself if the
   * rules have no body.
   */
  private _squareOfBody(box: number[]): number[] {
    const { body } = this.rules;
    if (!body) return box;
    const { width, height } = this.network.entry;
    const [centre, rim] = body.map((point) => [box[4 + 2 * point]!, box[5 + 2 * point]!] as const);
    const radius = Math.hypot((rim![0] - centre![0]) * width, (rim![1] - centre![1]) * height);
    const [x, y] = [radius / width, radius / height];
    return [centre![0] - x, centre![1] - y, centre![0] + x, centre![1] + y, ...box.slice(4)];
  }

  /** Return the conversion of points relative to the network's input to pixels of the fitted image. */
  private _toImage(size: Extent): (numbers: readonly number[]) => Point[] {
    const { entry } = this.network;
    const { from, to } = fitted(entry.fit, size, entry);
    const [across, down] = [from.width / to.width, from.height / to.height];
    return (numbers) =>
      Array.from({ length: numbers.length / 2 }, (_, i) => [
        numbers[2 * i]! * entry.width * across + from.x - to.x * across,
        numbers[2 * i + 1]! * entry.height * down + from.y - to.y * down,
      ]);
  }
}

/** Return the candidates of each class, in the order of classes. */
function byClass(candidates: readonly BoxedCandidate[]): BoxedCandidate[][] {
  const classes = [...new Set(candidates.map(({ index }) => index))].sort((a, b) => a - b);
  return classes.map((label) => candidates.filter(({ index }) => index === label));
}
