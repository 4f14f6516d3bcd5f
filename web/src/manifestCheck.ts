/** Checks that the parts of a manifest agree, so that the runner can rely on them. */

import { checkCaps, checkDrawnTexels } from "./caps.ts";
import type { Members } from "./container.ts";
import { checkInputs, checkOutputs, checkProbe } from "./endsCheck.ts";
import { FLOATS_PATTERN } from "./formatConstants.ts";
import { same, slicesOf } from "./layout.ts";
import { most, sum } from "./lists.ts";
import { member } from "./lookup.ts";
import {
  byName,
  PASSES,
  PRELUDE,
  type Limits,
  type Manifest,
  type Pass,
  type ShaderProgram,
  type Texture,
} from "./manifest.ts";
import { checkUnique } from "./manifestJson.ts";
import { textOf } from "./memberText.ts";
import { checkPasses } from "./passCheck.ts";
import { readPasses } from "./passTable.ts";
import { refusalOf, refuse, short, under, type Refuse } from "./refusal.ts";
import { checkDeclarations, checkValues } from "./uniformCheck.ts";

/**
 * Return the passes of a bundle; refuse a bundle whose parts contradict each other.
 *
 * @param members bytes of all members.
 * @throws BundleError with the first inconsistent part.
 */
export function check(manifest: Manifest, members: Members): readonly Pass[] {
  under("caps", () => checkCaps(manifest, members));
  under("unique names", () => checkNames(manifest));
  const textures = byName(manifest.textures);
  const programs = byName(manifest.programs);
  for (const name of [PRELUDE, manifest.probe.member]) member(name, members);
  under("textures", () => manifest.textures.forEach((texture) => checkTexture(texture, members)));
  under("vertex shaders", () => manifest.programs.forEach((program) => checkShaders(program, members)));
  const shaders = under("uniforms", () => {
    for (const name of manifest.floats) {
      if (member(name, members) % 4 || !FLOATS_PATTERN.test(name)) refuse(`member '${short(name)}' holds no 32-bit floats`);
    }
    return checkDeclarations(manifest.programs, members);
  });
  const passes = under("passes.bin", () => readPasses(manifest, members.get(PASSES)!));
  under("caps", () => checkDrawnTexels(passes));
  const written = under("passes", () => {
    const drawn = new Set(passes.map(({ layer }) => layer));
    const idle = manifest.layers.find((name) => !drawn.has(name));
    if (idle !== undefined) refuse(`layers: '${short(idle)}' has no pass`);
    return checkPasses(passes, textures, programs, members);
  });
  under("uniforms", () => checkValues(manifest, passes, members, shaders));
  under("inputs", () => checkInputs(manifest, textures));
  under("outputs", () => checkOutputs(manifest, textures, written));
  under("probe", () => checkProbe(manifest, textures, written, members));
  under("limits", () => checkLimits(manifest));
  return passes;
}

function checkNames({ floats, inputs, layers, outputs, programs, textures }: Manifest): void {
  for (const [kind, entries] of Object.entries({ inputs, outputs, programs, textures })) {
    checkUnique(entries.map(({ name }) => name), kind);
  }
  checkUnique(layers, "layers");
  checkUnique(floats, "floats");
}

/** Refuse a program with missing members, or with another vertex shader than the format's. */
function checkShaders({ name, vertex, fragment, varyings }: ShaderProgram, members: Members): void {
  const text = vertexShader(varyings);
  member(fragment, members);
  if (member(vertex, members) !== text.length || textOf(vertex, members) !== text) {
    refuse(`program '${name}': '${vertex}' is not the vertex shader of this format`);
  }
}

/** Return the limits that textures and programs need (uniforms in vec4, each rounded up). */
function neededLimits(textures: readonly Texture[], programs: readonly ShaderProgram[]): Limits {
  const vectors = ({ uniforms }: ShaderProgram): number => sum(uniforms.values(), slicesOf);
  const varyings = most(programs, ({ varyings }) => varyings);
  return {
    texture_units: most(programs, ({ samplers }) => samplers.length),
    texture_size: most(textures, ({ width, height }) => Math.max(width, height)),
    fragment_uniform_vectors: most(programs, vectors),
    varying_vectors: varyings,
    vertex_attributes: 1 + varyings,
  };
}

/** Return the only allowed vertex shader for a number of varyings, because drivers can crash on others. */
function vertexShader(varyings: number): string {
  const each = (lines: string): string => "0123456".slice(0, varyings).replace(/./g, lines); // $& is the matched number
  return `#version 100
attribute vec2 position;
${each("attribute vec4 corner$&;\nvarying vec4 coord$&;\n")}void main() {
    gl_Position = vec4(position, 0.0, 1.0);
${each("    coord$& = corner$&;\n")}}
`;
}

function checkTexture({ name, width, height, member: texels }: Texture, members: Members): void {
  const fail: Refuse = refusalOf(`texture '${name}'`);
  if (texels !== undefined && member(texels, members) !== 4 * width * height) {
    fail("its member has not 4 bytes for each of its texels");
  }
}

function checkLimits(manifest: Manifest): void {
  const needed = neededLimits(manifest.textures, manifest.programs);
  if (!same(manifest.limits, needed)) {
    refuse(`limits are ${JSON.stringify(manifest.limits)}, but the contents need ${JSON.stringify(needed)}`);
  }
}
