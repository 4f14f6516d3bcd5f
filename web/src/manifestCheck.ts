/** Whether the parts of a manifest fit together: what a runner may rely on without looking. */

import { checkCaps, checkDrawnTexels } from "./caps.ts";
import type { Members } from "./container.ts";
import { isFixed, isInside, isMap, same, sizeOfFixed, slicesOf, texturesOf, type Value } from "./layout.ts";
import { most, sum } from "./lists.ts";
import { member, type ByName } from "./lookup.ts";
import {
  GRAPH,
  LABELS,
  PASSES,
  PRELUDE,
  type Limits,
  type Manifest,
  type Pass,
  type ShaderProgram,
  type Texture,
} from "./manifest.ts";
import { textOf } from "./memberText.ts";
import { checkPasses } from "./passCheck.ts";
import { readPasses } from "./passTable.ts";
import { refusalOf, refuse, short, type Refuse } from "./refusal.ts";

/**
 * Return the passes of a bundle, and refuse one whose parts contradict one another.
 *
 * @param members bytes of every member.
 * @throws BundleError naming the first part that does not fit.
 */
export function check(manifest: Manifest, members: Members): readonly Pass[] {
  checkCaps(manifest, members);
  const textures = unique(manifest.textures, "texture");
  const programs = unique(manifest.programs, "program");
  for (const name of [PRELUDE, LABELS, GRAPH, PASSES, manifest.probe.member]) member(name, members);
  for (const texture of textures.values()) checkTexture(texture, members);
  for (const { name, vertex, fragment, varyings } of programs.values()) {
    member(vertex, members);
    member(fragment, members);
    if (textOf(vertex, members) !== vertexShader(varyings)) {
      refuse(`program '${name}': '${vertex}' is not the vertex shader of this format`);
    }
  }
  for (const name of manifest.floats) {
    if (!/^weights\/.*\.f32$/.test(name) || member(name, members) % 4) refuse(`member '${short(name)}' holds no 32-bit floats`);
  }
  const passes = readPasses(manifest, members.get(PASSES)!);
  checkDrawnTexels(passes);
  const written = checkPasses(passes, textures, programs, members);
  checkInput(manifest, textures);
  checkOutput(manifest, textures, written);
  checkProbe(manifest, passes, textures, written, members);
  checkLimits(manifest);
  return passes;
}

/** Return what textures and programs need of a driver (uniforms in vec4, each rounded up). */
function neededLimits(textures: readonly Texture[], programs: readonly ShaderProgram[]): Limits {
  const vectors = (one: ShaderProgram): number => sum(one.uniforms.values(), slicesOf);
  const varyings = most(programs, (one) => one.varyings);
  return {
    texture_units: most(programs, (one) => one.samplers.length),
    texture_size: most(textures, (one) => Math.max(one.width, one.height)),
    fragment_uniform_vectors: most(programs, vectors),
    varying_vectors: varyings,
    vertex_attributes: 1 + varyings,
  };
}

/** Return the only vertex shader that the format has for that many varyings: drivers may crash on others. */
function vertexShader(varyings: number): string {
  const each = (lines: string): string => "0123456".slice(0, varyings).replace(/./g, lines); // $& is the number
  return `#version 100
attribute vec2 position;
${each("attribute vec4 corner$&;\nvarying vec4 coord$&;\n")}void main() {
    gl_Position = vec4(position, 0.0, 1.0);
${each("    coord$& = corner$&;\n")}}
`;
}

function unique<T extends { readonly name: string }>(entries: readonly T[], kind: string): Map<string, T> {
  const byName = new Map<string, T>();
  for (const entry of entries) {
    if (byName.has(entry.name)) refuse(`two ${kind}s are called '${entry.name}'`);
    byName.set(entry.name, entry);
  }
  if (!byName.size) refuse(`there is no ${kind}`);
  return byName;
}

function checkTexture(texture: Texture, members: Members): void {
  const fail: Refuse = refusalOf(`texture '${texture.name}'`);
  if ((texture.kind === "constant") !== (texture.member !== undefined)) {
    fail(`a member belongs to constant textures, and only to those`);
  }
  if (texture.member !== undefined && member(texture.member, members) !== 4 * texture.width * texture.height) {
    fail(`its member has not 4 bytes for each of its texels`);
  }
}

function checkValue(value: Value, fail: Refuse, textures: ByName<Texture>): void {
  if (isFixed(value)) {
    const [width, height] = sizeOfFixed(value);
    const given = textures.get(value.texture);
    if (!isInside({ x: 0, y: 0 }, { width, height }, given)) fail("its output does not fit its texture");
    return;
  }
  if (isMap(value)) {
    const wrong = [value.scales, value.zeros].some(({ length }) => length !== 1 && length !== value.channels);
    if (wrong) fail(`${value.scales.length} scales, ${value.zeros.length} zeros; give one, or one a channel`);
    if (value.scales.includes(0)) fail("a scale is 0");
  }
  const slices = slicesOf(value.channels);
  const needed = isMap(value) ? slices : value.channels % 4 ? -1 : 2 * slices;
  if (value.views.length !== needed) fail(`${value.views.length} views for ${value.channels} channels`);
  for (const view of value.views) {
    if (!isInside(view, value, textures.get(view.texture))) fail("a view lies outside its texture");
  }
}

function checkInput({ inputs }: Manifest, textures: ByName<Texture>): void {
  const [input] = inputs;
  if (inputs.length !== 1 || !input) refuse(`${inputs.length} inputs; this version has exactly one`);
  const fail: Refuse = refusalOf("input");
  const { value } = input;
  checkValue(value, fail, textures);
  const { texture } = value.views[0]!;
  if (textures.get(texture)!.kind !== "input") fail(`no input texture is called '${texture}'`);
  if (value.height !== value.width || value.channels !== 3) {
    fail(`${value.width} x ${value.height} pixels of ${value.channels} channels; a picture is a square of 3 channels`);
  }
}

function checkOutput({ outputs }: Manifest, textures: ByName<Texture>, written: Set<string>): void {
  const [output] = outputs;
  if (outputs.length !== 1 || !output) refuse(`${outputs.length} outputs; this version has exactly one`);
  const fail: Refuse = refusalOf(`output '${output.name}'`);
  checkValue(output.value, fail, textures);
  const undrawn = texturesOf(output.value).find((name) => !written.has(name));
  if (undrawn !== undefined) fail(`nothing is drawn into texture '${undrawn}'`);
}

function checkProbe(
  { layers, outputs, probe }: Manifest,
  passes: readonly Pass[],
  textures: ByName<Texture>,
  written: Set<string>,
  members: Members,
): void {
  const fail: Refuse = refusalOf("probe");
  const { value } = outputs[0]!;
  if (probe.logits.length !== (isFixed(value) ? value.length : 0)) fail("its logits do not fit the output");
  const drawn = new Set(passes.map((one) => one.layer));
  const idle = layers.find((name) => !drawn.has(name));
  if (idle !== undefined) refuse(`layers: '${idle}' has no pass`);
  const entries = new Set<string>();
  const wrong = [
    ...probe.layers.map(({ layer }) => layer).filter((name) => !drawn.has(name) || entries.size === entries.add(name).size),
    ...[...drawn].filter((name) => !entries.has(name)),
  ];
  if (wrong.length) fail(`layer '${wrong[0]}' is not drawn, or has not exactly one entry`);
  const size = member(probe.member, members);
  for (const { layer, offset, count, value } of probe.layers) {
    const failLayer: Refuse = refusalOf(`probe: layer '${layer}'`);
    checkValue(value, failLayer, textures);
    const undrawn = texturesOf(value).find(
      (name) => !written.has(name) && (isFixed(value) || textures.get(name)!.kind !== "input"),
    );
    if (undrawn !== undefined) failLayer(`nothing is drawn into texture '${undrawn}', where its output should be`);
    if (8 * (offset + count) > size) fail(`the texels of layer '${layer}' end beyond the member`);
  }
}

function checkLimits(manifest: Manifest): void {
  const needed = neededLimits(manifest.textures, manifest.programs);
  if (!same(manifest.limits, needed)) {
    refuse(`limits are ${JSON.stringify(manifest.limits)}, but the contents need ${JSON.stringify(needed)}`);
  }
}
