/**
 * Cuts: rotated rectangles of an image, read by the next network, and the conversion of its points back.
 *
 * If a cut shrinks pixels by two or more, they are averaged in integers first; then the rotated rectangle is read
 * bilinearly, with the same bytes as `glsl_infer/tasks/cuts.py`. Edge pixels extend beyond the image.
 */

import type { Region } from "./description.ts";

/** x and y, in pixels of an image or relative to a cut. */
export type Point = readonly [number, number];

/** RGBA bytes of an image: an `ImageData`. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

/**
 * A rotated rectangle of an image: centre, sides in pixels, and the angle of its horizontal axis, clockwise in radians.
 */
export class Cut {
  constructor(
    readonly x: number,
    readonly y: number,
    readonly width: number,
    readonly height: number,
    readonly angle = 0,
  ) {}

  /** True if it is valid: finite, and of at least a pixel. */
  get usable(): boolean {
    const { x, y, width, height, angle } = this;
    return [x, y, width, height, angle].every(Number.isFinite) && Math.min(width, height) >= 1;
  }

  /** Corners in pixels, clockwise from its top left corner. */
  get corners(): Point[] {
    return ([[0, 0], [1, 0], [1, 1], [0, 1]] as const).map((corner) => this.toPicture(corner));
  }

  /** Convert a point relative to the cut to pixels of the image. */
  toPicture([x, y]: Point): Point {
    const [across, down] = [(x - 0.5) * this.width, (y - 0.5) * this.height];
    const [cosine, sine] = [Math.cos(this.angle), Math.sin(this.angle)];
    return [across * cosine - down * sine + this.x, across * sine + down * cosine + this.y];
  }

  /** Convert a pixel of the image to a point relative to the cut. */
  fromPicture([x, y]: Point): Point {
    const [across, down] = [x - this.x, y - this.y];
    const [cosine, sine] = [Math.cos(this.angle), Math.sin(this.angle)];
    return [(across * cosine + down * sine) / this.width + 0.5, (down * cosine - across * sine) / this.height + 0.5];
  }

  /** Return the intersection over union of two cuts, 0 to 1, computed as if both were upright. */
  overlap(other: Cut): number {
    const along = (at: "x" | "y", side: "width" | "height"): number =>
      Math.min(this[at] + this[side] / 2, other[at] + other[side] / 2) -
      Math.max(this[at] - this[side] / 2, other[at] - other[side] / 2);
    const shared = Math.max(0, along("x", "width")) * Math.max(0, along("y", "height"));
    return shared / (this.width * this.height + other.width * other.height - shared);
  }
}

/** Return the cut of a region around points, rotated by an angle in radians. */
export function around(points: readonly Point[], angle: number, { scale, shift, square }: Region): Cut {
  const upright = new Cut(0, 0, 1, 1, angle);
  const turned = points.map((point) => upright.fromPicture(point));
  const [low, high] = [least(turned), most(turned)];
  const [width, height] = [high[0] - low[0], high[1] - low[1]];
  const [x, y] = upright.toPicture([
    (low[0] + high[0]) / 2 + shift[0] * width,
    (low[1] + high[1]) / 2 + shift[1] * height,
  ]);
  const side = Math.max(width, height);
  return new Cut(x, y, (square ? side : width) * scale, (square ? side : height) * scale, angle);
}

/** Return the angle of a cut in which a line has the direction `target`, in degrees: 0 to the right, 90 up. */
export function direction(begin: Point, end: Point, target: number): number {
  const angle = (target * Math.PI) / 180 + Math.atan2(end[1] - begin[1], end[0] - begin[0]);
  return angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
}

export function least(points: readonly Point[]): Point {
  return [Math.min(...points.map(([x]) => x)), Math.min(...points.map(([, y]) => y))];
}

export function most(points: readonly Point[]): Point {
  return [Math.max(...points.map(([x]) => x)), Math.max(...points.map(([, y]) => y))];
}

/** Return the content of a valid cut: RGBA bytes of `width` x `height` pixels, opaque. */
export function pixelsOf(picture: Pixels, cut: Cut, width: number, height: number): Uint8ClampedArray {
  const [low, high] = [least(cut.corners), most(cut.corners)];
  const shrink = Math.max(1, Math.floor(Math.min(cut.width / width, cut.height / height)));
  const clamp = (value: number, from: number, to: number): number => Math.min(Math.max(value, from), to);
  const left = clamp(Math.floor(low[0]) - 2 * shrink, 0, picture.width - 1);
  const top = clamp(Math.floor(low[1]) - 2 * shrink, 0, picture.height - 1);
  const right = clamp(Math.ceil(high[0]) + 2 * shrink, left + 1, picture.width);
  const bottom = clamp(Math.ceil(high[1]) + 2 * shrink, top + 1, picture.height);
  const image = reduced(picture, left, top, right, bottom, shrink);
  const origin = cut.toPicture([0, 0]);
  const [rightOf, below] = [cut.toPicture([1 / width, 0]), cut.toPicture([0, 1 / height])];
  const step = (to: Point, axis: 0 | 1): number => (to[axis] - origin[axis]) / shrink;
  const start = [(origin[0] - left) / shrink, (origin[1] - top) / shrink] as const;
  const position = (row: number, column: number, axis: 0 | 1): number =>
    start[axis] + (column + 0.5) * step(rightOf, axis) + (row + 0.5) * step(below, axis) - 0.5;
  const out = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const x = Math.fround(clamp(position(row, column, 0), 0, image.width - 1));
      const y = Math.fround(clamp(position(row, column, 1), 0, image.height - 1));
      bilinear(image, x, y, out, 4 * (row * width + column));
    }
  }
  return out;
}

/** Write the pixel interpolated between four. */
function bilinear({ width, height, data }: Pixels, x: number, y: number, out: Uint8ClampedArray, to: number): void {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, bottom] = [Math.min(left + 1, width - 1), Math.min(top + 1, height - 1)];
  const [across, down] = [x - left, y - top];
  for (let c = 0; c < 3; c++) {
    const at = (column: number, row: number): number => data[4 * (row * width + column) + c]!;
    const upper = at(left, top) * (1 - across) + at(right, top) * across;
    const lower = at(left, bottom) * (1 - across) + at(right, bottom) * across;
    out[to + c] = Math.floor(upper * (1 - down) + lower * down + 0.5);
  }
}

/** Return a region of an image, `shrink` times smaller: each pixel is the mean of a square, in Pillow's arithmetic. */
function reduced(picture: Pixels, left: number, top: number, right: number, bottom: number, shrink: number): Pixels {
  if (shrink === 1 && right - left === picture.width && bottom - top === picture.height) return picture;
  const [width, height] = [Math.ceil((right - left) / shrink), Math.ceil((bottom - top) / shrink)];
  const data = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let row = 0; row < height; row++) {
    const [y0, y1] = [top + row * shrink, Math.min(bottom, top + (row + 1) * shrink)];
    for (let column = 0; column < width; column++) {
      const [x0, x1] = [left + column * shrink, Math.min(right, left + (column + 1) * shrink)];
      const count = (x1 - x0) * (y1 - y0);
      const factor = Math.floor(2 ** 24 / count);
      for (let c = 0; c < 3; c++) {
        let sum = Math.floor(count / 2);
        for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) sum += picture.data[4 * (y * picture.width + x) + c]!;
        data[4 * (row * width + column) + c] = Math.floor((sum * factor) / 2 ** 24);
      }
    }
  }
  return { width, height, data };
}
