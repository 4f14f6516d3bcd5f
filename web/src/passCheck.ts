/** Whether the passes of a manifest fit its programs, its textures and one another. */

import type { Members } from "./container.ts";
import { isInside, texturesOf } from "./layout.ts";
import { find, member, type ByName } from "./lookup.ts";
import { isSlice, type Layer, type Manifest, type Pass, type ShaderProgram, type Texture } from "./manifest.ts";
import { refusalOf, refuse, type Refuse } from "./refusal.ts";

/** Check all passes, and return the names of the textures that they render into. */
export function checkPasses(
  manifest: Manifest,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  layers: ByName<Layer>,
  members: Members,
): Set<string> {
  if (!manifest.passes.length) refuse("there is no pass");
  const written = new Set<string>();
  const drawn = new Set<string>();
  let previous: string | undefined;
  manifest.passes.forEach((one, index) => {
    const fail = refusalOfPass(one, index);
    if (!layers.has(one.layer)) fail("no such layer");
    checkPass(one, fail, textures, programs, members);
    for (const name of one.textures) {
      if (textures.get(name)!.kind === "target" && !written.has(name)) {
        fail(`reads texture '${name}' before anything is drawn into it`);
      }
    }
    if (one.clear !== (one.target !== previous)) {
      fail("'clear' must be true exactly where the target changes");
    }
    const both = JSON.stringify([one.layer, one.target]);
    if (one.clear && drawn.has(both)) fail(`clears '${one.target}', into which the layer has drawn before`);
    drawn.add(both);
    written.add(one.target);
    previous = one.target;
  });
  return written;
}

function refusalOfPass(one: Pass, index: number): Refuse {
  return refusalOf(`pass ${index} (layer '${one.layer}')`);
}

function checkPass(
  one: Pass,
  fail: Refuse,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  members: Members,
): void {
  const program = find(programs, one.program, "program", fail);
  for (const name of one.textures) find(textures, name, "texture", fail);
  const target = find(textures, one.target, "texture", fail);
  if (target.kind !== "target" || one.textures.includes(one.target)) {
    fail(`'${one.target}' is read in the same pass, or no target at all`);
  }
  if (one.textures.length !== program.samplers.length || one.sources.some((source) => source.unit >= one.textures.length)) {
    fail(`its textures do not fit the samplers of program '${program.name}'`);
  }
  if (Math.ceil(one.sources.length / 2) !== program.varyings) {
    fail(`${one.sources.length} sources do not fit ${program.varyings} varyings`);
  }
  if (!one.quads.length) fail("draws nothing");
  for (const quad of one.quads) {
    if (quad.width < 1 || quad.height < 1 || !isInside(quad, quad, target)) fail("a quad lies outside the target");
  }
  checkUniforms(one, program, fail, members);
}

function checkUniforms(one: Pass, program: ShaderProgram, fail: Refuse, members: Members): void {
  if (one.uniforms.size !== program.uniforms.size || [...one.uniforms.keys()].some((name) => !program.uniforms.has(name))) {
    fail(`its uniforms are not those of program '${program.name}'`);
  }
  for (const [name, value] of one.uniforms) {
    const count = isSlice(value) ? value.count : value.length;
    const declared = program.uniforms.get(name)!;
    if (count !== declared) fail(`uniform '${name}' has ${count} numbers, not ${declared}`);
    if (!isSlice(value)) continue;
    const size = member(value.member, members);
    if (!value.member.endsWith(".f32") || size % 4) {
      fail(`uniform '${name}': member '${value.member}' holds no 32-bit floats`);
    }
    if (4 * (value.offset + value.count) > size) {
      fail(`uniform '${name}' ends beyond its member`);
    }
  }
}

/** Refuse a texture that holds something else when it is read: layers may share one, each in its time. */
export function checkSharing(manifest: Manifest): void {
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
        refusalOfPass(one, index)(`reads texture '${name}', which by then holds layer '${held}', none of its inputs`);
      }
    }
    holds.set(one.target, one.layer);
  });
  for (const name of texturesOf(manifest.outputs[0]!.value)) {
    if (!behind.get(manifest.model.output)!.has(holds.get(name)!)) {
      refuse(`output: texture '${name}' holds layer '${holds.get(name)}' at the end of a frame`);
    }
  }
}
