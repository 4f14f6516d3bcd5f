/** Whether the parts of a manifest fit together: what a runner may rely on without looking. */

import { checkCaps } from "./caps.ts";
import type { Members } from "./container.ts";
import { isFixed, isInside, isMap, same, sizeOfFixed, slicesOf, texturesOf, type Value } from "./layout.ts";
import { most, sum } from "./lists.ts";
import { member, type ByName } from "./lookup.ts";
import { LABELS, PRELUDE, type Layer, type Limits, type Manifest, type ShaderProgram, type Texture } from "./manifest.ts";
import { textOf } from "./memberText.ts";
import { attributesOf } from "./ops.ts";
import { checkPasses, checkSharing } from "./passCheck.ts";
import { refusalOf, refuse, short, type Refuse } from "./refusal.ts";

/**
 * Refuse a manifest whose parts contradict one another.
 *
 * @param members bytes of every member.
 * @throws BundleError naming the first part that does not fit.
 */
export function check(manifest: Manifest, members: Members): void {
  checkCaps(manifest, members);
  const textures = unique(manifest.textures, "texture");
  const programs = unique(manifest.programs, "program");
  const layers = unique(manifest.model.layers, "layer");
  for (const name of [PRELUDE, LABELS, manifest.probe.member]) member(name, members);
  for (const texture of textures.values()) checkTexture(texture, members);
  for (const { name, vertex, fragment, varyings } of programs.values()) {
    member(vertex, members);
    member(fragment, members);
    if (textOf(vertex, members) !== vertexShader(varyings)) {
      refuse(`program '${name}': '${vertex}' is not the vertex shader of this format`);
    }
  }
  const written = checkPasses(manifest, textures, programs, layers, members);
  checkLayers(manifest, textures, written, members);
  checkInput(manifest, textures);
  checkOutput(manifest, layers, textures, written);
  checkProbe(manifest, members);
  checkSharing(manifest);
  checkLimits(manifest);
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

function checkLayers(manifest: Manifest, textures: ByName<Texture>, written: Set<string>, members: Members): void {
  const before = new Set<string>();
  for (const layer of manifest.model.layers) {
    const fail: Refuse = refusalOf(`layer '${layer.name}'`);
    const unknown = layer.inputs.find((name) => !before.has(name));
    if (unknown !== undefined) fail(`reads '${unknown}', which is no layer before it`);
    before.add(layer.name);
    checkValue(layer.output, fail, textures);
    const undrawn = texturesOf(layer.output).find((name) => !written.has(name) && textures.get(name)!.kind !== "input");
    if (undrawn !== undefined) {
      fail(`nothing is drawn into texture '${undrawn}', where its output should be`);
    }
    checkOperator(layer, sum(layer.members, (name) => member(name, members)), fail);
  }
  if (manifest.model.layers.filter((layer) => layer.op === "input").length !== 1) {
    refuse("model: exactly one layer must be the input");
  }
  if (!before.has(manifest.model.output)) {
    refuse(`model: its output '${manifest.model.output}' is no layer`);
  }
}

/** Refuse an operator that no bundle has, attributes that are not exactly its own, and more weights than bytes. */
function checkOperator(layer: Layer, size: number, fail: Refuse): void {
  const known = attributesOf(layer.op);
  if (!known) fail(`'${short(layer.op)}' is no operator of a bundle`);
  if (isMap(layer.output) === known.includes("scale")) {
    fail(`its output has another number of bits than '${layer.op}' stores`);
  }
  const output = layer.output as unknown as Record<string, unknown>;
  for (const key of known) {
    if (!layer.attrs.has(key)) fail(`attribute '${key}' is missing`);
    if (/^(scales?|zeros)$/.test(key) && !same(layer.attrs.get(key), output[key])) {
      fail(`attribute '${key}' is not that of its output`);
    }
  }
  for (const key of layer.attrs.keys()) {
    if (!known.includes(key) && key !== "fused") fail(`unknown attribute '${short(key)}'`);
  }
  const weights = sum(layer.weights.values(), (shape) => shape.reduce((a, b) => a * b, 1));
  if (2 * weights > size) fail("its weights do not fit into its members");
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

function checkInput(manifest: Manifest, textures: ByName<Texture>): void {
  const fail: Refuse = refusalOf("input");
  const { texture, size, x, y } = manifest.input;
  const picture = textures.get(texture);
  if (picture?.kind !== "input") fail(`no input texture is called '${texture}'`);
  if (!isInside({ x, y }, { width: size, height: size }, picture)) fail("the picture does not fit its texture");
  const { name, output: given } = manifest.model.layers.find((layer) => layer.op === "input")!;
  const wanted = [[{ texture, x, y }], size, size, 3];
  if (!isMap(given) || !same([given.views, given.height, given.width, given.channels], wanted)) {
    fail(`the picture is not what layer '${name}' says`);
  }
}

function checkOutput(
  { outputs, model }: Manifest,
  layers: ByName<Layer>,
  textures: ByName<Texture>,
  written: Set<string>,
): void {
  const [output] = outputs;
  if (outputs.length !== 1 || !output) refuse(`${outputs.length} outputs; this version has exactly one`);
  const fail: Refuse = refusalOf(`output '${output.name}'`);
  checkValue(output.value, fail, textures);
  const undrawn = texturesOf(output.value).find((name) => !written.has(name));
  if (undrawn !== undefined) fail(`nothing is drawn into texture '${undrawn}'`);
  if (!same(layers.get(model.output)!.output, output.value)) fail(`not that of layer '${model.output}'`);
}

function checkProbe(manifest: Manifest, members: Members): void {
  const fail: Refuse = refusalOf("probe");
  const { probe } = manifest;
  const { value } = manifest.outputs[0]!;
  if (probe.logits.length !== (isFixed(value) ? value.length : 0)) fail("its logits do not fit the output");
  const drawn = new Set(manifest.passes.map((one) => one.layer));
  const entries = probe.layers.map((one) => one.layer);
  if (entries.length !== drawn.size || [...drawn].some((name) => !entries.includes(name))) {
    fail("a layer is not drawn, or has not exactly one entry");
  }
  const size = member(probe.member, members);
  for (const layer of probe.layers) {
    if (8 * (layer.offset + layer.count) > size) {
      fail(`the texels of layer '${layer.layer}' end beyond the member`);
    }
  }
}

function checkLimits(manifest: Manifest): void {
  const needed = neededLimits(manifest.textures, manifest.programs);
  if (!same(manifest.limits, needed)) {
    refuse(`limits are ${JSON.stringify(manifest.limits)}, but the contents need ${JSON.stringify(needed)}`);
  }
}
