/** Checks that fragment shaders are in the format's GLSL subset, and that passes set all declared uniforms. */

import { textOf, type Members } from "./container.ts";
import { GLSL_MOST_ALL_READ, GLSL_MOST_ALL_WRITTEN, GLSL_MOST_UNIFORM, GLSL_PRELUDE } from "./formatConstants.ts";
import { littleEndian } from "./littleEndian.ts";
import { PRELUDE, type Manifest, type Pass, type Quad, type ShaderProgram } from "./manifest.ts";
import { refusalOf, refuse, under, type Refuse } from "./refusal.ts";
import { parse, type Shader } from "./shaderCheck.ts";

/**
 * Refuse a shader that is not in the GLSL subset, or declares other uniforms than its program sets.
 *
 * @throws BundleError with the shader and its line, or the program and the uniform.
 */
export function checkDeclarations(programs: readonly ShaderProgram[], members: Members): ReadonlyMap<string, Shader> {
  const shadersByMember = new Map<string, Shader>();
  let written = 0;
  let read = 0;
  const prelude = textOf(PRELUDE, members).split("\n").map((line) => line.split("//", 1)[0]!.replace(/ +$/, ""));
  if (prelude.filter(Boolean).join("\n") !== GLSL_PRELUDE.join("\n")) {
    refuse(`'${PRELUDE}' is not the prelude of this format; export the model again`, "shaders");
  }
  for (const { name, fragment, samplers, uniforms } of programs) {
    let shader = shadersByMember.get(fragment);
    if (!shader) {
      shader = under("shaders", () => parse(fragment, textOf(fragment, members)));
      read += shader.read;
      if (read > GLSL_MOST_ALL_READ) refuse(`the shaders have more than ${GLSL_MOST_ALL_READ} tokens together`, "shaders");
    }
    shadersByMember.set(fragment, shader);
    written += shader.written;
    if (written > GLSL_MOST_ALL_WRITTEN) {
      refuse(`the programs have more than ${GLSL_MOST_ALL_WRITTEN} operations together`, "shaders");
    }
    const fail: Refuse = refusalOf(`program '${name}'`);
    const passed = new Map([
      ...samplers.map((sampler) => [sampler, "sampler"] as const),
      ...[...uniforms.keys()].map((uniform) => [uniform, "uniform"] as const),
    ]);
    const declared = new Map([...shader.kinds].map(([uniform, kind]) => [uniform, kind === "sampler2D" ? "sampler" : "uniform"]));
    for (const [uniform, kind] of declared) {
      if (passed.get(uniform) !== kind) fail(`its shader declares the ${kind} '${uniform}', which no pass sets`);
    }
    for (const [uniform, kind] of passed) {
      if (declared.get(uniform) !== kind) fail(`passes set the ${kind} '${uniform}', which its shader does not declare`);
    }
    for (const [uniform, count] of uniforms) {
      const size = shader.sizes.get(uniform);
      if (count !== size) fail(`passes set ${count} numbers of the uniform '${uniform}', which has ${size}`);
    }
  }
  return shadersByMember;
}

/**
 * Refuse uniforms that are not finite, too large, or 0 where a shader divides by them.
 *
 * @throws BundleError naming the member, or the pass and the uniform.
 */
export function checkValues({ floats, programs, textures }: Manifest, passes: readonly Pass[], members: Members, shaders: ReadonlyMap<string, Shader>): void {
  const numbers = new Map(floats.map((name) => [name, floatsOf(members.get(name)!)]));
  for (const [name, all] of numbers) {
    if (!all.every((number) => Math.abs(number) <= GLSL_MOST_UNIFORM)) refuse(`member '${name}' has a number that is not finite, or too large`);
  }
  const drawn = new Map(programs.map(({ name, fragment }) => [name, shaders.get(fragment)!]));
  const widths = new Map(textures.map(({ name, width }) => [name, width]));
  passes.forEach(({ program, uniforms, sources, quads, textures: read }, index) => {
    const { divisors, needsInside } = drawn.get(program)!;
    const { unit, strideX } = sources[0]!;
    const limit = 2 * widths.get(read[unit]!)!;
    const isBeyond = ({ width, origins }: Quad): boolean =>
      origins[0]![0] + 0.5 + Math.max(-0.5 * strideX, (width - 0.5) * strideX) > limit;
    if (needsInside && quads.some(isBeyond)) {
      refuse(`pass ${index}: loops need a coordinate of at most 2`, "passes");
    }
    for (const name of divisors) {
      const value = uniforms.get(name)!;
      const all = "member" in value ? numbers.get(value.member)!.slice(value.offset, value.offset + value.count) : value;
      if (!all.every((number) => Math.abs(number) >= 1 / GLSL_MOST_UNIFORM)) refuse(`pass ${index}: its shader divides by '${name}', which is 0 or almost`);
    }
  });
}

function floatsOf(bytes: Uint8Array): Float32Array {
  const { f32 } = littleEndian(bytes);
  return Float32Array.from({ length: bytes.length >> 2 }, (_, k) => f32(4 * k));
}
