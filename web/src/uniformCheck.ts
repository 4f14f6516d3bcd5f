/** Whether fragment shaders are of the format's GLSL, and passes set every uniform that they declare. */

import type { Members } from "./container.ts";
import { GLSL_MOST_ALL_WRITTEN, GLSL_PRELUDE } from "./formatConstants.ts";
import { PRELUDE, type ShaderProgram } from "./manifest.ts";
import { textOf } from "./memberText.ts";
import { refusalOf, refuse, under, type Refuse } from "./refusal.ts";
import { parse, type Shader } from "./shaderCheck.ts";

/**
 * Refuse a shader that is not of the format's GLSL, or declares other uniforms than its program sets.
 *
 * @throws BundleError naming the shader and its line, or the program and the uniform.
 */
export function checkDeclarations(programs: readonly ShaderProgram[], members: Members): void {
  const known = new Map<string, Shader>();
  let written = 0;
  const prelude = textOf(PRELUDE, members).split("\n").map((line) => line.split("//", 1)[0]!.replace(/ +$/, ""));
  if (prelude.filter(Boolean).join("\n") !== GLSL_PRELUDE.join("\n")) {
    refuse(`'${PRELUDE}' is not the prelude of this format; export the model again`, "shaders");
  }
  for (const { name, fragment, samplers, uniforms } of programs) {
    const shader = known.get(fragment) ?? under("shaders", () => parse(fragment, textOf(fragment, members)));
    known.set(fragment, shader);
    written += shader.written;
    if (written > GLSL_MOST_ALL_WRITTEN) {
      refuse(`the programs have more than ${GLSL_MOST_ALL_WRITTEN} operations together`, "shaders");
    }
    const fail: Refuse = refusalOf(`program '${name}'`);
    const given = new Map([
      ...samplers.map((sampler) => [sampler, "sampler"] as const),
      ...[...uniforms.keys()].map((uniform) => [uniform, "uniform"] as const),
    ]);
    const declared = new Map([...shader.kinds].map(([uniform, kind]) => [uniform, kind === "sampler2D" ? "sampler" : "uniform"]));
    for (const [uniform, kind] of declared) {
      if (given.get(uniform) !== kind) fail(`its shader declares the ${kind} '${uniform}', which no pass sets`);
    }
    for (const [uniform, kind] of given) {
      if (declared.get(uniform) !== kind) fail(`passes set the ${kind} '${uniform}', which its shader does not declare`);
    }
  }
}
