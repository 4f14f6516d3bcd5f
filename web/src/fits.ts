/** Fitting of images to an input's size: docs/reference/bundle-format.md, "preprocessing". */

import { FITS } from "./formatConstants.ts";
import type { Size } from "./layout.ts";
import type { Fit } from "./manifest.ts";

const [CENTER_SQUARE, CENTER_CROP, LETTERBOX] = FITS;

/** A rectangle of pixels. */
export interface Rectangle extends Size {
  readonly x: number;
  readonly y: number;
}

/** The region of an image that is used, and the region that it is scaled to; the remaining pixels are black. */
export interface Fitted {
  readonly from: Rectangle;
  readonly to: Rectangle;
}

/** Return the regions for an image and an input of these sizes. */
export function fitted(fit: Fit, picture: Size, target: Size): Fitted {
  const unchanged = { from: centered(picture, picture), to: centered(target, target) };
  if (fit === CENTER_SQUARE) {
    const side = Math.min(picture.width, picture.height);
    return { ...unchanged, from: centered(picture, { width: side, height: side }) };
  }
  if (fit === CENTER_CROP) return { ...unchanged, from: centered(picture, inside(picture, target)) };
  if (fit === LETTERBOX) return { ...unchanged, to: centered(target, inside(target, picture)) };
  return unchanged;
}

/** Return the largest size inside `outer` with the aspect ratio of `shape`, in whole pixels, at least 1. */
function inside(outer: Size, shape: Size): Size {
  const { width, height } = outer;
  const scaled = (side: number, numerator: number, denominator: number, limit: number): number =>
    Math.min(limit, Math.max(1, Math.floor((2 * side * numerator + denominator) / (2 * denominator))));
  return width * shape.height > height * shape.width
    ? { height, width: scaled(height, shape.width, shape.height, width) }
    : { width, height: scaled(width, shape.height, shape.width, height) };
}

function centered(outer: Size, { width, height }: Size): Rectangle {
  return { x: Math.floor((outer.width - width) / 2), y: Math.floor((outer.height - height) / 2), width, height };
}
