/** Reads values from a frame's textures; each rectangle is read once. */

import { applySteps, type Doubles } from "./hostSteps.ts";
import { isFixed, shapeOf, sizeOfFixed, texturesOf, type Size, type Value } from "./layout.ts";
import type { Output } from "./manifest.ts";
import { unpack, type Texels } from "./texels.ts";

/** Values in row-major order and their shape, which is empty for a scalar. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** An output of a model. */
export interface Result extends Tensor {
  readonly name: string;
  readonly purpose: Output["purpose"];
}

/** Reads the current values. A reader is valid until the next draw. */
export interface FrameReader {
  /** Return the texels of a value by texture name: the used texels of a vector, all texels of a map's textures. */
  texelsOf(value: Value): Map<string, Texels>;
  /** Return the decoded values. */
  numbersOf(value: Value): Doubles;
  /** Return an output after its host steps. */
  resultOf(output: Output): Result;
}

/**
 * Return a reader of the last frame.
 *
 * @param sizes sizes of all textures, by name.
 * @param read returns a texture's first columns and rows.
 */
export function readerOf(
  sizes: ReadonlyMap<string, Size>,
  read: (name: string, width: number, height: number) => Texels,
): FrameReader {
  const cache = new Map<string, Texels>();

  function texels(name: string, width: number, height: number): Texels {
    const key = `${width} ${height} ${name}`;
    const texels = cache.get(key) ?? read(name, width, height);
    cache.set(key, texels);
    return texels;
  }

  function texelsOf(value: Value): Map<string, Texels> {
    return new Map(
      texturesOf(value).map((name) => {
        const { width, height } = sizes.get(name)!;
        return [name, isFixed(value) ? texels(name, ...sizeOfFixed(value)) : texels(name, width, height)];
      }),
    );
  }

  function numbersOf(value: Value): Doubles {
    return { shape: shapeOf(value), data: unpack(value, texelsOf(value)) };
  }

  function resultOf({ name, purpose, values, steps }: Output): Result {
    return { name, purpose, ...rounded(applySteps(steps, values.map(numbersOf))) };
  }

  return { texelsOf, numbersOf, resultOf };
}

/** Return values in the format for users. */
export function rounded({ shape, data }: Doubles): Tensor {
  return { shape, data: new Float32Array(data) };
}
