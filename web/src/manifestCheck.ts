/** Whether the parts of a manifest fit together: what a runner may rely on without looking. */

import { checkCaps } from "./caps.ts";
import { BundleError } from "./errors.ts";
import { sameValue, sizeOfFixed, slicesOf, texturesOf, type Value } from "./layout.ts";
import {
  LABELS,
  PRELUDE,
  isSlice,
  type Layer,
  type Limits,
  type Manifest,
  type Pass,
  type ShaderProgram,
  type Texture,
} from "./manifest.ts";
import { attributesOf } from "./ops.ts";
import { short } from "./strict.ts";

/** Bytes of a member by its name. */
export type Sizes = ReadonlyMap<string, number>;

type ByName<T> = ReadonlyMap<string, T>;

/**
 * Refuse a manifest whose parts contradict one another.
 *
 * @param sizes bytes of every member.
 * @throws BundleError naming the first part that does not fit.
 */
export function check(manifest: Manifest, sizes: Sizes): void {
  checkCaps(manifest, sizes);
  const textures = unique(manifest.textures, "texture");
  const programs = unique(manifest.programs, "program");
  const layers = unique(manifest.model.layers, "layer");
  for (const name of [PRELUDE, LABELS, manifest.probe.member]) member(name, sizes);
  for (const texture of textures.values()) checkTexture(texture, sizes);
  for (const program of programs.values()) {
    member(program.vertex, sizes);
    member(program.fragment, sizes);
  }
  const written = checkPasses(manifest, textures, programs, layers, sizes);
  checkLayers(manifest, textures, written, sizes);
  checkInput(manifest, textures);
  checkOutput(manifest, textures, written);
  checkProbe(manifest, sizes);
  checkSharing(manifest);
  checkLimits(manifest);
}

/** Return what textures and programs need of a driver (uniforms in vec4, each rounded up). */
export function neededLimits(textures: readonly Texture[], programs: readonly ShaderProgram[]): Limits {
  const most = <T>(list: readonly T[], of: (one: T) => number): number => list.reduce((max, one) => Math.max(max, of(one)), 0);
  const vectors = (one: ShaderProgram): number => [...one.uniforms.values()].reduce((sum, n) => sum + slicesOf(n), 0);
  return {
    texture_units: most(programs, (one) => one.samplers.length),
    texture_size: most(textures, (one) => Math.max(one.width, one.height)),
    fragment_uniform_vectors: most(programs, vectors),
    varying_vectors: most(programs, (one) => one.varyings),
    vertex_attributes: 1 + most(programs, (one) => one.varyings),
  };
}

function unique<T extends { readonly name: string }>(entries: readonly T[], kind: string): Map<string, T> {
  const byName = new Map<string, T>();
  for (const entry of entries) {
    if (byName.has(entry.name)) throw new BundleError(`two ${kind}s are called '${entry.name}'`);
    byName.set(entry.name, entry);
  }
  if (!byName.size) throw new BundleError(`there is no ${kind}`);
  return byName;
}

function member(name: string, sizes: Sizes): number {
  const size = sizes.get(name);
  if (size === undefined) throw new BundleError(`member '${short(name)}' is missing`);
  return size;
}

function checkTexture(texture: Texture, sizes: Sizes): void {
  if ((texture.kind === "constant") !== (texture.member !== undefined)) {
    throw new BundleError(`texture '${texture.name}': a member belongs to constant textures, and only to those`);
  }
  if (texture.member !== undefined && member(texture.member, sizes) !== 4 * texture.width * texture.height) {
    throw new BundleError(`texture '${texture.name}': its member has not 4 bytes for each of its texels`);
  }
}

/** Check all passes, and return the names of the textures that they render into. */
function checkPasses(
  manifest: Manifest,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  layers: ByName<Layer>,
  sizes: Sizes,
): Set<string> {
  if (!manifest.passes.length) throw new BundleError("there is no pass");
  const written = new Set<string>();
  const drawn = new Map<string, Set<string>>();
  let previous: string | undefined;
  manifest.passes.forEach((one, index) => {
    const where = `pass ${index} (layer '${one.layer}')`;
    if (!layers.has(one.layer)) throw new BundleError(`${where}: no such layer`);
    checkPass(one, where, textures, programs, sizes);
    for (const name of one.textures) {
      if (textures.get(name)!.kind === "target" && !written.has(name)) {
        throw new BundleError(`${where}: reads texture '${name}' before anything is drawn into it`);
      }
    }
    if (one.clear !== (one.target !== previous)) {
      throw new BundleError(`${where}: 'clear' must be true exactly where the target changes`);
    }
    const targets = drawn.get(one.layer) ?? new Set<string>();
    if (one.clear && targets.has(one.target)) {
      throw new BundleError(`${where}: clears '${one.target}', into which the layer has drawn before`);
    }
    drawn.set(one.layer, targets.add(one.target));
    written.add(one.target);
    previous = one.target;
  });
  return written;
}

function checkPass(
  one: Pass,
  where: string,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  sizes: Sizes,
): void {
  const program = programs.get(one.program);
  if (!program) throw new BundleError(`${where}: no program is called '${one.program}'`);
  for (const name of [...one.textures, one.target]) {
    if (!textures.has(name)) throw new BundleError(`${where}: no texture is called '${name}'`);
  }
  const target = textures.get(one.target)!;
  if (target.kind !== "target" || one.textures.includes(one.target)) {
    throw new BundleError(`${where}: '${one.target}' is read in the same pass, or no target at all`);
  }
  if (one.textures.length !== program.samplers.length || one.sources.some((source) => source.unit >= one.textures.length)) {
    throw new BundleError(`${where}: its textures do not fit the samplers of program '${program.name}'`);
  }
  if (Math.ceil(one.sources.length / 2) !== program.varyings) {
    throw new BundleError(`${where}: ${one.sources.length} sources do not fit ${program.varyings} varyings`);
  }
  if (!one.quads.length) throw new BundleError(`${where}: draws nothing`);
  for (const quad of one.quads) {
    const inside = quad.x + quad.width <= target.width && quad.y + quad.height <= target.height;
    if (quad.width < 1 || quad.height < 1 || !inside) throw new BundleError(`${where}: a quad lies outside the target`);
  }
  checkUniforms(one, program, where, sizes);
}

function checkUniforms(one: Pass, program: ShaderProgram, where: string, sizes: Sizes): void {
  if (one.uniforms.size !== program.uniforms.size || [...one.uniforms.keys()].some((name) => !program.uniforms.has(name))) {
    throw new BundleError(`${where}: its uniforms are not those of program '${program.name}'`);
  }
  for (const [name, value] of one.uniforms) {
    const count = isSlice(value) ? value.count : value.length;
    const declared = program.uniforms.get(name)!;
    if (count !== declared) throw new BundleError(`${where}: uniform '${name}' has ${count} numbers, not ${declared}`);
    if (!isSlice(value)) continue;
    const size = member(value.member, sizes);
    if (!value.member.endsWith(".f32") || size % 4) {
      throw new BundleError(`${where}: uniform '${name}': member '${value.member}' holds no 32-bit floats`);
    }
    if (4 * (value.offset + value.count) > size) {
      throw new BundleError(`${where}: uniform '${name}' ends beyond its member`);
    }
  }
}

function checkLayers(manifest: Manifest, textures: ByName<Texture>, written: Set<string>, sizes: Sizes): void {
  const before = new Set<string>();
  for (const layer of manifest.model.layers) {
    const where = `layer '${layer.name}'`;
    const unknown = layer.inputs.find((name) => !before.has(name));
    if (unknown !== undefined) throw new BundleError(`${where}: reads '${unknown}', which is no layer before it`);
    before.add(layer.name);
    checkValue(layer.output, where, textures);
    const undrawn = texturesOf(layer.output).find((name) => !written.has(name) && textures.get(name)!.kind !== "input");
    if (undrawn !== undefined) {
      throw new BundleError(`${where}: nothing is drawn into texture '${undrawn}', where its output should be`);
    }
    checkOperator(layer, layer.members.reduce((sum, name) => sum + member(name, sizes), 0));
  }
  if (manifest.model.layers.filter((layer) => layer.op === "input").length !== 1) {
    throw new BundleError("model: exactly one layer must be the input");
  }
  if (!before.has(manifest.model.output)) {
    throw new BundleError(`model: its output '${manifest.model.output}' is no layer`);
  }
}

/** Refuse an operator that no bundle has, attributes that are not exactly its own, and more weights than bytes. */
function checkOperator(layer: Layer, size: number): void {
  const where = `layer '${layer.name}'`;
  const known = attributesOf(layer.op);
  if (!known) throw new BundleError(`${where}: '${short(layer.op)}' is no operator of a bundle`);
  if ((layer.output.kind === "map") === known.includes("scale")) {
    throw new BundleError(`${where}: its output has another number of bits than '${layer.op}' stores`);
  }
  const output = layer.output as unknown as Record<string, unknown>;
  for (const key of known) {
    if (!layer.attrs.has(key)) throw new BundleError(`${where}: attribute '${key}' is missing`);
    const repeats = key === "scale" || key === "scales" || key === "zeros";
    if (repeats && JSON.stringify(layer.attrs.get(key)) !== JSON.stringify(output[key])) {
      throw new BundleError(`${where}: attribute '${key}' is not that of its output`);
    }
  }
  for (const key of layer.attrs.keys()) {
    if (!known.includes(key) && key !== "fused") throw new BundleError(`${where}: unknown attribute '${short(key)}'`);
  }
  const weights = [...layer.weights.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
  if (2 * weights > size) throw new BundleError(`${where}: its weights do not fit into its members`);
}

function checkValue(value: Value, where: string, textures: ByName<Texture>): void {
  if (value.kind === "fixed") {
    const texture = textures.get(value.texture);
    const [width, height] = sizeOfFixed(value);
    if (!texture || width > texture.width || height > texture.height) {
      throw new BundleError(`${where}: its output does not fit its texture`);
    }
    return;
  }
  if (value.kind === "map") {
    for (const numbers of [value.scales, value.zeros]) {
      if (numbers.length !== 1 && numbers.length !== value.channels) {
        throw new BundleError(
          `${where}: ${value.scales.length} scales, ${value.zeros.length} zeros; give one, or one a channel`,
        );
      }
    }
    if (value.scales.includes(0)) throw new BundleError(`${where}: a scale is 0`);
  }
  const fits =
    value.kind === "map"
      ? value.views.length === slicesOf(value.channels)
      : value.channels % 4 === 0 && value.views.length === value.channels / 2;
  if (!fits) throw new BundleError(`${where}: ${value.views.length} views for ${value.channels} channels`);
  for (const view of value.views) {
    const texture = textures.get(view.texture);
    if (!texture || view.x + value.width > texture.width || view.y + value.height > texture.height) {
      throw new BundleError(`${where}: a view lies outside its texture`);
    }
  }
}

function checkInput(manifest: Manifest, textures: ByName<Texture>): void {
  const { texture, size, x, y } = manifest.input;
  const picture = textures.get(texture);
  if (picture?.kind !== "input") throw new BundleError(`input: no input texture is called '${texture}'`);
  if (x + size > picture.width || y + size > picture.height) {
    throw new BundleError("input: the picture does not fit its texture");
  }
  const first = manifest.model.layers.find((layer) => layer.op === "input")!;
  const given = first.output;
  const view = given.kind === "map" && given.views.length === 1 ? given.views[0] : undefined;
  const same = view?.texture === texture && view.x === x && view.y === y;
  if (given.kind !== "map" || !same || given.height !== size || given.width !== size || given.channels !== 3) {
    throw new BundleError(`input: the picture is not what layer '${first.name}' says`);
  }
}

function checkOutput(manifest: Manifest, textures: ByName<Texture>, written: Set<string>): void {
  const output = manifest.outputs[0];
  if (manifest.outputs.length !== 1 || !output) {
    throw new BundleError(`${manifest.outputs.length} outputs; this version has exactly one`);
  }
  const where = `output '${output.name}'`;
  checkValue(output.value, where, textures);
  const undrawn = texturesOf(output.value).find((name) => !written.has(name));
  if (undrawn !== undefined) throw new BundleError(`${where}: nothing is drawn into texture '${undrawn}'`);
  const layer = manifest.model.layers.find((one) => one.name === manifest.model.output)!;
  if (!sameValue(layer.output, output.value)) throw new BundleError(`${where} is not that of layer '${layer.name}'`);
}

function checkProbe(manifest: Manifest, sizes: Sizes): void {
  const { probe } = manifest;
  const output = manifest.outputs[0]!;
  if (probe.logits.length !== (output.name === "logits" ? output.value.length : 0)) {
    throw new BundleError("probe: its logits do not fit the output");
  }
  const drawn = new Set(manifest.passes.map((one) => one.layer));
  const entries = probe.layers.map((one) => one.layer);
  const wrong =
    entries.find((name, index) => !drawn.has(name) || entries.indexOf(name) !== index) ??
    [...drawn].find((name) => !entries.includes(name));
  if (wrong !== undefined) {
    throw new BundleError(`probe: layer '${wrong}' is not drawn, or has not exactly one entry`);
  }
  const size = member(probe.member, sizes);
  for (const layer of probe.layers) {
    if (8 * (layer.offset + layer.count) > size) {
      throw new BundleError(`probe: the texels of layer '${layer.layer}' end beyond the member`);
    }
  }
}

/** Refuse a texture that holds something else when it is read: layers may share one, each in its time. */
function checkSharing(manifest: Manifest): void {
  const drawn = new Set(manifest.passes.map((one) => one.layer));
  // Whose passes draw a layer's output: its own, or where it has none those of its inputs.
  const behind = new Map<string, Set<string>>();
  const readable = new Map<string, Set<string>>();
  for (const layer of manifest.model.layers) {
    const sources = new Set(layer.inputs.flatMap((name) => [...behind.get(name)!]));
    readable.set(layer.name, sources);
    behind.set(layer.name, drawn.has(layer.name) ? new Set([layer.name]) : sources);
  }
  const holds = new Map<string, string>();
  manifest.passes.forEach((one, index) => {
    for (const name of one.textures) {
      const held = holds.get(name);
      if (held !== undefined && held !== one.layer && !readable.get(one.layer)!.has(held)) {
        throw new BundleError(
          `pass ${index} (layer '${one.layer}'): reads texture '${name}', which by then holds layer '${held}', ` +
            "none of its inputs",
        );
      }
    }
    holds.set(one.target, one.layer);
  });
  for (const name of texturesOf(manifest.outputs[0]!.value)) {
    if (!behind.get(manifest.model.output)!.has(holds.get(name)!)) {
      throw new BundleError(`output: texture '${name}' holds layer '${holds.get(name)}' at the end of a frame`);
    }
  }
}

function checkLimits(manifest: Manifest): void {
  const needed = neededLimits(manifest.textures, manifest.programs);
  for (const key of Object.keys(needed) as (keyof Limits)[]) {
    if (manifest.limits[key] !== needed[key]) {
      throw new BundleError(`limits: '${key}' is ${manifest.limits[key]}, but the contents need ${needed[key]}`);
    }
  }
}
