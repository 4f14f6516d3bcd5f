/** A frame as a list of GL calls, worked out once and replayed for every picture. */

import type { Members } from "./container.ts";
import { same } from "./layout.ts";
import { sum } from "./lists.ts";
import { littleEndian } from "./littleEndian.ts";
import {
  byName,
  isSlice,
  type Clear,
  type Manifest,
  type Pass,
  type Quad,
  type Slice,
  type Source,
  type Texture,
  type UniformValue,
} from "./manifest.ts";

export type Call = () => void;

/** A linked program and the locations of its uniforms; null where the compiler found one without influence. */
export interface Linked {
  readonly program: WebGLProgram;
  readonly locations: ReadonlyMap<string, WebGLUniformLocation | null>;
}

/** GL objects of everything that passes refer to, by the names of the manifest. */
export interface Handles {
  readonly programs: ReadonlyMap<string, Linked>;
  readonly textures: ReadonlyMap<string, WebGLTexture>;
  readonly framebuffers: ReadonlyMap<string, WebGLFramebuffer>;
}

/** The vertices of all passes, the first vertex of each, and the width and height of the viewport that they are for. */
export interface Vertices {
  readonly viewport: number;
  readonly data: Float32Array;
  readonly first: ReadonlyMap<Pass, number>;
}

/** Two triangles of a quad. */
const CORNERS = [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]] as const; // prettier-ignore

/** Draw the quad over the whole viewport with which every vertex buffer begins, for draws that are no pass. */
export function drawWholeViewport(gl: WebGLRenderingContext): void {
  gl.drawArrays(gl.TRIANGLES, 0, CORNERS.length);
}

const SETTERS = ["uniform1fv", "uniform2fv", "uniform3fv", "uniform4fv"] as const;

/** Return the call that fills the bound framebuffer with four bytes. */
export function clearing(gl: WebGLRenderingContext, bytes: Clear): Call {
  const [red, green, blue, alpha] = bytes.map((byte) => byte / 255) as unknown as Clear;
  return () => {
    gl.clearColor(red, green, blue, alpha);
    gl.clear(gl.COLOR_BUFFER_BIT);
  };
}

/** Turns passes into the calls that draw them from any state of bindings. */
export type Recorder = (passes: readonly Pass[]) => Call[];

/**
 * Set the uniforms that never change within a frame, and return what turns passes into GL calls.
 *
 * It leaves out the calls that would set what is set already.
 *
 * @param firstVertex of each pass; see `vertices`.
 * @param viewport its width and height.
 */
export function recorderOf(
  gl: WebGLRenderingContext,
  { programs, textures, framebuffers }: Handles,
  manifest: Manifest,
  passes: readonly Pass[],
  members: Members,
  firstVertex: ReadonlyMap<Pass, number>,
  viewport: number,
): Recorder {
  const sizes = byName(manifest.textures);
  const floatMembers = new Map(manifest.floats.map((name) => [name, floatsIn(members.get(name)!)]));

  function floatsOf({ member, offset, count }: Slice): Float32Array {
    return floatMembers.get(member)!.subarray(offset, offset + count);
  }

  function uniform(program: string, name: string, value: UniformValue): Call | undefined {
    const location = programs.get(program)!.locations.get(name);
    if (!location) return undefined; // the compiler found that it has no influence
    const floats = isSlice(value) ? floatsOf(value) : value;
    const setter = SETTERS[Math.min(floats.length, SETTERS.length) - 1]!; // slices are vec4s, one or more
    return () => gl[setter](location, floats);
  }

  /** Uniforms, as "program uniform", that have one value in all passes. */
  const constant = new Map<string, { pass: Pass; name: string; value: UniformValue }>();
  const varying = new Set<string>();
  for (const pass of passes) {
    for (const [name, value] of pass.uniforms) {
      const key = uniformKey(pass, name);
      const known = constant.get(key);
      if (!known) constant.set(key, { pass, name, value });
      else if (!sameValue(known.value, value)) varying.add(key);
    }
  }
  for (const key of varying) constant.delete(key);
  for (const { pass, name, value } of constant.values()) {
    gl.useProgram(programs.get(pass.program)!.program);
    uniform(pass.program, name, value)?.();
  }

  return (drawn) => {
    const calls: Call[] = [() => gl.viewport(0, 0, viewport, viewport)];
    const uniforms = new Map<string, UniformValue>();
    const bound: string[] = [];
    let target = "";
    let program = "";
    let active = -1;
    for (const pass of drawn) {
      if (pass.target !== target) {
        target = pass.target;
        const framebuffer = framebuffers.get(target)!;
        calls.push(() => gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer));
      }
      if (pass.clear) calls.push(clearing(gl, sizes.get(target)!.clear!));
      if (pass.program !== program) {
        program = pass.program;
        const linked = programs.get(program)!.program;
        calls.push(() => gl.useProgram(linked));
      }
      // The active unit first: what changes there needs no activeTexture.
      const units = [...pass.textures.keys()].sort((a, b) => Number(a !== active) - Number(b !== active));
      units.forEach((unit) => {
        const name = pass.textures[unit]!;
        if (bound[unit] === name) return;
        bound[unit] = name;
        const texture = textures.get(name)!;
        if (active !== unit) calls.push(() => gl.activeTexture(gl.TEXTURE0 + unit));
        active = unit;
        calls.push(() => gl.bindTexture(gl.TEXTURE_2D, texture));
      });
      for (const [name, value] of pass.uniforms) {
        const key = uniformKey(pass, name);
        const known = uniforms.get(key);
        if (constant.has(key) || (known && sameValue(known, value))) continue;
        uniforms.set(key, value);
        const call = uniform(program, name, value);
        if (call) calls.push(call);
      }
      const first = firstVertex.get(pass)!;
      const count = CORNERS.length * pass.quads.length;
      calls.push(() => gl.drawArrays(gl.TRIANGLES, first, count));
    }
    return calls;
  };
}

/**
 * Return the vertices of all passes: position in clip space, then two texture coordinates to a vec4.
 *
 * They are for one viewport for all jobs, so that no call sets one for each target. As a power of two, which drivers'
 * limits are, it makes corners of quads exact in floats.
 *
 * @param varyings vec4s of a vertex, the most that any program has.
 * @param largest MAX_TEXTURE_SIZE, which a viewport may have on every driver. It is halved while all textures fit.
 */
export function vertices(
  manifest: Manifest,
  passes: readonly Pass[],
  varyings: number,
  largest: number,
): Vertices {
  const textures = byName(manifest.textures);
  let viewport = largest;
  while (manifest.textures.every((one) => Math.max(one.width, one.height) * 2 <= viewport)) viewport >>= 1;
  const width = 2 + 4 * varyings;
  const quads = sum(passes, (pass) => pass.quads.length);
  const data = new Float32Array(width * CORNERS.length * (1 + quads));
  const first = new Map<Pass, number>();
  let row = 0;
  for (const [cx, cy] of CORNERS) data.set([2 * cx - 1, 2 * cy - 1], width * row++);
  for (const pass of passes) {
    first.set(pass, row);
    const sizes = pass.sources.map((source) => textures.get(pass.textures[source.unit]!)!);
    for (const quad of pass.quads) {
      for (const corner of CORNERS) {
        const at = width * row++;
        data[at] = (2 * (quad.x + corner[0] * quad.width)) / viewport - 1;
        data[at + 1] = (2 * (quad.y + corner[1] * quad.height)) / viewport - 1; // row 0 of the target is at -1
        pass.sources.forEach((source, k) => {
          data.set(coordinate(quad, corner, source, quad.origins[k]!, sizes[k]!), at + 2 + 2 * k);
        });
      }
    }
  }
  return { viewport, data, first };
}

type Corner = readonly [number, number];

/** Return a source's texture coordinate at a corner: pixel p of the quad gets the centre of texel origin + stride * p. */
function coordinate(quad: Quad, corner: Corner, source: Source, origin: Corner, texture: Texture): [number, number] {
  return [
    (origin[0] + 0.5 + source.strideX * (corner[0] * quad.width - 0.5)) / texture.width,
    (origin[1] + 0.5 + source.strideY * (corner[1] * quad.height - 0.5)) / texture.height,
  ];
}

/** Return whether two values of the same uniform are equal. */
function sameValue(a: UniformValue, b: UniformValue): boolean {
  if (isSlice(a) || isSlice(b)) return isSlice(a) && isSlice(b) && same(a, b);
  return a.every((number, i) => number === b[i]);
}

function uniformKey(pass: Pass, name: string): string {
  return `${pass.program}\n${name}`;
}

/** Return the little-endian floats of a member, wherever in memory it begins. */
function floatsIn(member: Uint8Array): Float32Array {
  const { f32 } = littleEndian(member);
  return Float32Array.from({ length: member.length / 4 }, (_, i) => f32(4 * i));
}
