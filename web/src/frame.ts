/** A frame as a list of GL calls, created once and replayed for each image. */

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

/** A linked program and its uniform locations; null for uniforms without influence, which the compiler removed. */
export interface Linked {
  readonly program: WebGLProgram;
  readonly locations: ReadonlyMap<string, WebGLUniformLocation | null>;
}

/** GL objects referenced by passes, by their names in the manifest. */
export interface Handles {
  readonly programs: ReadonlyMap<string, Linked>;
  readonly textures: ReadonlyMap<string, WebGLTexture>;
  readonly framebuffers: ReadonlyMap<string, WebGLFramebuffer>;
}

/** Vertices of all passes, the first vertex of each pass, and the size of their viewport. */
export interface Vertices {
  readonly viewport: number;
  readonly data: Float32Array;
  readonly first: ReadonlyMap<Pass, number>;
}

/** Two triangles of a quad. */
const CORNERS = [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]] as const; // prettier-ignore

/** Draw the quad at the start of every vertex buffer, which covers the viewport, for draws outside of passes. */
export function drawWholeViewport(gl: WebGLRenderingContext): void {
  gl.drawArrays(gl.TRIANGLES, 0, CORNERS.length);
}

const SETTERS = ["uniform1fv", "uniform2fv", "uniform3fv", "uniform4fv"] as const;

/** Return the call that fills the bound framebuffer with a colour. */
export function clearing(gl: WebGLRenderingContext, bytes: Clear): Call {
  const [red, green, blue, alpha] = bytes.map((byte) => byte / 255) as unknown as Clear;
  return () => {
    gl.clearColor(red, green, blue, alpha);
    gl.clear(gl.COLOR_BUFFER_BIT);
  };
}

/** Converts passes to calls that draw them from any state of bindings. */
export type Recorder = (passes: readonly Pass[]) => Call[];

/**
 * Set the uniforms that are constant in a frame, and return a function from passes to GL calls.
 *
 * Calls without effect on the current state are omitted.
 *
 * @param firstVertex first vertex of each pass; see `vertices`.
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
    if (!location) return undefined; // the compiler removed it
    const floats = isSlice(value) ? floatsOf(value) : value;
    const setter = SETTERS[Math.min(floats.length, SETTERS.length) - 1]!; // slices are one or more vec4s
    return () => gl[setter](location, floats);
  }

  const constant = constantUniforms(passes);
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
    let activeUnit = -1;
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
      // The active unit first, because it needs no activeTexture.
      const units = [...pass.textures.keys()].sort((a, b) => Number(a !== activeUnit) - Number(b !== activeUnit));
      units.forEach((unit) => {
        const name = pass.textures[unit]!;
        if (bound[unit] === name) return;
        bound[unit] = name;
        const texture = textures.get(name)!;
        if (activeUnit !== unit) calls.push(() => gl.activeTexture(gl.TEXTURE0 + unit));
        activeUnit = unit;
        calls.push(() => gl.bindTexture(gl.TEXTURE_2D, texture));
      });
      for (const [name, value] of pass.uniforms) {
        const key = uniformKey(pass, name);
        const previous = uniforms.get(key);
        if (constant.has(key) || (previous && sameValue(previous, value))) continue;
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

/** Return the uniforms with the same value in all passes, by `uniformKey`. */
function constantUniforms(passes: readonly Pass[]): Map<string, { pass: Pass; name: string; value: UniformValue }> {
  const constant = new Map<string, { pass: Pass; name: string; value: UniformValue }>();
  const changing = new Set<string>();
  for (const pass of passes) {
    for (const [name, value] of pass.uniforms) {
      const key = uniformKey(pass, name);
      const previous = constant.get(key);
      if (!previous) constant.set(key, { pass, name, value });
      else if (!sameValue(previous.value, value)) changing.add(key);
    }
  }
  for (const key of changing) constant.delete(key);
  return constant;
}

/**
 * Return the vertices of all passes: position in clip space, then two texture coordinates in each vec4.
 *
 * All passes share a viewport, so that no call sets it for a target. Its size is a power of two, like drivers' limits,
 * with which corners of quads are exact in floats.
 *
 * @param varyings vec4s of a vertex, the maximum of all programs.
 * @param largest MAX_TEXTURE_SIZE, which every driver allows for a viewport. It is halved while all textures fit.
 */
export function vertices(
  manifest: Manifest,
  passes: readonly Pass[],
  varyings: number,
  largest: number,
): Vertices {
  const textures = byName(manifest.textures);
  let viewport = largest;
  while (manifest.textures.every((texture) => Math.max(texture.width, texture.height) * 2 <= viewport)) viewport >>= 1;
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

/**
 * Return a source's texture coordinate at a corner: pixel p of the quad reads the centre of texel origin + stride * p.
 */
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

/** Return the little-endian floats of a member at any alignment. */
function floatsIn(member: Uint8Array): Float32Array {
  const { f32 } = littleEndian(member);
  return Float32Array.from({ length: member.length / 4 }, (_, i) => f32(4 * i));
}
