/** Expressions, function calls, fetches and macros: intervals of their values, and their costs. */

import {
  GLSL_CURVES,
  GLSL_FUNCTIONS,
  GLSL_MOST_CHOICE,
  GLSL_MOST_COORDINATE,
  GLSL_MOST_FETCH,
  GLSL_MOST_OPERATORS,
  GLSL_MOST_SLOW,
  GLSL_MOST_SLOWEST,
  GLSL_SLOW,
  GLSL_SLOWEST,
  GLSL_WILD,
  MAX_NUMBER,
} from "./formatConstants.ts";
import { add, expect, fail, find, isKind, nested, next, peek, swizzle, take, type Cursor } from "./shaderCursor.ts";
import { ANY, hull, isKnown, mixed, WILD, type Cost, type Value } from "./shaderValues.ts";

const LEVELS = new Map(["||", "&&", "== !=", "< > <= >=", "+ -", "* /"].flatMap((signs, k) => signs.split(" ").map((sign) => [sign, k + 1])));

/** Parse an expression; return its possible values. */
export function expression(cursor: Cursor): Value {
  let value = binary(cursor, 1);
  if (take(cursor, "?")) {
    add(cursor, [GLSL_MOST_CHOICE, 1]);
    value = binary(cursor, 1);
    expect(cursor, ":");
    value = hull(value, binary(cursor, 1));
  }
  return value;
}

function binary(cursor: Cursor, level: number): Value {
  let value = unary(cursor);
  while ((LEVELS.get(peek(cursor)) ?? 0) >= level) {
    const sign = next(cursor);
    value = combine(cursor, sign, value, binary(cursor, LEVELS.get(sign)! + 1));
  }
  return value;
}

/** Return the value of an operation; refuse operations that can crash compilers. */
export function combine(cursor: Cursor, sign: string, left: Value, right: Value): Value {
  cursor.operators += 1;
  add(cursor, [1, 1]);
  if (cursor.operators > GLSL_MOST_OPERATORS) fail(cursor, `a statement has more than ${GLSL_MOST_OPERATORS} operations`);
  if (LEVELS.get(sign)! < 5) return ANY;
  return constant(cursor, mixed(sign, left, right) ?? fail(cursor, "a division by a constant that is 0 or may be, or of integers"));
}

/** Return a constant; refuse infinite ones, and coordinates too far from the texture. */
function constant(cursor: Cursor, value: Value): Value {
  if (Math.max(-value[1], value[2]) > (cursor.inCoordinate ? GLSL_MOST_COORDINATE : MAX_NUMBER)) {
    fail(cursor, "a constant is infinite, or too large for a coordinate");
  }
  return value;
}

function unary(cursor: Cursor): Value {
  if (take(cursor, "-")) {
    add(cursor, [1, 1]);
    if (peek(cursor) === "-") fail(cursor, "two signs in a row");
    const [whole, least, most, marks] = unary(cursor);
    return [whole, -most, -least, marks];
  }
  const value = primary(cursor);
  swizzle(cursor);
  return value;
}

function primary(cursor: Cursor): Value {
  const token = next(cursor);
  if (token === "(") {
    nested(cursor, 1);
    const value = expression(cursor);
    expect(cursor, ")");
    nested(cursor, -1);
    return value;
  }
  if (/^\d/.test(token)) return constant(cursor, [/^\d+$/.test(token), +token, +token, 0]);
  const given = cursor.bound.get(token);
  if (given) {
    add(cursor, given[1]);
    return given[0];
  }
  if (cursor.macros.has(token)) return macro(cursor, token, expression);
  if (isKind(token) || peek(cursor) === "(") return call(cursor, [token]);
  const variable = find(cursor, token);
  if (!variable || variable.kind === "sampler2D") return fail(cursor, `'${token.slice(0, 20)}' is no name of a number here`);
  if (variable.size) {
    expect(cursor, "[");
    const [whole, least, most] = expression(cursor);
    expect(cursor, "]");
    if (!(whole && least >= 0 && most < variable.size)) {
      fail(cursor, `an index of '${token}' is a constant from 0 to ${variable.size - 1}`);
    }
  }
  if (!variable.value) return fail(cursor, `'${token}' is used before it has a value`);
  return isKnown(variable.value) ? constant(cursor, variable.value) : variable.value;
}

/** Parse the arguments of a function; `names` has all possible functions of a macro. */
function call(cursor: Cursor, names: readonly string[]): Value {
  nested(cursor, 1);
  expect(cursor, "(");
  if (names.length === 1 && names[0] === "texture2D") return fetch(cursor);
  const given: Value[] = [];
  while (!take(cursor, ")")) {
    if (given.length) expect(cursor, ",");
    if (find(cursor, peek(cursor))?.kind === "sampler2D") {
      next(cursor);
      given.push(ANY);
    } else {
      given.push(expression(cursor));
    }
    if (given.length > 16) fail(cursor, "a function has more than 16 arguments");
  }
  nested(cursor, -1);
  const isConstant = given.length > 0 && given.every(isKnown);
  const least = Math.min(...given.map((value) => value[1]));
  const most = Math.max(...given.map((value) => value[2]));
  const isBounded = names.every((name) => ["min", "max", "clamp"].includes(name)); // any of them
  const isWild = (value: Value): boolean => (value[3] & WILD) > 0;
  let wild = given.length && (isBounded ? given.every(isWild) : given.some(isWild)) ? WILD : 0;
  for (const name of names) {
    const cost = GLSL_SLOWEST.includes(name) ? GLSL_MOST_SLOWEST : GLSL_SLOW.includes(name) ? GLSL_MOST_SLOW : 1;
    add(cursor, [cost, 1]);
    const called = cursor.functions.get(name);
    const isCurve = GLSL_CURVES.includes(name);
    if (called) {
      add(cursor, called.cost);
      forget(cursor);
      cursor.fetches ||= called.fetches;
      if (called.fetches && (wild || [...cursor.scopes[0]!.values()].some(({ value }) => value && isWild(value)))) {
        fail(cursor, `'${name}' fetches, and is given what may be no number`);
      }
      wild |= called.wild;
    } else if (isKind(name) || isCurve || GLSL_FUNCTIONS.includes(name)) {
      if (isConstant === isCurve && (isConstant || name === "int")) fail(cursor, `'${name}' of constants, or 'int' of what is none`);
      if (GLSL_WILD.includes(name)) wild = WILD;
    } else {
      fail(cursor, `'${name.slice(0, 20)}' is no function of this format`);
    }
  }
  const first = names[0]!;
  if (!isConstant || cursor.functions.has(first)) return [false, NaN, NaN, wild];
  if (isKind(first)) return [first === "int", least, most, wild];
  if (isBounded) return constant(cursor, [false, least, most, wild]);
  const far = 4 * Math.max(1, -least, most) ** 2; // any of the others
  return constant(cursor, [false, -far, far, wild]);
}

/** Discard the values of global variables, because a function of the shader could have changed them. */
function forget(cursor: Cursor): void {
  for (const [name, variable] of cursor.scopes[0]!) {
    if (variable.kind !== "global") continue;
    if (!variable.value) return fail(cursor, `'${name}' has no value yet, and a function is called`);
    variable.value = [false, NaN, NaN, variable.value[3] & WILD];
  }
}

/** Parse the arguments of texture2D after its bracket. */
function fetch(cursor: Cursor): Value {
  if (find(cursor, next(cursor))?.kind !== "sampler2D") fail(cursor, "texture2D reads a sampler of the shader");
  expect(cursor, ",");
  const outer = cursor.inCoordinate;
  cursor.inCoordinate = true;
  const value = expression(cursor);
  cursor.inCoordinate = outer;
  cursor.fetches = true;
  if (isKnown(value) || value[3] & WILD) fail(cursor, "a coordinate is constant, or may be no number");
  expect(cursor, ")");
  nested(cursor, -1);
  add(cursor, [GLSL_MOST_FETCH, GLSL_MOST_FETCH]);
  return ANY;
}

/** Parse every possible definition of a macro at its use; return its possible values. */
export function macro(cursor: Cursor, name: string, work: (cursor: Cursor) => Value | void): Value {
  const definitions = cursor.macros.get(name)!;
  const params = definitions[0]!.params;
  if (cursor.expanding > 1 || definitions.some((other) => (other.params?.length ?? 0) !== (params?.length ?? 0))) {
    fail(cursor, `macro '${name}' has other parameters elsewhere, or stands in a macro of a macro`);
  }
  if (!params && peek(cursor) === "(") return call(cursor, definitions.map(({ body }) => (body.length === 1 ? body[0]! : name)));
  let alone = ["=", "(", ",", "<", "return"].includes(peek(cursor, -2));
  const start = cursor.count;
  const given: (readonly [Value, Cost])[] = [];
  for (const _ of params ?? []) {
    expect(cursor, given.length ? "," : "(");
    const value = expression(cursor);
    given.push([value, [cursor.count[0] - start[0], cursor.count[1] - start[1]]]);
    cursor.count = start; // counted where it is used
  }
  if (given.length) expect(cursor, ")");
  alone &&= [";", ")", ","].includes(peek(cursor));
  const { tokens, at, bound, place } = cursor;
  nested(cursor, 1);
  cursor.expanding += 1;
  let most = start;
  let result: Value | undefined;
  for (const { params: names, body, loose } of definitions) {
    if (loose && !alone && work === expression) fail(cursor, `macro '${name}' is a sum without brackets around it`);
    cursor.place = place ?? at;
    cursor.tokens = [...body, ""];
    cursor.at = 0;
    cursor.bound = new Map(names?.map((param, k) => [param, given[k]!]));
    cursor.count = start;
    if (body.length || work === expression) {
      const value = work(cursor) ?? ANY;
      result = result ? hull(result, value) : value;
      expect(cursor, "");
    }
    most = [Math.max(most[0], cursor.count[0]), Math.max(most[1], cursor.count[1])];
    Object.assign(cursor, { tokens, at, bound, place });
  }
  cursor.expanding -= 1;
  nested(cursor, -1);
  cursor.count = most;
  return result ?? ANY;
}
