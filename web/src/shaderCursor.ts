/** Position and state of the GLSL parser. */

import {
  GLSL_MOST_BRACKETS,
  GLSL_MOST_EXECUTED,
  GLSL_MOST_EXPANDED,
  GLSL_MOST_WRITTEN,
  GLSL_TYPES,
} from "./formatConstants.ts";
import type { Lines, Macro } from "./shaderLines.ts";
import { hull, type Branch, type Called, type Cost, type Value, type Variable } from "./shaderValues.ts";

/** Names of components; they can be chained. */
const SWIZZLE = /^([xyzw]{1,4}|[rgba]{1,4})$/;

/** Types of numeric variables. */
export const NUMBERS = GLSL_TYPES.filter((kind) => kind !== "int" && kind !== "sampler2D");

const NAME = /^(?!gl_|webgl_|_webgl_|\w*__)[A-Za-z_]\w*$/;
const WORDS = [...GLSL_TYPES, "for", "if", "return", "void", "const"];

/** State of the parser in the tokens of a shader: position, declared names, and counts. */
export interface Cursor {
  readonly lines: Lines;
  tokens: readonly string[];
  at: number;
  readonly macros: Map<string, Macro[]>;
  readonly functions: Map<string, Called>;
  readonly scopes: Map<string, Variable>[];
  readonly branches: Branch[];
  count: Cost;
  /** Operations of the current statement. */
  operators: number;
  /** True if the current function fetches texels, and the marks of its results. */
  fetches: boolean;
  returned: number;
  /** Values of the current macro's parameters, and its costs. */
  bound: ReadonlyMap<string, readonly [Value, Cost]>;
  place: number | undefined;
  inCoordinate: boolean;
  /** Number of tokens read, and the depth of macros, brackets, blocks and `if`. */
  used: number;
  expanding: number;
  deep: number;
  depth: number;
  conditional: number;
}

/** Return the state at the start of a shader. */
export function cursorOf(lines: Lines): Cursor {
  return {
    lines,
    tokens: [...lines.tokens, ""],
    at: 0,
    macros: new Map(),
    functions: new Map(),
    scopes: [new Map([["gl_FragColor", { kind: "vec4", value: undefined, size: 0 }]])],
    branches: [],
    count: [0, 0],
    operators: 0,
    fetches: false,
    returned: 0,
    bound: new Map(),
    place: undefined,
    inCoordinate: false,
    used: 0,
    expanding: 0,
    deep: 0,
    depth: 0,
    conditional: 0,
  };
}

/** Return whether a token is a type of the format. */
export const isKind = (token: string): boolean => GLSL_TYPES.includes(token);

/** Refuse the shader, with the current line. */
export function fail(cursor: Cursor, what: string): never {
  return cursor.lines.fail(cursor.lines.numbers[Math.min(cursor.place ?? cursor.at, cursor.lines.numbers.length - 1)] ?? 1, what);
}

/** Return the next token, or another one relative to it; empty beyond the ends. */
export const peek = (cursor: Cursor, ahead = 0): string => cursor.tokens[cursor.at + ahead] ?? "";

/** Return the next token and advance. */
export function next(cursor: Cursor): string {
  const token = peek(cursor);
  if (token) cursor.at += 1;
  cursor.used += 1;
  if (cursor.used > GLSL_MOST_EXPANDED) fail(cursor, `the shader has more than ${GLSL_MOST_EXPANDED} tokens with its macros`);
  return token;
}

/** Advance if the next token is this one; return whether it was. */
export function take(cursor: Cursor, token: string): boolean {
  const found = peek(cursor) === token;
  if (found) next(cursor);
  return found;
}

/** Advance over components, if any; return whether there were some. */
export function swizzle(cursor: Cursor): boolean {
  const found = take(cursor, ".");
  if (found && !SWIZZLE.test(next(cursor))) fail(cursor, "a component is expected");
  return found;
}

/** Advance over these tokens, or refuse the shader. */
export function expect(cursor: Cursor, ...wanted: string[]): void {
  for (const token of wanted) if (!take(cursor, token)) fail(cursor, `'${token}' is expected, not '${peek(cursor)}'`);
}

/** Count operations. */
export function add(cursor: Cursor, [written, executed]: Cost): void {
  cursor.count = [cursor.count[0] + written, cursor.count[1] + executed];
  if (cursor.count[0] > GLSL_MOST_WRITTEN || cursor.count[1] > GLSL_MOST_EXECUTED) fail(cursor, "the shader has more operations than any of this format");
}

/** Change the depth of open brackets. */
export function nested(cursor: Cursor, step: number): void {
  cursor.deep += step;
  if (cursor.deep > GLSL_MOST_BRACKETS) fail(cursor, `brackets are more than ${GLSL_MOST_BRACKETS} deep in each other`);
}

/** Return the next token, which must be a name. */
export function nameOf(cursor: Cursor): string {
  const token = next(cursor);
  if (!NAME.test(token) || WORDS.includes(token)) fail(cursor, `a name is expected, not '${token}'`);
  return token;
}

/** Return the innermost variable with a name. */
export function find(cursor: Cursor, name: string): Variable | undefined {
  let found: Variable | undefined;
  for (const scope of cursor.scopes) found = scope.get(name) ?? found;
  return found;
}

/** Declare a variable in the innermost scope. */
export function declare(cursor: Cursor, name: string, kind: string, given: Value | undefined, size = 0): void {
  add(cursor, [1, 1]);
  if (cursor.macros.has(name)) fail(cursor, `'${name}' is a macro already`);
  const scope = cursor.scopes[cursor.scopes.length - 1]!;
  const before = scope.get(name)?.value;
  scope.set(name, { kind, value: before && given && cursor.branches.length ? hull(before, given) : given, size });
}
