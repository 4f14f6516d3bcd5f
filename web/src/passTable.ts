/** Reader of passes.bin, a binary table with the passes of a frame; docs/reference/bundle-format.md specifies it. */

import { GLSL_MOST_UNIFORM, SIDE_RANGE, SOURCES_RANGE, UNIT_RANGE } from "./formatConstants.ts";
import { littleEndian } from "./littleEndian.ts";
import { PASSES, type Manifest, type Pass, type Quad, type UniformValue } from "./manifest.ts";
import { refusalOf, refuse, type Refuse } from "./refusal.ts";

/** Largest coordinate, in texels. */
const MAX_SIDE = SIDE_RANGE[1];
const MAX_SOURCES = SOURCES_RANGE[1];
const MAX_UNIT = UNIT_RANGE[1];

/**
 * Read the passes, and replace indices by names.
 *
 * @param manifest has the numbers of passes and quads to read.
 * @param table the bytes of passes.bin.
 * @throws BundleError with the pass that violates the format.
 */
export function readPasses({ layers, programs, textures, floats, passes }: Manifest, table: Uint8Array): Pass[] {
  const { u8, u16, i16, u32, f32 } = littleEndian(table);
  let at = 0;
  let quadsLeft = passes.quads;
  let fail: Refuse = refuse;

  /** Skip that many bytes, which must exist, and return their position. */
  function take(bytes: number): number {
    if (at + bytes > table.length) fail(`${PASSES} ends within it`);
    at += bytes;
    return at - bytes;
  }

  function list<T>(length: number, item: () => T): T[] {
    return Array.from({ length }, item);
  }

  function float(most: number): number {
    const number = f32(take(4));
    return Math.abs(number) <= most ? number : fail("a number that is not finite, or too large");
  }

  function flag(name: string): boolean {
    const byte = u8(take(1));
    if (byte > 1) fail(`${name} ${byte}; 0 and 1 are possible`);
    return byte === 1;
  }

  /** Read an index, and return its entry. */
  function entryOf<T>(entries: readonly T[], kind: string): T {
    const index = u16(take(2));
    return entries[index] ?? fail(`${kind} ${index} of ${entries.length}`);
  }

  /** Read a coordinate; it is negative for windows that start in the padding. */
  function coordinate(low: number): number {
    const number = i16(take(2));
    return number >= low && number <= MAX_SIDE ? number : fail(`a quad beyond ${MAX_SIDE} texels`);
  }

  function quad(sources: number): Quad {
    const [x, y, width, height] = list(4, () => coordinate(0)) as [number, number, number, number];
    return { x, y, width, height, origins: list(sources, () => [coordinate(-MAX_SIDE), coordinate(-MAX_SIDE)] as const) };
  }

  function uniform(count: number): UniformValue {
    if (flag("a uniform of kind")) return { member: entryOf(floats, "member"), offset: u32(take(4)), count };
    take(4 * count);
    at -= 4 * count; // all floats exist, so allocate the array
    return Float32Array.from({ length: count }, () => float(GLSL_MOST_UNIFORM));
  }

  function pass(): Pass {
    const layer = entryOf(layers, "layer");
    const program = entryOf(programs, "program");
    const texture = (): string => entryOf(textures, "texture").name;
    const target = texture();
    const clear = flag("'clear' is");
    const read = list(u8(take(1)), texture);
    const sourceCount = u8(take(1));
    if (sourceCount < 1 || sourceCount > MAX_SOURCES) fail(`${sourceCount} sources; 1 to ${MAX_SOURCES} are possible`);
    const sources = list(sourceCount, () => {
      const unit = u8(take(1));
      if (unit > MAX_UNIT) fail(`texture unit ${unit}; 0 to ${MAX_UNIT} are possible`);
      return { unit, strideX: float(MAX_SIDE), strideY: float(MAX_SIDE) };
    });
    const quadCount = u32(take(4));
    if (quadCount < 1 || quadCount > quadsLeft) fail(`${quadCount} quads, where the manifest leaves ${quadsLeft}`);
    quadsLeft -= quadCount;
    return {
      layer,
      program: program.name,
      target,
      clear,
      textures: read,
      sources,
      quads: list(quadCount, () => quad(sourceCount)),
      uniforms: new Map([...program.uniforms].map(([name, count]) => [name, uniform(count)])),
    };
  }

  const result = Array.from({ length: passes.count }, (_, index) => {
    fail = refusalOf(`pass ${index}`);
    return pass();
  });
  if (quadsLeft) refuse(`${PASSES} has ${passes.quads - quadsLeft} quads, but ${passes.quads} in the manifest`);
  if (at < table.length) refuse(`${PASSES} goes on after pass ${passes.count - 1}, the manifest's last`);
  return result;
}
