/** Parser of the GLSL subset in bundles, so that drivers compile only checked code. */

import { GLSL_CURVES, GLSL_FUNCTIONS, GLSL_MOST_ARRAY } from "./formatConstants.ts";
import { cursorOf, declare, expect, fail, isKind, nameOf, next, NUMBERS, peek, take, type Cursor } from "./shaderCursor.ts";
import { expression } from "./shaderExpressions.ts";
import { readLines } from "./shaderLines.ts";
import { block, declaration, directive } from "./shaderStatements.ts";
import { ANY, INTEGER, UNIFORM } from "./shaderValues.ts";

/** Declarations and costs of a shader: kinds of uniforms by name, and operations as compilers see them. */
export interface Shader {
  readonly kinds: ReadonlyMap<string, string>;
  readonly written: number;
}

/**
 * Check a fragment shader, without the prelude.
 *
 * @throws BundleError it is not in the format's GLSL subset; with the member and the line.
 */
export function parse(member: string, text: string): Shader {
  const cursor = cursorOf(readLines(member, text));
  const kinds = new Map<string, string>();
  let isOver = false; // after main
  while (cursor.at < cursor.tokens.length - 1) {
    if (directive(cursor)) continue;
    const word = next(cursor);
    if (word === "varying" || word === "uniform") {
      const kind = next(cursor);
      const name = nameOf(cursor);
      const elements = word === "uniform" && kind === "vec4" && take(cursor, "[") ? size(cursor) : 0;
      if (!isKind(kind) || kind === "int" || (word === "varying" && !/^coord[0-6]$/.test(name))) {
        fail(cursor, `the ${word} '${name}' is not of this format`);
      }
      expect(cursor, ";");
      declare(cursor, name, kind === "sampler2D" ? kind : word, word === "uniform" ? UNIFORM : ANY, elements);
      if (word === "uniform") kinds.set(name, kind);
    } else if (word === "const") {
      declaration(cursor, next(cursor), true);
    } else if (peek(cursor, 1) === "(") {
      isOver = functionOf(cursor, word, isOver);
    } else {
      declaration(cursor, word, false);
    }
  }
  if (!isOver) fail(cursor, "the shader has no main");
  return { kinds, written: cursor.functions.get("main")!.cost[0] };
}

function size(cursor: Cursor): number {
  const [, least, most] = expression(cursor);
  expect(cursor, "]");
  if (!(least >= 1 && most <= GLSL_MOST_ARRAY)) fail(cursor, `an array has a constant size of 1 to ${GLSL_MOST_ARRAY}`);
  return Math.trunc(least);
}

/** Parse a function after its type; return whether it is main, which must be the last. */
function functionOf(cursor: Cursor, kind: string, isOver: boolean): boolean {
  const name = nameOf(cursor);
  expect(cursor, "(");
  cursor.scopes.push(new Map());
  while (!take(cursor, ")")) {
    const given = next(cursor);
    if (!isKind(given)) fail(cursor, `a parameter of '${name}' has the type '${given}'`);
    declare(cursor, nameOf(cursor), given === "sampler2D" ? given : "parameter", given === "int" ? INTEGER : ANY);
    if (peek(cursor) !== ")") expect(cursor, ",");
  }
  const isMain = name === "main" && kind === "void";
  const isTaken = [...GLSL_FUNCTIONS, ...GLSL_CURVES, "texture2D"].includes(name) || cursor.macros.has(name);
  if (isOver || isTaken || !["void", "int", ...NUMBERS].includes(kind) || (name === "main") !== isMain) {
    fail(cursor, `the function '${name}' is not of this format, or stands behind main`);
  }
  for (const variable of cursor.scopes[0]!.values()) if (variable.kind === "global") variable.value = isMain ? undefined : ANY;
  cursor.count = [0, 0];
  cursor.fetches = false;
  cursor.returned = 0;
  block(cursor);
  cursor.scopes.pop();
  const { cost, ...before } = cursor.functions.get(name) ?? { cost: [0, 0], fetches: false, wild: 0 };
  cursor.functions.set(name, {
    cost: [Math.max(cost[0], cursor.count[0]), Math.max(cost[1], cursor.count[1])],
    fetches: cursor.fetches || before.fetches,
    wild: cursor.returned | before.wild,
  });
  return isMain;
}
