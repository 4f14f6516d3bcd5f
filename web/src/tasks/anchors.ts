/** Anchors: boxes to which a detector's outputs are relative, computed from parameters. */

import { InputError } from "glsl-infer";

/** Largest number of anchors of a detector. */
const MAX_ANCHORS = 1 << 18;

/** A size in pixels or cells. */
export interface Extent {
  readonly width: number;
  readonly height: number;
}

/** The anchors of a feature map: the same boxes around the centre of each cell. */
export interface Level {
  /** Width and height of each box of a cell, relative to the network's input. */
  readonly sizes: readonly (readonly [number, number])[];
  /** Input pixels of the network for each cell; alternatively rows and columns. */
  readonly stride?: number;
  readonly cells?: readonly [number, number];
}

/** Return width and height of boxes with an area of `scale` squared, for each aspect ratio (width by height). */
export function sizesOf(scale: number, aspects: readonly number[]): [number, number][] {
  return aspects.map((aspect) => [scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)]);
}

/**
 * Return all anchors, four numbers each: x and y of the centre, width and height, relative to the network's input.
 *
 * @param levels the feature maps, in the order of the network's outputs.
 * @throws InputError there are too many anchors.
 */
export function anchorsOf(levels: readonly Level[], { width, height }: Extent): Float32Array {
  const grids = levels.map(({ stride = 1, cells }) => cells ?? [Math.ceil(height / stride), Math.ceil(width / stride)]);
  const count = grids.reduce((sum, [rows, columns], i) => sum + rows! * columns! * levels[i]!.sizes.length, 0);
  if (count > MAX_ANCHORS) {
    throw new InputError(`${count} anchors; at most ${MAX_ANCHORS} are possible: give larger strides or fewer sizes`);
  }
  const anchors = new Float32Array(4 * count);
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
