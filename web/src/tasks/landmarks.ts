/** Landmarks: points of each object found by a detector, read from a cut in which it is upright. */

import { fitted, InputError, type Picture, type PictureSource, type Tensor } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import { sigmoid } from "./boxes.ts";
import { around, Cut, direction, least, most, pixelsOf, type Point } from "./cuts.ts";
import type { LandmarkRules, Region } from "./description.ts";
import type { Detector } from "./detection.ts";
import { pixelsIn, sizeOf, type Network } from "./picture.ts";
import type { Detection, FoundLandmarks, Landmarks } from "./results.ts";
import { Studio } from "./studio.ts";

/** Intersection over union above which two cuts show the same object. */
const SAME_OBJECT = 0.4;
/** Number of frames after which the detector searches for more objects while some are followed. */
const SEARCH_INTERVAL = 15;

/** An image, with a function that returns a cut of it. */
interface Frame extends Extent {
  readonly picture: PictureSource;
  readonly cut: (cut: Cut, width: number, height: number) => Picture;
}

/** Finds points of objects: a detector locates them, and a network reads the cut around each. */
export class Landmarker {
  /** Number of runs of the detector. */
  detections = 0;
  private _cuts: Cut[] = [];
  private _size = "";
  private _since = 0;
  private _studio: Studio | undefined;

  /** @throws InputError the networks do not fit the rules. */
  constructor(
    readonly network: Network,
    readonly rules: LandmarkRules,
    readonly detector: Detector,
  ) {
    const count = network.rows([rules.points], rules.dimensions);
    for (const name of [...(rules.presence ? [rules.presence] : []), ...Object.values(rules.attributes)]) {
      const numbers = network.rows([name], 1);
      if (numbers !== 1) throw new InputError(`output '${name}' has ${numbers} numbers, where one is needed`);
    }
    checkIndices("'lines'", rules.lines.flat(), count);
    checkIndices("'fine'", rules.fine.flat(), count);
    if (rules.follow) checkRegion("'follow'", rules.follow, count);
    checkRegion("'cut'", rules.cut, detector.rules.points.length);
  }

  /** Return the points of all objects in an image, best detection first. */
  async run(picture: PictureSource): Promise<FoundLandmarks> {
    const frame = onCpu(picture); // the same bytes as Python's cuts of photographs
    return this._found(frame, await this._points(frame, await this._detected(frame)));
  }

  /**
   * Return the points of all objects in the next frame of a video.
   *
   * Each cut is around the points in the previous frame. The detector runs if no object is followed, and periodically
   * while there are fewer objects than the limit.
   */
  async follow(picture: PictureSource): Promise<FoundLandmarks> {
    const frame = this._onGpu(picture) ?? onCpu(picture);
    const size = `${frame.width} ${frame.height}`;
    if (!this.rules.follow || size !== this._size) this._cuts = [];
    this._size = size;
    let results = await this._points(frame, this._cuts);
    this._since += 1;
    if (!results.length || (results.length < this.rules.most && this._since >= SEARCH_INTERVAL)) {
      this._since = 0;
      const currentCuts = results.map(({ cut }) => cut);
      const isNew = (cut: Cut): boolean => currentCuts.every((other) => !(cut.overlap(other) >= SAME_OBJECT));
      const added = (await this._detected(frame)).filter(isNew).slice(0, this.rules.most - results.length);
      results = [...results, ...(await this._points(frame, added))];
    }
    this._cuts = this.rules.follow ? distinct(results, this.rules.follow) : [];
    return this._found(frame, results);
  }

  /** Return the cut in which an object is upright. */
  cutOf({ box, points }: Detection): Cut {
    const region = this.rules.cut;
    const angle = angleOf(region, points);
    if (region.points.length) return around(region.points.map((i) => points[i]!), angle, region);
    // A detector's box is always upright: its sides are kept, and the cut is rotated around its centre.
    const [left, top, right, bottom] = box;
    let [width, height] = [right - left, bottom - top];
    const upright = new Cut((left + right) / 2, (top + bottom) / 2, width, height, angle);
    const [x, y] = upright.toPicture([region.shift[0] + 0.5, region.shift[1] + 0.5]);
    if (region.square) width = height = Math.max(width, height);
    return new Cut(x, y, width * region.scale, height * region.scale, angle);
  }

  /** Return the landmarks for the network's outputs of a cut; undefined if the object is absent. */
  points(outputs: Readonly<Record<string, Tensor>>, cut: Cut): Landmarks | undefined {
    const { rules } = this;
    const { width, height } = this.network.entry;
    const first = (name: string): number => outputs[name]!.data[0]!;
    const presence = rules.presence === undefined ? 1 : first(rules.presence);
    const score = rules.presence !== undefined && rules.activation === "sigmoid" ? sigmoid(presence) : presence;
    const numbers = outputs[rules.points]!.data;
    if (!(score >= rules.threshold) || !numbers.every(Number.isFinite)) return undefined;
    const [unitX, unitY] = [rules.unit ?? width, rules.unit ?? height];
    const points = Array.from({ length: numbers.length / rules.dimensions }, (_, i) => {
      const [x, y, ...others] = numbers.subarray(i * rules.dimensions, (i + 1) * rules.dimensions);
      return [...cut.toPicture([x! / unitX, y! / unitY]), ...others.map((number) => (number * cut.width) / unitX)];
    });
    const attributes = Object.fromEntries(Object.entries(rules.attributes).map(([name, output]) => [name, first(output)]));
    return { points, score, attributes, cut };
  }

  /** Free the GPU resources. */
  close(): void {
    this._studio?.close();
    this._studio = undefined;
  }

  /** Return a frame whose cuts the GPU draws; undefined if it cannot. */
  private _onGpu(picture: PictureSource): Frame | undefined {
    const { entry } = this.network;
    const { from, to } = fitted(entry.fit, entry, entry);
    if ([from, to].some(({ width, height }) => width !== entry.width || height !== entry.height)) return undefined;
    if (this._studio?.isLost) this._studio = undefined;
    const studio = (this._studio ??= Studio.open());
    if (!studio?.take(picture)) return undefined;
    return { ...sizeOf(picture), picture, cut: (cut, width, height) => studio.cut(cut, width, height) };
  }

  private async _detected({ picture }: Frame): Promise<Cut[]> {
    this.detections += 1;
    const { things } = await this.detector.run(picture);
    return things.slice(0, this.rules.most).map((detection) => this.cutOf(detection));
  }

  private async _points(frame: Frame, cuts: readonly Cut[]): Promise<Landmarks[]> {
    const { width, height } = this.network.entry;
    const results: Landmarks[] = [];
    for (const cut of cuts) {
      if (!reaches(cut, frame)) continue;
      const item = this.points(await this.network.run(frame.cut(cut, width, height)), cut);
      if (item) results.push(item);
    }
    return results;
  }

  private _found({ width, height }: Extent, things: readonly Landmarks[]): FoundLandmarks {
    return { kind: "landmarks", size: { width, height }, things, rules: this.rules };
  }
}

/** Return a frame whose cuts the CPU computes. */
function onCpu(source: PictureSource): Frame {
  const picture = pixelsIn(source);
  const { width, height } = picture;
  return { width, height, picture, cut: (cut, columns, rows) => pixelsOf(picture, cut, columns, rows) };
}

/** Return the cuts for the next frame, without those of an object that another one shows. */
function distinct(found: readonly Landmarks[], region: Region): Cut[] {
  const cuts: Cut[] = [];
  for (const { points } of found) {
    const flat = points.map(([x, y]): Point => [x!, y!]);
    const chosen = region.points.length ? region.points.map((i) => flat[i]!) : flat;
    const cut = around(chosen, angleOf(region, flat), region);
    if (cut.usable && cuts.every((other) => !(cut.overlap(other) >= SAME_OBJECT))) cuts.push(cut);
  }
  return cuts;
}

function angleOf({ from, to, direction: target }: Region, points: readonly Point[]): number {
  if (!from.length) return 0;
  const mean = (indices: readonly number[], axis: 0 | 1): number =>
    indices.reduce((sum, i) => sum + points[i]![axis], 0) / indices.length;
  return direction([mean(from, 0), mean(from, 1)], [mean(to, 0), mean(to, 1)], target);
}

/** Return whether a cut is valid and overlaps the image, because a follower can drift away. */
function reaches(cut: Cut, { width, height }: Extent): boolean {
  if (!cut.usable || Math.max(cut.width, cut.height) > 16 * Math.max(width, height)) return false;
  const [low, high] = [least(cut.corners), most(cut.corners)];
  return high[0] > 0 && high[1] > 0 && low[0] < width && low[1] < height;
}

function checkIndices(where: string, indices: readonly number[], count: number): void {
  const wrong = indices.find((index) => index >= count);
  if (wrong !== undefined) throw new InputError(`${where} names point ${wrong}; there are ${count}, from 0 on`);
}

function checkRegion(where: string, { from, to, points }: Region, count: number): void {
  checkIndices(where, [...from, ...to, ...points], count);
}
