/**
 * Checks that the parts of a manifest agree, so that the runner can rely on them, and are within the limits of resources;
 * glsl_infer/bundle/manifest_check.py has the reasons.
 */

import { memberSize, textOf, type Members } from "./container.ts";
import { FLOATS_PATTERN, MAX_DRAWN_TEXELS, MAX_NUMBER, MAX_RESULT, MAX_SHADER_BYTES, MAX_TEXTURE_BYTES } from "./formatConstants.ts";
import { classesOf, shapeOfOutput } from "./hostSteps.ts";
import {
  areaOf,
  isFixed,
  isInside,
  isMap,
  isRanged,
  same,
  sizeOf,
  sizeOfFixed,
  slicesOf,
  texturesOf,
  type Value,
} from "./layout.ts";
import { most, sum } from "./lists.ts";
import {
  byName,
  PASSES,
  isSlice,
  PRELUDE,
  type ByName,
  type Limits,
  type Manifest,
  type Output,
  type Pass,
  type ShaderProgram,
  type Texture,
} from "./manifest.ts";
import { checkUnique } from "./manifestJson.ts";
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
  for (const name of [PRELUDE, manifest.probe.member]) memberSize(name, members);
  under("textures", () => manifest.textures.forEach((texture) => checkTexture(texture, members)));
  under("vertex shaders", () => manifest.programs.forEach((program) => checkShaders(program, members)));
  const shaders = under("uniforms", () => {
    for (const name of manifest.floats) {
      if (memberSize(name, members) % 4 || !FLOATS_PATTERN.test(name)) refuse(`member '${short(name)}' holds no 32-bit floats`);
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
  memberSize(fragment, members);
  if (memberSize(vertex, members) !== text.length || textOf(vertex, members) !== text) {
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
  if (texels !== undefined && memberSize(texels, members) !== 4 * width * height) {
    fail("its member has not 4 bytes for each of its texels");
  }
}

function checkLimits(manifest: Manifest): void {
  const needed = neededLimits(manifest.textures, manifest.programs);
  if (!same(manifest.limits, needed)) {
    refuse(`limits are ${JSON.stringify(manifest.limits)}, but the contents need ${JSON.stringify(needed)}`);
  }
}

/** Check all passes, and return the names of their target textures. */
function checkPasses(
  passes: readonly Pass[],
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  members: Members,
): Set<string> {
  const written = new Set<string>();
  const drawn = new Set<string>();
  let previous: string | undefined;
  passes.forEach((pass, index) => {
    const fail = refusalOf(`pass ${index} (layer '${pass.layer}')`);
    checkPass(pass, fail, textures, programs, members);
    for (const name of pass.textures) {
      if (textures.get(name)!.kind === "target" && !written.has(name)) {
        fail(`reads texture '${name}' before anything is drawn into it`);
      }
    }
    if (pass.clear !== (pass.target !== previous)) {
      fail("'clear' must be true exactly where the target changes");
    }
    const both = JSON.stringify([pass.layer, pass.target]);
    if (pass.clear && drawn.has(both)) fail(`clears '${pass.target}', into which the layer has drawn before`);
    drawn.add(both);
    written.add(pass.target);
    previous = pass.target;
  });
  return written;
}

function checkPass(
  pass: Pass,
  fail: Refuse,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  members: Members,
): void {
  const program = programs.get(pass.program)!;
  const target = textures.get(pass.target)!;
  if (target.kind !== "target" || pass.textures.includes(pass.target)) {
    fail(`'${pass.target}' is read in the same pass, or no target at all`);
  }
  if (pass.textures.length !== program.samplers.length || pass.sources.some((source) => source.unit >= pass.textures.length)) {
    fail(`its textures do not fit the samplers of program '${program.name}'`);
  }
  if (Math.ceil(pass.sources.length / 2) !== program.varyings) {
    fail(`${pass.sources.length} sources do not fit ${program.varyings} varyings`);
  }
  for (const quad of pass.quads) {
    if (quad.width < 1 || quad.height < 1 || !isInside(quad, quad, target)) fail("a quad is outside its target");
  }
  checkSlices(pass, fail, members);
}

function checkSlices(pass: Pass, fail: Refuse, members: Members): void {
  for (const [name, value] of pass.uniforms) {
    if (!isSlice(value)) continue;
    if (4 * (value.offset + value.count) > memberSize(value.member, members)) {
      under("uniforms", () => fail(`uniform '${name}' ends beyond its member`));
    }
  }
}

/** Refuse inputs that do not fit their textures, and textures of kind `input` with no input or with two. */
function checkInputs({ inputs }: Manifest, textures: ByName<Texture>): void {
  const owned = new Set<string>();
  for (const { name, kind, value } of inputs) {
    const fail = refusalOf(`input '${name}'`);
    checkValue(value, fail, textures);
    const plain = kind === "picture" && value.channels !== 4;
    if (plain && value.gutter) fail(`a picture of ${value.channels} channels has a gutter of ${value.gutter}, not 0`);
    for (const texture of texturesOf(value)) {
      const { kind: textureKind, clear } = textures.get(texture)!;
      if (textureKind !== "input") fail(`texture '${texture}' is of kind '${textureKind}', not 'input'`);
      if (owned.size === owned.add(texture).size) fail(`texture '${texture}' belongs to another input too`);
      if (plain && clear!.some(Boolean)) fail(`texture '${texture}' must have 'clear' [0, 0, 0, 0]`);
    }
  }
  for (const { name, kind } of textures.values()) {
    if (kind === "input" && !owned.has(name)) refuse(`texture '${name}' is of kind 'input', but belongs to no input`);
  }
}

/** Refuse outputs that do not fit their textures or purpose, or that no pass draws. */
function checkOutputs({ outputs }: Manifest, textures: ByName<Texture>, written: Set<string>): void {
  for (const output of outputs) {
    const fail = refusalOf(`output '${output.name}'`);
    for (const value of output.values) {
      checkValue(value, fail, textures);
      checkDrawn(value, fail, (name) => written.has(name));
    }
    const shape = shapeOfOutput(output, fail);
    const possible = { classes: [1], mask: [2, 3], image: [3], values: [0, 1, 2, 3] }[output.purpose];
    if (!possible.includes(shape.length)) {
      fail(`its result has the shape (${shape.join(", ")}); for '${output.purpose}' it has ${possible.join(" or ")} axes`);
    }
  }
  const first = classesOf(outputs);
  const second = first && classesOf(outputs.slice(outputs.indexOf(first) + 1));
  if (second) refuse(`outputs '${first.name}' and '${second.name}' are both for classes; at most one may be`);
}

/** Refuse a probe without one entry for each layer and output, or with missing records. */
function checkProbe(
  { layers, outputs, probe }: Manifest,
  textures: ByName<Texture>,
  written: Set<string>,
  members: Members,
): void {
  const fail = refusalOf("probe");
  const left = new Set(layers);
  const size = memberSize(probe.member, members);
  for (const { layer, offset, count, value } of probe.layers) {
    const failLayer = refusalOf(`probe: layer '${layer}'`);
    if (!left.delete(layer)) failLayer("it is not drawn, or has two entries");
    checkValue(value, failLayer, textures);
    // Views can be in an input's texture, for a selection or permutation of channels.
    checkDrawn(value, failLayer, (name) => written.has(name) || (!isFixed(value) && textures.get(name)!.kind === "input"));
    if (8 * (offset + count) > size) failLayer("its texels end beyond the member");
  }
  for (const layer of left) fail(`layer '${layer}' has no entry`);
  if (probe.outputs.length !== outputs.length) fail(`${probe.outputs.length} outputs, where the model has ${outputs.length}`);
  outputs.forEach((output, i) => {
    const { length } = probe.outputs[i]!.numbers;
    if (length !== probedNumbers(output)) fail(`${length} numbers of output '${output.name}', not ${probedNumbers(output)}`);
  });
}

/** Return the number of probe values of an output: the length of a single vector, otherwise 0. */
function probedNumbers({ values }: Output): number {
  const [value] = values;
  return values.length === 1 && isFixed(value!) ? value.length : 0;
}

function checkDrawn(value: Value, fail: Refuse, isDrawn: (texture: string) => boolean): void {
  const undrawn = texturesOf(value).find((name) => !isDrawn(name));
  if (undrawn !== undefined) fail(`nothing is drawn into texture '${undrawn}', where it should be`);
}

function checkValue(value: Value, fail: Refuse, textures: ByName<Texture>): void {
  if (isFixed(value)) {
    const [width, height] = sizeOfFixed(value);
    if (!isInside({ x: 0, y: 0 }, { width, height }, textures.get(value.texture))) {
      fail(`its values do not fit texture '${value.texture}'`);
    }
    return;
  }
  if (isRanged(value)) {
    const wrong = [value.scales, value.zeros].some(({ length }) => length !== 1 && length !== value.channels);
    if (wrong) fail(`${value.scales.length} scales, ${value.zeros.length} zeros; give one, or one a channel`);
    const { scales, zeros } = value;
    const isFar = (_: number, c: number): boolean => Math.abs(scales[c] ?? scales[0]!) * (255 + Math.abs(zeros[c] ?? zeros[0]!)) > 255 * MAX_NUMBER;
    if (scales.some(isFar) || zeros.some(isFar)) fail("scales and zeros give values beyond 1e+30");
  }
  const odd = !isRanged(value) && value.channels % 4;
  if (odd || value.views.length !== slicesOf(value.channels, isMap(value) ? 4 : 2)) fail(`${value.views.length} views for ${value.channels} channels`);
  for (const view of value.views) {
    if (!isInside(view, value, textures.get(view.texture))) fail("a view is outside its texture");
  }
}

/**
 * Refuse a manifest with larger resources than any network needs, other than the lengths of its lists. Throws
 * BundleError.
 */
function checkCaps({ inputs, outputs, textures }: Manifest, members: Members): void {
  for (const { value } of inputs) atMost("numbers in an input", sizeOf(value), MAX_RESULT);
  for (const { values } of outputs) atMost("numbers in an output", sum(values, sizeOf), MAX_RESULT);
  atMost("bytes of textures", 4 * areaOf(textures), MAX_TEXTURE_BYTES);
  for (const [name, { length }] of members) {
    if (name.startsWith("shaders/")) atMost(`bytes of GLSL in '${name}'`, length, MAX_SHADER_BYTES);
  }
}

/** Refuse passes that occupy a GPU for longer than any network does. Throws BundleError. */
function checkDrawnTexels(passes: readonly Pass[]): void {
  atMost("texels drawn in a frame", sum(passes, ({ quads }) => areaOf(quads)), MAX_DRAWN_TEXELS);
}

function atMost(items: string, count: number, cap: number): void {
  if (count > cap) refuse(`${count} ${items}; a model has at most ${cap}`);
}
