/** Landmarks: points of each thing that a detector finds, from a cut in which it stands upright. */

import { fitted, InputError, type Picture, type PictureSource, type Tensor } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import { sigmoid } from "./boxes.ts";
import { around, Cut, direction, least, most, pixelsOf, type Point } from "./cuts.ts";
import type { LandmarkRules, Region } from "./description.ts";
import type { Detector } from "./detection.ts";
import { pixelsIn, sizeOf, type Network } from "./picture.ts";
import type { Detection, FoundLandmarks, Landmarks } from "./results.ts";
import { Studio } from "./studio.ts";

/** Of the area that two cuts cover, the share above which they show one thing. */
const SAME = 0.4;
/** Frames after which the detector looks for more things, while some are followed. */
const SEARCH = 15;

/** A picture, and what returns a cut of it. */
interface Frame extends Extent {
  readonly picture: PictureSource;
  readonly cut: (cut: Cut, width: number, height: number) => Picture;
}

/** Finds points of things: a detector says where they are, a network reads the cut around each. */
export class Landmarker {
  /** How often the detector has looked. */
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
    const number = network.rows([rules.points], rules.dimensions);
    for (const name of [...(rules.presence ? [rules.presence] : []), ...Object.values(rules.attributes)]) {
      const numbers = network.rows([name], 1);
      if (numbers !== 1) throw new InputError(`output '${name}' has ${numbers} numbers, where one is needed`);
    }
    checkIndices("'lines'", rules.lines.flat(), number);
    checkIndices("'fine'", rules.fine.flat(), number);
    if (rules.follow) checkRegion("'follow'", rules.follow, number);
    checkRegion("'cut'", rules.cut, detector.rules.points.length);
  }

  /** Return the points of all things in a picture, best detection first. */
  async run(picture: PictureSource): Promise<FoundLandmarks> {
    const frame = onCpu(picture); // byte for byte what Python's cuts of photographs are
    return this._found(frame, await this._points(frame, await this._detected(frame)));
  }

  /**
   * Return the points of all things in the next frame of a film.
   *
   * Each cut is around the points of the frame before. The detector looks only where nothing is followed, and from time
   * to time while fewer things are than may be.
   */
  async follow(picture: PictureSource): Promise<FoundLandmarks> {
    const frame = this._onGpu(picture) ?? onCpu(picture);
    const size = `${frame.width} ${frame.height}`;
    if (!this.rules.follow || size !== this._size) this._cuts = [];
    this._size = size;
    let found = await this._points(frame, this._cuts);
    this._since += 1;
    if (!found.length || (found.length < this.rules.most && this._since >= SEARCH)) {
      this._since = 0;
      const known = found.map(({ cut }) => cut);
      const isNew = (cut: Cut): boolean => known.every((other) => !(cut.overlap(other) >= SAME));
      const added = (await this._detected(frame)).filter(isNew).slice(0, this.rules.most - found.length);
      found = [...found, ...(await this._points(frame, added))];
    }
    this._cuts = this.rules.follow ? distinct(found, this.rules.follow) : [];
    return this._found(frame, found);
  }

  /** Return the cut that shows a thing upright. */
  cutOf({ box, points }: Detection): Cut {
    const region = this.rules.cut;
    const angle = angleOf(region, points);
    if (region.points.length) return around(region.points.map((i) => points[i]!), angle, region);
    // A detector's box stands upright whatever is in it: its sides count, and the cut is turned around its middle.
    const [left, top, right, bottom] = box;
    let [width, height] = [right - left, bottom - top];
    const upright = new Cut((left + right) / 2, (top + bottom) / 2, width, height, angle);
    const [x, y] = upright.toPicture([region.shift[0] + 0.5, region.shift[1] + 0.5]);
    if (region.square) width = height = Math.max(width, height);
    return new Cut(x, y, width * region.scale, height * region.scale, angle);
  }

  /** Return what a network's numbers of a cut mean; nothing where it says that there is nothing. */
  points(outputs: Readonly<Record<string, Tensor>>, cut: Cut): Landmarks | undefined {
    const { rules } = this;
    const { width, height } = this.network.entry;
    const first = (name: string): number => outputs[name]!.data[0]!;
    const presence = rules.presence === undefined ? 1 : first(rules.presence);
    const score = rules.presence !== undefined && rules.activation === "sigmoid" ? sigmoid(presence) : presence;
    const numbers = outputs[rules.points]!.data;
    if (!(score >= rules.threshold) || !numbers.every(Number.isFinite)) return undefined;
    const [wide, high] = [rules.unit ?? width, rules.unit ?? height];
    const points = Array.from({ length: numbers.length / rules.dimensions }, (_, i) => {
      const [x, y, ...others] = numbers.subarray(i * rules.dimensions, (i + 1) * rules.dimensions);
      return [...cut.toPicture([x! / wide, y! / high]), ...others.map((number) => (number * cut.width) / wide)];
    });
    const attributes = Object.fromEntries(Object.entries(rules.attributes).map(([name, output]) => [name, first(output)]));
    return { points, score, attributes, cut };
  }

  /** Give the GPU's resources back. */
  close(): void {
    this._studio?.close();
    this._studio = undefined;
  }

  /** Return a frame of which the GPU makes cuts; nothing where it cannot. */
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
    return things.slice(0, this.rules.most).map((thing) => this.cutOf(thing));
  }

  private async _points(frame: Frame, cuts: readonly Cut[]): Promise<Landmarks[]> {
    const { width, height } = this.network.entry;
    const found: Landmarks[] = [];
    for (const cut of cuts) {
      if (!reaches(cut, frame)) continue;
      const item = this.points(await this.network.run(frame.cut(cut, width, height)), cut);
      if (item) found.push(item);
    }
    return found;
  }

  private _found({ width, height }: Extent, things: readonly Landmarks[]): FoundLandmarks {
    return { kind: "landmarks", size: { width, height }, things, rules: this.rules };
  }
}

/** Return a picture of which the CPU makes cuts. */
function onCpu(source: PictureSource): Frame {
  const picture = pixelsIn(source);
  const { width, height } = picture;
  return { width, height, picture, cut: (cut, wide, high) => pixelsOf(picture, cut, wide, high) };
}

/** Return the cuts of the next frame: two that came to show one thing become one. */
function distinct(found: readonly Landmarks[], region: Region): Cut[] {
  const cuts: Cut[] = [];
  for (const { points } of found) {
    const flat = points.map(([x, y]): Point => [x!, y!]);
    const chosen = region.points.length ? region.points.map((i) => flat[i]!) : flat;
    const cut = around(chosen, angleOf(region, flat), region);
    if (cut.usable && cuts.every((other) => !(cut.overlap(other) >= SAME))) cuts.push(cut);
  }
  return cuts;
}

function angleOf({ from, to, direction: wanted }: Region, points: readonly Point[]): number {
  if (!from.length) return 0;
  const mean = (indices: readonly number[], axis: 0 | 1): number =>
    indices.reduce((sum, i) => sum + points[i]![axis], 0) / indices.length;
  return direction([mean(from, 0), mean(from, 1)], [mean(to, 0), mean(to, 1)], wanted);
}

/** Return whether a cut is usable and shows any of the picture: a follower may be led far away. */
function reaches(cut: Cut, { width, height }: Extent): boolean {
  if (!cut.usable || Math.max(cut.width, cut.height) > 16 * Math.max(width, height)) return false;
  const [low, high] = [least(cut.corners), most(cut.corners)];
  return high[0] > 0 && high[1] > 0 && low[0] < width && low[1] < height;
}

function checkIndices(where: string, indices: readonly number[], number: number): void {
  const wrong = indices.find((index) => index >= number);
  if (wrong !== undefined) throw new InputError(`${where} names point ${wrong}; there are ${number}, from 0 on`);
}

function checkRegion(where: string, { from, to, points }: Region, number: number): void {
  checkIndices(where, [...from, ...to, ...points], number);
}
