/** Results of segmentation: the share of each pixel that belongs to the object. */

import { fitted, type Fit, type Tensor } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import { scoresOf, sigmoid } from "./boxes.ts";
import type { SegmentationRules } from "./description.ts";
import { resized } from "./resample.ts";

/** Output of the network and its region in the image. */
export interface Seen {
  /** Values from 0 to 1, in row-major order. */
  readonly numbers: Float32Array;
  readonly columns: number;
  readonly rows: number;
  /** Values between which the edge is smooth. */
  readonly edge: readonly [number, number];
  /** The part of the output that shows the image: left, top, right, bottom in its pixels. */
  readonly box: readonly [number, number, number, number];
  /** The region of the image read by the network, in its pixels. */
  readonly inner: readonly [number, number, number, number];
}

/** The mask of an image, computed for any size. */
export class Mask {
  private readonly _part: Float32Array;
  private readonly _columns: number;

  /**
   * @param output output of the network, (height, width, classes), or the classes' indices (height, width).
   * @param entry image input of the network.
   * @param size size of the image.
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

  /** The network's own values, and their region in the image. */
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

  /** Return the values, 0 to 1, in row-major order; by default one for each pixel of the image. */
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

  /** Return the opacity of each pixel: the mask with a smooth edge. */
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

/** Return the values of the selected class. */
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
