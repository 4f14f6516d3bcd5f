/** Whether the passes of a bundle fit its programs, its textures and one another. */

import type { Members } from "./container.ts";
import { isInside } from "./layout.ts";
import { member, type ByName } from "./lookup.ts";
import { isSlice, type Pass, type ShaderProgram, type Texture } from "./manifest.ts";
import { refusalOf, under, type Refuse } from "./refusal.ts";

/** Check all passes, and return the names of the textures that they render into. */
export function checkPasses(
  passes: readonly Pass[],
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  members: Members,
): Set<string> {
  const written = new Set<string>();
  const drawn = new Set<string>();
  let previous: string | undefined;
  passes.forEach((one, index) => {
    const fail = refusalOf(`pass ${index} (layer '${one.layer}')`);
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

function checkPass(
  one: Pass,
  fail: Refuse,
  textures: ByName<Texture>,
  programs: ByName<ShaderProgram>,
  members: Members,
): void {
  const program = programs.get(one.program)!;
  const target = textures.get(one.target)!;
  if (target.kind !== "target" || one.textures.includes(one.target)) {
    fail(`'${one.target}' is read in the same pass, or no target at all`);
  }
  if (one.textures.length !== program.samplers.length || one.sources.some((source) => source.unit >= one.textures.length)) {
    fail(`its textures do not fit the samplers of program '${program.name}'`);
  }
  if (Math.ceil(one.sources.length / 2) !== program.varyings) {
    fail(`${one.sources.length} sources do not fit ${program.varyings} varyings`);
  }
  for (const quad of one.quads) {
    if (quad.width < 1 || quad.height < 1 || !isInside(quad, quad, target)) fail("a quad lies outside the target");
  }
  checkUniforms(one, fail, members);
}

function checkUniforms(one: Pass, fail: Refuse, members: Members): void {
  for (const [name, value] of one.uniforms) {
    if (!isSlice(value)) continue;
    if (4 * (value.offset + value.count) > member(value.member, members)) under("uniforms", () => fail(`uniform '${name}' ends beyond its member`));
  }
}
