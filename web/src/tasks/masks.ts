/** What a segmentation finds: how much of each pixel belongs to what was looked for. */

import { fitted, type Fit, type Tensor } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import { scoresOf, sigmoid } from "./boxes.ts";
import type { SegmentationRules } from "./description.ts";
import { resized } from "./resample.ts";

/** Where a network saw something of a picture. */
export interface Seen {
  /** 0 to 1, row by row. */
  readonly numbers: Float32Array;
  readonly columns: number;
  readonly rows: number;
  /** Between which numbers its edge is soft. */
  readonly edge: readonly [number, number];
  /** The part of the mask that shows something of the picture: left, top, right, bottom in its pixels. */
  readonly box: readonly [number, number, number, number];
  /** The part of the picture that the network saw, in its pixels. */
  readonly inner: readonly [number, number, number, number];
}

/** The mask of a picture; it is computed for the size that one asks for. */
export class Mask {
  private readonly _part: Float32Array;
  private readonly _columns: number;

  /**
   * @param output of the network, (height, width, classes), or the classes' indices (height, width).
   * @param entry the picture that the network reads.
   * @param size of the picture that was looked at.
   */
  constructor(
    output: Tensor,
    readonly rules: SegmentationRules,
    private readonly _entry: Extent & { readonly fit: Fit },
    readonly size: Extent,
  ) {
    this._part = partOf(output, rules);
    this._columns = output.shape[1]!;
  }

  /** The network's own numbers, and where they lie in the picture. */
  get seen(): Seen {
    const { _entry, _part, _columns: columns, rules } = this;
    const rows = _part.length / columns;
    const { from, to } = fitted(_entry.fit, this.size, _entry);
    const [across, down] = [columns / _entry.width, rows / _entry.height];
    return {
      numbers: _part,
      columns,
      rows,
      edge: rules.edge,
      box: [to.x * across, to.y * down, (to.x + to.width) * across, (to.y + to.height) * down],
      inner: [from.x, from.y, from.x + from.width, from.y + from.height],
    };
  }

  /** Return the numbers, 0 to 1, row by row; by default as many as the picture has pixels. */
  values({ width, height }: Extent = this.size): Float32Array {
    const { _entry, _part, _columns } = this;
    const { from, to } = fitted(_entry.fit, { width, height }, _entry);
    const [across, down] = [_columns / _entry.width, _part.length / _columns / _entry.height];
    const box = [to.x * across, to.y * down, (to.x + to.width) * across, (to.y + to.height) * down] as const;
    const inner = resized(_part, _columns, box, from.width, from.height);
    if (inner.length === width * height) return inner;
    const values = new Float32Array(width * height);
    for (let row = 0; row < from.height; row++) {
      values.set(inner.subarray(row * from.width, (row + 1) * from.width), (from.y + row) * width + from.x);
    }
    return values;
  }

  /** Return the opacity of each pixel: the mask with its edge made smooth. */
  alpha(size: Extent = this.size): Uint8ClampedArray {
    const [low, high] = this.rules.edge;
    const values = this.values(size);
    const alpha = new Uint8ClampedArray(values.length);
    for (let i = 0; i < values.length; i++) {
      const part = Math.min(Math.max((values[i]! - low) / (high - low), 0), 1);
      alpha[i] = Math.floor(part * part * (3 - 2 * part) * 255 + 0.5);
    }
    return alpha;
  }
}

/** Return the numbers of the class that is cut out. */
function partOf({ shape, data }: Tensor, { activation, channel }: SegmentationRules): Float32Array {
  const clip = (number: number): number => (Number.isNaN(number) ? 0 : Math.min(Math.max(number, 0), 1));
  if (shape.length === 2) return data.map((index) => (index === channel ? 1 : 0));
  const classes = shape[2]!;
  return Float32Array.from({ length: data.length / classes }, (_, i) => {
    if (activation === "softmax") return clip(scoresOf(data.subarray(i * classes, (i + 1) * classes), activation)[channel]!);
    const number = data[i * classes + channel]!;
    return clip(activation === "sigmoid" ? sigmoid(number) : number);
  });
}
