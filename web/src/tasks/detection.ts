/** Detection with anchors: boxes of objects, and points of each. */

import { fitted, InputError, type PictureSource, type Tensor } from "glsl-infer";
import { anchorsOf, type Extent } from "./anchors.ts";
import { decode, likely, suppress } from "./boxes.ts";
import type { Point } from "./cuts.ts";
import type { DetectionRules } from "./description.ts";
import { joined, sizeOf, type Network } from "./picture.ts";
import type { Detection, FoundDetections } from "./results.ts";

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
    const numbers = joined(outputs, rules.boxes);
    const scores = joined(outputs, rules.scores);
    const candidates = likely(scores, this._classes, rules.activation, rules.threshold, rules.background);
    const boxes = candidates.map(({ row }) => {
      const own = numbers.subarray(row * columns, (row + 1) * columns);
      return this._withBody(decode(own, this._anchors.subarray(4 * row, 4 * row + 4), rules));
    });
    const classes = rules.exclusive ? [-1] : [...new Set(candidates.map(({ index }) => index))].sort((a, b) => a - b);
    const kept = classes.flatMap((label) => {
      const of = candidates.flatMap(({ index }, i) => (label < 0 || index === label ? [i] : []));
      const own = of.map((i) => candidates[i]!.score);
      const chosen = suppress(of.map((i) => boxes[i]!), own, rules.overlap, rules.most, rules.merge);
      return chosen.map(({ box, best }) => ({ ...candidates[of[best]!]!, box }));
    });
    kept.sort((a, b) => b.score - a.score);
    const place = this._back(size);
    const detections = kept.slice(0, rules.most).map(({ box, score, index }): Detection => {
      const [low, high, ...points] = place(box);
      return { box: [...low!, ...high!], score, label: rules.labels[index]!, index, points };
    });
    return { kind: "detection", size, things: detections, rules };
  }

  /** Return a box, replaced by the square around its circle if the rules have one. */
  private _withBody(box: number[]): number[] {
    const { body } = this.rules;
    if (!body) return box;
    const { width, height } = this.network.entry;
    const [middle, on] = body.map((point) => [box[4 + 2 * point]!, box[5 + 2 * point]!] as const);
    const radius = Math.hypot((on![0] - middle![0]) * width, (on![1] - middle![1]) * height);
    const [x, y] = [radius / width, radius / height];
    return [middle![0] - x, middle![1] - y, middle![0] + x, middle![1] + y, ...box.slice(4)];
  }

  /** Return the conversion of points relative to the network's input to pixels of the fitted image. */
  private _back(size: Extent): (numbers: readonly number[]) => Point[] {
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
