/** Checks that the passes of a bundle agree with its programs, its textures and each other. */

import { member, type Members } from "./container.ts";
import { isInside } from "./layout.ts";
import { isSlice, type ByName, type Pass, type ShaderProgram, type Texture } from "./manifest.ts";
import { refusalOf, under, type Refuse } from "./refusal.ts";

/** Check all passes, and return the names of their target textures. */
export function checkPasses(
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
    if (quad.width < 1 || quad.height < 1 || !isInside(quad, quad, target)) fail("a quad lies outside the target");
  }
  checkUniforms(pass, fail, members);
}

function checkUniforms(pass: Pass, fail: Refuse, members: Members): void {
  for (const [name, value] of pass.uniforms) {
    if (!isSlice(value)) continue;
    if (4 * (value.offset + value.count) > member(value.member, members)) {
      under("uniforms", () => fail(`uniform '${name}' ends beyond its member`));
    }
  }
}
