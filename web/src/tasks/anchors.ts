/** Anchors: the boxes that a detector's numbers are relative to, computed from a few lines of data. */

import { InputError } from "glsl-infer";

/** Most anchors of a detector. */
const MOST = 1 << 18;

/** Pixels, or cells. */
export interface Extent {
  readonly width: number;
  readonly height: number;
}

/** The anchors of one feature map: the same boxes around the middle of each of its cells. */
export interface Level {
  /** Width and height of each box of a cell, in parts of the network's picture. */
  readonly sizes: readonly (readonly [number, number])[];
  /** Pixels of the network's picture that a cell covers, or rows and columns. */
  readonly stride?: number;
  readonly cells?: readonly [number, number];
}

/** Return width and height of boxes of one area, `scale` squared, for each aspect (width by height). */
export function sizesOf(scale: number, aspects: readonly number[]): [number, number][] {
  return aspects.map((aspect) => [scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)]);
}

/**
 * Return all anchors, four numbers each: the middle's x and y, width and height, in parts of the network's picture.
 *
 * @param levels the feature maps, in the order of the network's numbers.
 * @throws InputError they are too many.
 */
export function anchorsOf(levels: readonly Level[], { width, height }: Extent): Float32Array {
  const grids = levels.map(({ stride = 1, cells }) => cells ?? [Math.ceil(height / stride), Math.ceil(width / stride)]);
  const number = grids.reduce((sum, [rows, columns], i) => sum + rows! * columns! * levels[i]!.sizes.length, 0);
  if (number > MOST) {
    throw new InputError(`${number} anchors; at most ${MOST} are possible: give larger strides or fewer sizes`);
  }
  const anchors = new Float32Array(4 * number);
  let at = 0;
  grids.forEach(([rows = 0, columns = 0], i) => {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        for (const size of levels[i]!.sizes) {
          anchors.set([(column + 0.5) / columns, (row + 0.5) / rows, ...size], at);
          at += 4;
        }
      }
    }
  });
  return anchors;
}
