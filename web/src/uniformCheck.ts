/** Whether passes set every uniform that their shader declares: one that nobody sets holds 0, and results are wrong. */

import type { Members } from "./container.ts";
import { PRELUDE, type ShaderProgram } from "./manifest.ts";
import { textOf } from "./memberText.ts";
import { refusalOf, type Refuse } from "./refusal.ts";

// A comment without an end, and a bracket far from its own, take no longer than others: strangers write files, too.
const COMMENT = /\/\*[^]*?(?:\*\/|$)|\/\/[^\n]*/g;
const DECLARATION =
  /\buniform\s+(?:(?:lowp|mediump|highp)\s+)?(sampler2D|float|vec[234])\s+([A-Za-z_]\w*)\s*(?:\[[^\]]{0,99}\])?\s*;/g;
/** Macros that a runner may define for a device or not; a driver may define what begins with GL_ or __. */
const DEVICE = ["ROUND_STORES", "LATE_FETCH", "ROLLED_FETCHES"];

/** Decided, or not known: the device decides. */
type Decision = boolean | undefined;

/** Kinds of uniforms by name. */
type Kinds = ReadonlyMap<string, "sampler" | "uniform">;

/** Where a text ends: what is defined there, and in which branches of conditions it is. */
interface Conditions {
  readonly isDefined: (name: string) => Decision;
  readonly branches: readonly Decision[];
}

/** No shader needs more conditions within each other. */
const MOST_BRANCHES = 64;

/**
 * Refuse programs whose fragment shader declares other uniforms than the program sets.
 *
 * @throws BundleError naming the program and the uniform.
 */
export function checkDeclarations(programs: readonly ShaderProgram[], members: Members): void {
  const perhaps = (name: string): Decision => (DEVICE.includes(name) || /^(GL_|__)/.test(name) ? undefined : false);
  // What the prelude defines counts in every shader. It is read once, and so is a shader that programs share.
  const prelude = read(textOf(PRELUDE, members), { isDefined: perhaps, branches: [] }, refusalOf("prelude"));
  const known = new Map<string, Kinds>();
  for (const { name, fragment, samplers, uniforms } of programs) {
    const fail: Refuse = refusalOf(`program '${name}'`);
    const declared = known.get(fragment) ?? read(textOf(fragment, members), prelude.end, fail).kinds;
    known.set(fragment, declared);
    const given: Kinds = new Map([
      ...samplers.map((sampler) => [sampler, "sampler"] as const),
      ...[...uniforms.keys()].map((uniform) => [uniform, "uniform"] as const),
    ]);
    for (const [uniform, kind] of [...prelude.kinds, ...declared]) {
      if (given.get(uniform) !== kind) fail(`its shader declares the ${kind} '${uniform}', which no pass sets`);
    }
    for (const [uniform, kind] of given) {
      if ((declared.get(uniform) ?? prelude.kinds.get(uniform)) !== kind) {
        fail(`passes set the ${kind} '${uniform}', which its shader does not declare`);
      }
    }
  }
}

/** Return the uniforms that are declared in lines that a device may compile, and the conditions at the text's end. */
function read(text: string, start: Conditions, fail: Refuse): { readonly kinds: Kinds; readonly end: Conditions } {
  const { left, end } = compiled(text.replace(COMMENT, " "), start, fail);
  const declared = [...left.matchAll(DECLARATION)];
  if (declared.length !== (left.match(/\buniform\b/g) ?? []).length) {
    fail("a uniform is not declared on its own, as 'uniform vec4 name;'");
  }
  return { kinds: new Map(declared.map(([, kind, name]) => [name!, kind === "sampler2D" ? "sampler" : "uniform"])), end };
}

/**
 * Return the lines that are left when `#ifdef` and `#ifndef` are decided.
 *
 * Both branches are left where a device decides, or what a device decides; so is what stands behind other conditions.
 */
function compiled(text: string, start: Conditions, fail: Refuse): { readonly left: string; readonly end: Conditions } {
  const macros = new Map<string, Decision>();
  const isDefined = (name: string): Decision => (macros.has(name) ? macros.get(name) : start.isDefined(name));
  const branches = [...start.branches];
  const lines = text.split("\n").filter((line) => {
    const [, directive, name = ""] = /^\s*#\s*(\w+)\s*(\w*)/.exec(line) ?? [];
    const skipped = branches.includes(false);
    if (directive === undefined) return !skipped;
    if (directive === "ifdef" || directive === "ifndef") {
      const state = isDefined(name);
      branches.push(state === undefined ? state : state === (directive === "ifdef"));
    } else if (directive === "if") {
      branches.push(undefined);
    } else if (["else", "elif", "endif"].includes(directive)) {
      if (!branches.length) fail(`#${directive} without a condition`);
      const state = branches.pop();
      if (directive !== "endif") branches.push(state === undefined || directive === "elif" ? undefined : !state);
    } else if ((directive === "define" || directive === "undef") && !skipped) {
      macros.set(name, branches.includes(undefined) ? undefined : directive === "define");
    }
    if (branches.length > MOST_BRANCHES) fail(`more than ${MOST_BRANCHES} conditions within each other`);
    return false;
  });
  return { left: lines.join("\n"), end: { isDefined, branches } };
}
