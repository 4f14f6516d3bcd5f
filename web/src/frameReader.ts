/** From the textures of a frame to numbers: each rectangle is read back once. */

import { applySteps, type Doubles } from "./hostSteps.ts";
import { isFixed, shapeOf, sizeOfFixed, texturesOf, type Size, type Value } from "./layout.ts";
import type { Output } from "./manifest.ts";
import { unpack, type Texels } from "./texels.ts";

/** Numbers in row-major order and their shape; that of a single number is empty. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** What a model says in one of its outputs. */
export interface Result extends Tensor {
  readonly name: string;
  readonly purpose: Output["purpose"];
}

/** Reads values as they are now; make another after the next draw. */
export interface FrameReader {
  /** Return the textures of a value, by name: of a vector just its texels, of a map all. */
  texelsOf(value: Value): Map<string, Texels>;
  /** Return the numbers of a value. */
  numbersOf(value: Value): Doubles;
  /** Return an output after its host steps. */
  resultOf(output: Output): Result;
}

/**
 * Return a reader of the frame that was drawn.
 *
 * @param sizes of all textures, by name.
 * @param read returns a texture's first columns and rows.
 */
export function readerOf(
  sizes: ReadonlyMap<string, Size>,
  read: (name: string, width: number, height: number) => Texels,
): FrameReader {
  const known = new Map<string, Texels>();

  function texels(name: string, width: number, height: number): Texels {
    const key = `${width} ${height} ${name}`;
    const given = known.get(key) ?? read(name, width, height);
    known.set(key, given);
    return given;
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

/** Return numbers as users get them. */
export function rounded({ shape, data }: Doubles): Tensor {
  return { shape, data: new Float32Array(data) };
}
