/** Unpacking of a convolution's weights from the order of shaders' reads: bundle-format.md, "packing". */

import type { Members } from "../src/container.ts";
import { slicesOf } from "../src/layout.ts";
import { littleEndian } from "../src/littleEndian.ts";
import type { Layer } from "./graph.ts";

/** Stored weights K and bias B of the format. */
export interface PackedConvolution {
  /** Return K of a tap (ky * width + kx), an input channel within the filter's group, and a filter. */
  readonly packedKernel: (tap: number, channel: number, filter: number) => number;
  /** Return B of a filter. */
  readonly packedBias: (filter: number) => number;
}

/** Columns of 4 numbers for each output slice, and the last column. */
interface Columns {
  readonly column: (slice: number, at: number, component: number) => number;
  readonly bias: (slice: number, component: number) => number;
}

/** Find the weights of a `conv2d` layer in its members. */
export function packedConvolution(layer: Layer, members: Members): PackedConvolution {
  const [height, width, given, filters] = layer.weights.get("kernel") as [number, number, number, number];
  const channels = given + Number(layer.attrs.get("alpha"));
  const groups = Number(layer.attrs.get("groups"));
  const slices = slicesOf(filters);
  const taps = height * width;
  const firstOf = (filter: number): number => Math.floor((filter * groups) / filters) * channels;

  if (groups > 1 && channels === 1 && filters === groups) {
    const { column, bias } = columnsOf(layer, members, slices, taps);
    return {
      packedKernel: (tap, _, filter) => column(filter >> 2, tap, filter & 3),
      packedBias: (filter) => bias(filter >> 2, filter & 3),
    };
  }

  const touched = Array.from({ length: slices }, (_, slice) => {
    const channelsRead = new Set<number>();
    for (let filter = 4 * slice; filter < Math.min(4 * slice + 4, filters); filter++) {
      for (let i = 0; i < channels; i++) channelsRead.add(firstOf(filter) + i);
    }
    return sorted(channelsRead);
  });
  const reads = touched.map((all) => sorted(new Set(all.map((channel) => channel >> 2))));
  const slots = Math.max(...reads.map(({ length }) => length));
  const lanes = Array.from({ length: slots }, (_, slot) =>
    sorted(new Set(touched.flatMap((all, i) => all.filter((c) => c >> 2 === reads[i]![slot]).map((c) => c & 3)))),
  );
  const starts = [0];
  for (const lane of lanes) starts.push(starts[starts.length - 1]! + taps * lane.length);
  const { column, bias } = columnsOf(layer, members, slices, starts[slots]!);
  return {
    packedKernel(tap, channel, filter) {
      const slice = filter >> 2;
      const c = firstOf(filter) + channel;
      const slot = reads[slice]!.indexOf(c >> 2);
      const at = starts[slot]! + tap * lanes[slot]!.length + lanes[slot]!.indexOf(c & 3);
      return column(slice, at, filter & 3);
    },
    packedBias: (filter) => bias(filter >> 2, filter & 3),
  };
}

/** Return the columns of a layer, the first `count` of which are the kernel, from floats or the texels of a texture. */
function columnsOf(layer: Layer, members: Members, slices: number, count: number): Columns {
  const [first, second] = layer.members.map((name) => members.get(name)!);
  if (!second) {
    const { f32 } = littleEndian(first!);
    const all = first!.length / 16 / slices;
    const number: Columns["column"] = (slice, at, component) => f32(16 * (slice * all + at) + 4 * component);
    // A last column (1, 1, 1, 2^40) means that the fourth components have this unit.
    const unit = number(0, all - 1, 3) === 2 ** 40 && number(0, all - 1, 0) === 1 ? 2 ** 40 : 1;
    const column: typeof number = (slice, at, component) => number(slice, at, component) * (component === 3 ? unit : 1);
    return { column, bias: (slice, component) => column(slice, all - (unit > 1 ? 2 : 1), component) };
  }
  const { f32 } = littleEndian(second);
  const texels = first!.length / 4 / slices;
  if (count > 1 && (texels === count + 4 || texels === count + 7)) {
    const byte = (slice: number, at: number, j: number): number => first![4 * (slice * texels + at) + j]!;
    const scale = (slice: number, j: number): number => byte(slice, count + 3, j) * f32(0);
    return {
      column: (slice, at, j) => (byte(slice, at, j) - 128) * scale(slice, j),
      bias: (slice, j) =>
        (65536 * byte(slice, count, j) + 256 * byte(slice, count + 1, j) + byte(slice, count + 2, j) - 8388608) *
        f32(4) *
        scale(slice, j),
    };
  }
  const width = first!.length / 8 / slices;
  const high = (slice: number, at: number, component: number): number => first![4 * (slice * width + at) + component]!;
  const low: typeof high = (slice, at, component) => high(slices + slice, at, component);
  const wide: typeof high = (...place) => 256 * high(...place) + low(...place);
  return {
    column: (slice, at, j) => (wide(slice, at, j) - 32768) * wide(slice, count, j) * f32(0),
    bias: (slice, j) => (256 * wide(slice, count + 1, j) + high(slice, count + 2, j) - 8388608) * f32(4),
  };
}

function sorted(numbers: Set<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
