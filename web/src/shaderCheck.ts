/**
 * Checker of a bundle's GLSL, a subset that it understands completely, so that drivers compile only checked code.
 *
 * Each value is followed as an interval, rounded outward by more than the error of 32-bit floats, through assignments,
 * both branches of conditions, loops (to a fixed point) and calls. Macros are expanded as by the preprocessor.
 */

import {
  GLSL_CAN_BE_NAN,
  GLSL_DEFINES,
  GLSL_DEVICE,
  GLSL_FUNCTIONS,
  GLSL_MACRO_PATTERN,
  GLSL_MOST_ARRAY,
  GLSL_MOST_BLOCKS,
  GLSL_MOST_BRACKETS,
  GLSL_MOST_CALLS,
  GLSL_MOST_CHOICE,
  GLSL_MOST_CONDITIONS,
  GLSL_MOST_COORDINATE,
  GLSL_MOST_EXECUTED,
  GLSL_MOST_EXPANDED,
  GLSL_MOST_FETCH,
  GLSL_MOST_ITERATIONS,
  GLSL_MOST_LOOP,
  GLSL_MOST_MACRO,
  GLSL_MOST_NAME,
  GLSL_MOST_NAMES,
  GLSL_MOST_OPERATORS,
  GLSL_MOST_SLOW,
  GLSL_MOST_SLOWEST,
  GLSL_MOST_TOKENS,
  GLSL_MOST_UNIFORM,
  GLSL_MOST_VARYING,
  GLSL_MOST_WRITTEN,
  GLSL_SLOW,
  GLSL_SLOWEST,
  GLSL_STATEMENTS,
  GLSL_TOKEN_PATTERN,
  GLSL_TRANSCENDENTAL,
  MAX_FLOAT,
} from "./formatConstants.ts";
import { refuse } from "./refusal.ts";

/** Declarations and costs of a shader: kinds of uniforms by name, and operations as compilers see them. */
export interface Shader {
  readonly kinds: Map<string, string>;
  /** Numbers of each uniform; 0 of a sampler. */
  readonly sizes: Map<string, number>;
  /** Uniforms used as divisors, whose components must not be 0. */
  readonly divisors: Set<string>;
  /** Loops end after their counted turns only if `coord0.x` is at most 2. */
  needsInside: boolean;
  /** Tokens, with those that were read again. */
  read: number;
  written: number;
}

/**
 * Type; smallest and largest possible component; marks; the largest product of factors within it in any order, because
 * drivers multiply constants first, and the inverse of the smallest; the uniform that it is a part of.
 */
type Value = readonly [type: number, least: number, most: number, marks: number, reach: number, uniform?: string | undefined];

/** Without `value` it is not assigned yet; `size`: elements of an array, or 0. */
interface Variable {
  readonly kind: string;
  readonly type: number;
  readonly value: Value | undefined;
  readonly size: number;
}

/** Without `params` it has no brackets. */
interface Macro {
  readonly name: string;
  readonly params: readonly string[] | undefined;
  readonly body: readonly string[];
  readonly certain: boolean;
}

type Functions = ReadonlyMap<string, readonly Called[]>;
type Macros = Map<string, Macro[]>;
type Scopes = Map<string, Variable>[];
type Hull = (one: Value, other: Value) => Value;

/** A function: the start of its body, and the macros and functions defined before it. */
interface Called {
  readonly kind: string;
  readonly at: number;
  readonly params: readonly (readonly [string, number])[];
  readonly macros: Macros;
  readonly functions: Functions;
}

/** Value of a condition; undefined if it depends on the device. */
type Decision = boolean | undefined;

const TYPES = new Map([["int", 0], ["float", 1], ["vec2", 2], ["vec3", 3], ["vec4", 4], ["sampler2D", 6]]);
const INT = 0;
const FLOAT = 1;
const BOOL = 5;
const SAMPLER = 6;

/** Marks: it can be NaN; it is known to compilers; it is a sum of small numbers, of any length. */
const WILD = 1;
const CONST = 2;
const GROWN = 4;

/** More than four roundings of 32-bit floats, because drivers can divide by multiplying, and reorder sums. */
const EPSILON = 2 ** -22;
const TINY = 1e-30;
const SMALL = 1e24;
const MOST_GROWN = 1e34; // a sum of 10**10 small numbers, more than shaders compute
const LARGEST_INT = 2 ** 30;
const FAR = 1e36; // products beyond it can be infinite in another order

const TOKEN = new RegExp(GLSL_TOKEN_PATTERN.source.slice(1, -1), "y");
const NAME = /^(?!gl_|webgl_|_webgl_|\w*__)[A-Za-z_]\w*$/;
const WORDS = [...TYPES.keys(), "for", "if", "return", "void", "const", "break"];
const LEVELS = new Map(["||", "&&", "== !=", "< > <= >=", "+ -", "* /"].flatMap((signs, k) => signs.split(" ").map((sign) => [sign, k + 1])));
const EXACT = GLSL_DEFINES.filter((line) => !line.includes("(")).map((line) => line.split(" ")[1]);
const ARGUMENTS = new Map(
  "clamp3 mix3 dot2 lessThan2 max2 min2 pow2 step2"
    .split(" ")
    .map((entry) => [entry.slice(0, -1), +entry.slice(-1)]),
);
const RANGES = new Map<string, readonly [number, number]>([
  ["cos", [-1.01, 1.01]],
  ["exp", [0, Infinity]],
  ["exp2", [0, Infinity]],
  ["fract", [0, 1]],
  ["sin", [-1.01, 1.01]],
  ["step", [0, 1]],
]);

const isSmall = ([, least, most]: Value): boolean => least >= -SMALL && most <= SMALL;
const canBeZero = ([, least, most]: Value): boolean => least <= TINY && most >= -TINY;
const isInfinite = ([, least, most]: Value): boolean => least === -Infinity || most === Infinity;
const isWithin = (least: number, most: number): boolean => least >= -MOST_GROWN && most <= MOST_GROWN;
const negative = ([type, least, most, marks, reach]: Value): Value => [type, -most, -least, marks, reach];
const reachOf = ([, least, most, , reach]: Value): number =>
  Math.max(reach, -least, most, least > 0 ? 1 / least : 0, most < 0 ? -1 / most : 0);
const longer = (first: Value, other: Value): number => Math.max(first[4], other[4]);
const unknown = (type: number, marks: number): Value => [type, -Infinity, Infinity, marks | WILD, 1];
const joined = (first: number, other: number): number => ((first | other) & WILD) | (first & other & CONST);

/** Return the union of two values. */
function hull(first: Value, other: Value): Value {
  const least = Math.min(first[1], other[1]);
  const most = Math.max(first[2], other[2]);
  const grows = (first[3] | other[3]) & GROWN && isWithin(least, most) && [first, other].every((value) => value[3] & GROWN || isSmall(value));
  return [first[0], least, most, joined(first[3], other[3]) | (grows ? GROWN : 0), longer(first, other)];
}

/** Return the union of two values, including sums that grow from one to the other. */
function widened(first: Value, other: Value): Value {
  const both = hull(first, other);
  const reach = both[4] > first[4] ? Infinity : both[4];
  if (both[1] >= first[1] && both[2] <= first[2]) return [first[0], both[1], both[2], both[3], reach];
  const marks = both[3] & ~(CONST | GROWN);
  if (isSmall(both) || both[3] & GROWN) return [first[0], -MOST_GROWN, MOST_GROWN, marks | GROWN, reach];
  return [first[0], -Infinity, Infinity, both[3] & ~GROWN, reach];
}

/** Return a value with its interval rounded outward. */
function rounded(type: number, least: number, most: number, marks: number, reach = 1): Value {
  let [low, high] = [least - Math.abs(least) * EPSILON, most + Math.abs(most) * EPSILON];
  if (low > 0 && low <= TINY) low = 0; // GPUs can flush it to 0
  if (high < 0 && high >= -TINY) high = 0;
  return [type, low >= -MAX_FLOAT ? low : -Infinity, high <= MAX_FLOAT ? high : Infinity, marks, reach];
}

function sum(type: number, left: Value, right: Value, marks: number): Value {
  const [grown, other] = left[3] & GROWN ? [left, right] : [right, left];
  if (grown[3] & GROWN && !(other[3] & GROWN) && isSmall(other)) return [type, -MOST_GROWN, MOST_GROWN, marks | GROWN, longer(left, right)];
  const [least, most] = [left[1] + right[1], left[2] + right[2]];
  // Infinite values of both signs, perhaps in another order
  const opposed = (left[2] > MOST_GROWN && right[1] < -MOST_GROWN) || (left[1] < -MOST_GROWN && right[2] > MOST_GROWN);
  return opposed ? unknown(type, marks) : rounded(type, least, most, marks, longer(left, right));
}

function product(type: number, left: Value, right: Value, marks: number): Value {
  const reach = reachOf(left) * reachOf(right);
  if (reach > FAR) return unknown(type, marks);
  if ([left, right].some(([, least, most]) => !least && !most)) return [type, 0, 0, marks & WILD ? marks : CONST, 1];
  const ends = [left[1] * right[1], left[1] * right[2], left[2] * right[1], left[2] * right[2]];
  return rounded(type, Math.min(...ends), Math.max(...ends), marks, reach);
}

/** Return the product with the reciprocal, as drivers divide: that of a large number can be 0 on a GPU. */
function quotient(type: number, left: Value, right: Value, marks: number): Value {
  return canBeZero(right) ? unknown(type, marks) : product(type, left, rounded(type, 1 / right[2], 1 / right[1], right[3]), marks);
}

/** Return the smaller (`Math.min`) or larger (`Math.max`) of two values; of NaN and a number, the number. */
function bounded(type: number, first: Value, other: Value, pick: (...numbers: number[]) => number): Value {
  const isWild = (first[3] | other[3]) & WILD;
  const others = [...(first[3] & WILD ? [other] : []), ...(other[3] & WILD ? [first] : [])];
  const least = Math.min(pick(first[1], other[1]), ...others.map((value) => value[1]));
  const most = Math.max(pick(first[2], other[2]), ...others.map((value) => value[2]));
  const isNear = (value: Value): boolean => (pick === Math.min ? -value[1] : value[2]) <= SMALL;
  const grows = (first[3] | other[3]) & GROWN && isWithin(least, most) && !isWild && [first, other].every((value) => value[3] & GROWN || isNear(value));
  return [type, least, most, (first[3] & other[3] & (WILD | CONST)) | (grows ? GROWN : 0), 1];
}

/** Return a value between two bounds; if they can be in the wrong order, drivers return either. */
function clamped(type: number, value: Value, low: Value, high: Value): Value {
  const clipped = bounded(type, bounded(type, value, low, Math.max), high, Math.min);
  return low[2] <= high[1] ? clipped : hull(clipped, bounded(type, bounded(type, value, high, Math.min), low, Math.max));
}

function mixed(type: number, left: Value, right: Value, share: Value): Value {
  const marks = ((left[3] | right[3] | share[3]) & WILD) | (left[3] & right[3] & share[3] & CONST);
  if (share[1] >= -1e-5 && share[2] <= 1.00001) {
    const both = hull(left, right);
    if (reachOf(both) * share[4] > FAR) return unknown(type, marks);
    const reach = both[4] * share[4];
    if (both[3] & GROWN) return [type, -MOST_GROWN, MOST_GROWN, marks | GROWN, reach];
    const far = 1e-4 * Math.max(Math.abs(both[1]), Math.abs(both[2]));
    return rounded(type, both[1] - far, both[2] + far, marks, reach);
  }
  const complement = sum(FLOAT, [FLOAT, 1, 1, CONST, 1], negative(share), marks);
  const [first, second] = [product(type, left, complement, marks), product(type, right, share, marks)];
  return sum(type, first, second, marks | ((first[3] | second[3] | complement[3]) & WILD));
}

/**
 * Check a fragment shader, without the prelude.
 *
 * @throws BundleError it is not in the format's GLSL subset; with the member and the line.
 */
export function parse(member: string, text: string): Shader {
  const shader: Shader = { kinds: new Map(), sizes: new Map(), divisors: new Set(), needsInside: false, read: 0, written: 0 };
  const code: string[] = [];
  const lines: number[] = [];
  const definitions: (Macro | string)[] = [];
  const defined = new Map<string, Decision>(GLSL_DEVICE.map((name) => [name, undefined]));
  const reserved = new Set<string>(GLSL_DEVICE); // names of macros, which are not names of anything else
  const decided: Decision[] = [];
  let conditions = 0;
  let number = 0;
  let nextLine = ""; // that has to follow

  let tokens: readonly string[] = code;
  let at = 0;
  let macros: Macros = new Map();
  let functions: Functions = new Map();
  const results = new Map<string, readonly [Value | undefined, Map<string, Variable>, number, number, boolean]>();
  let scopes: Scopes = [new Map([["gl_FragColor", { kind: "output", type: 4, value: undefined, size: 0 }]])];
  let branches: (readonly [blocks: number, before: Scopes, returned: Value | undefined, first?: readonly [Scopes, Value | undefined]])[] = [];
  let written = 0;
  let executed = 0;
  let used = 0;
  let operators = 0;
  let blocks = 0;
  let brackets = 0;
  let calls = 0;
  let expanding = 0;
  /** Position of the first macro around the current tokens, and whether it has adjacent tokens. */
  let place: number | undefined;
  let alone = true;
  let isCoordinate = false;
  let returns = "void";
  let returned: Value | undefined;
  let conditional = 0;
  let chosen = 0; // choices around the current token, of which a fragment executes one side
  let globalsRead = new Set<string>(); // by the current statement, and whether it calls functions, which change these
  let isCalling = false;
  let usesGlobals = false; // the function so far
  let changed: string[] = [];
  let turning = 0;
  let breaks: Scopes[] = [];

  function refuseLine(line: number, problem: string): never {
    return refuse(`shader '${member}' line ${line}: ${problem}; export the model again`);
  }

  /** Refuse the current token. */
  function fail(problem: string): never {
    return refuseLine(lines[Math.min(place ?? at, lines.length - 1)] ?? 1, problem);
  }

  // Lines: `#if`, `#else` and `#endif` remain for conditions that depend on the device; `#0`, `#1` ... are definitions

  function add(token: string): void {
    code.push(token);
    lines.push(number);
  }

  function tokensOf(line: string): string[] {
    const matches: string[] = [];
    for (let at = 0; at < line.length; at = TOKEN.lastIndex) {
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(line)?.[0];
      if (!token || token.length > GLSL_MOST_NAME) refuseLine(number, `'${line.slice(at, at + 12)}' is no GLSL of this format`);
      if (token[0] !== " ") matches.push(token);
    }
    return matches;
  }

  function directiveOf(line: string): void {
    const word = line.split(" ", 1)[0]!;
    const argument = line.slice(word.length + 1);
    const inverse = (state: Decision, yes: boolean): Decision => (state === undefined ? state : state !== yes);
    let isLive = !decided.includes(false);
    let state: Decision;
    if (word === "ifdef" || word === "ifndef" || word === "if") {
      const condition = word === "if" ? argument : `${word === "ifdef" ? "" : "!"}defined(${argument})`;
      const terms = [...condition.matchAll(/(!?)defined\((\w+)\)/g)];
      if (
        !/^!?defined\(\w+\)(?: && !?defined\(\w+\))*$/.test(condition) ||
        decided.length >= GLSL_MOST_CONDITIONS ||
        !terms.every(([, , name]) => GLSL_MACRO_PATTERN.test(name!))
      ) {
        refuseLine(number, "a condition of another form, or too deep");
      }
      const states = terms.map(([, sign, name]) => inverse(defined.has(name!) ? defined.get(name!) : false, sign === "!"));
      state = states.includes(false) ? false : states.includes(undefined) ? undefined : true;
      decided.push(state);
    } else if ((word === "else" || word === "endif") && !argument) {
      if (!decided.length) refuseLine(number, `#${word} without a condition`);
      state = decided.pop();
      isLive = !decided.includes(false);
      if (word === "else") decided.push(inverse(state, true));
    } else {
      if (word !== "define" && word !== "undef") refuseLine(number, `#${word.slice(0, 12)} is not used in this format`);
      if (isLive) define(word, argument);
      return;
    }
    if (!isLive || state !== undefined) return;
    conditions += +(word[0] === "i");
    if (conditions > GLSL_MOST_NAMES) refuseLine(number, `the shader has more than ${GLSL_MOST_NAMES} conditions of devices`);
    add(word[0] === "i" ? "#if" : `#${word}`);
  }

  function define(word: string, argument: string): void {
    const certain = !decided.includes(undefined);
    const definition = /^(\w+)(?:\((\w+(?:, \w+)*)\))?(?: (.*))?$/.exec(argument);
    const [, name = "", list, text = ""] = definition ?? [];
    const [begins, ends] = GLSL_STATEMENTS;
    const line = word === "define" ? GLSL_DEFINES.indexOf(argument) : -1;
    const isPlain = GLSL_MACRO_PATTERN.test(name) && name !== begins && name !== ends;
    if (!definition || !(isPlain || (line >= 0 && (nextLine || name !== ends)))) refuseLine(number, "a macro that is not of this format");
    nextLine = name === begins ? "#define " + GLSL_DEFINES[line + 1] : "";
    defined.set(name, certain ? word === "define" : undefined);
    reserved.add(name);
    if (definitions.length >= GLSL_MOST_NAMES) refuseLine(number, `the shader has more than ${GLSL_MOST_NAMES} definitions of macros`);
    add("#" + definitions.length);
    if (word === "undef") {
      definitions.push(certain ? name : "");
      return;
    }
    const params = list?.split(", ");
    const body = tokensOf(text);
    if (body.length > GLSL_MOST_MACRO || (params?.length ?? 0) > 4) refuseLine(number, `macro '${name}' is longer than any of this format`);
    definitions.push({ name, params, body, certain });
  }

  // Tokens

  function peek(ahead = 0): string {
    return tokens[at + ahead] ?? "";
  }

  function next(): string {
    const token = peek();
    if (token) at += 1;
    return token;
  }

  function take(token: string): boolean {
    const matches = peek() === token;
    if (matches) at += 1;
    return matches;
  }

  function expect(...expected: string[]): void {
    for (const token of expected) if (!take(token)) fail(`'${token}' is expected, not '${peek()}'`);
  }

  function newName(): string {
    const token = next();
    if (!NAME.test(token) || WORDS.includes(token) || reserved.has(token)) fail(`a name is expected, not '${token}'`);
    return token;
  }

  function cost(more: number, turns = 1): void {
    written += more;
    executed += turns;
    if (written > GLSL_MOST_WRITTEN || executed > GLSL_MOST_EXECUTED) fail("too many operations");
  }

  /** Count tokens that are read again: of a macro, a function or a loop. */
  function again(more: number): void {
    used += more;
    if (used > GLSL_MOST_EXPANDED) fail(`the shader has more than ${GLSL_MOST_EXPANDED} tokens with its macros`);
  }

  function nested(step: number): void {
    brackets += step;
    if (brackets > GLSL_MOST_BRACKETS) fail(`brackets are more than ${GLSL_MOST_BRACKETS} deep in each other`);
  }

  // Variables

  function declare(name: string, kind: string, type: number, value: Value | undefined, size = 0): void {
    cost(1);
    scopes[scopes.length - 1]!.set(name, { kind, type, value, size });
    if (scopes.reduce((count, scope) => count + scope.size, 0) > GLSL_MOST_NAMES) fail(`more than ${GLSL_MOST_NAMES} variables at once`);
  }

  function scopeOf(name: string): Map<string, Variable> | undefined {
    return [...scopes].reverse().find((scope) => scope.has(name));
  }

  function find(name: string): Variable | undefined {
    return scopeOf(name)?.get(name);
  }

  function saved(state: Scopes = scopes): Scopes {
    return state.map((scope) => new Map(scope));
  }

  /** Extend each variable by its values in `other`; return whether one changed. */
  function join(other: Scopes, both: Hull = hull): boolean {
    let isChanged = false;
    scopes.forEach((scope, k) => {
      for (const [name, variable] of other[k] ?? []) {
        const mine = scope.get(name);
        if (!mine) {
          scope.set(name, variable);
        } else if (mine !== variable) {
          if (mine.kind !== variable.kind || mine.type !== variable.type) fail(`'${name}' is declared in two ways`);
          const value = mine.value && variable.value && both(mine.value, variable.value);
          isChanged ||= `${value}` !== `${mine.value}`;
          scope.set(name, { ...mine, value, size: Math.min(mine.size, variable.size) });
        }
      }
    });
    return isChanged;
  }

  /** Call a function for several alternatives from the same state; the state after it is the union of their states. */
  function each<T>(ways: readonly T[], work: (way: T) => Value | undefined): Value | undefined {
    if (ways.length === 1) return work(ways[0]!);
    const before = saved();
    const start = [written, executed] as const;
    let most: [number, number] = [0, 0];
    let after: Scopes | undefined;
    let result: Value | undefined;
    for (const way of ways) {
      scopes = saved(before);
      [written, executed] = start;
      const value = work(way);
      result = result && value ? hull(result, typed(result[0], value)) : (value ?? result);
      most = [Math.max(most[0], written), Math.max(most[1], executed)];
      if (after) join(after);
      after = scopes;
    }
    [written, executed] = most;
    return result;
  }

  // Declarations and functions

  function interfaceOf(word: string): void {
    const kind = next();
    const name = newName();
    let size = 0;
    if (word === "uniform" && kind === "vec4" && take("[")) {
      const [type, least, most] = expression();
      expect("]");
      if (type !== INT || least !== most || least < 1 || most > GLSL_MOST_ARRAY) fail(`an array has a size of 1 to ${GLSL_MOST_ARRAY}`);
      size = least;
    }
    const type = TYPES.get(kind);
    if (!type || (word === "varying" && !/^coord[0-6]$/.test(name))) fail(`the ${word} '${name}' is not of this format`);
    expect(";");
    const far = word === "uniform" ? GLSL_MOST_UNIFORM : GLSL_MOST_VARYING;
    declare(name, type === SAMPLER ? kind : word, type, [type, -far, far, 0, 1, word === "uniform" ? name : undefined], size);
    if (word !== "uniform") return;
    shader.kinds.set(name, kind);
    shader.sizes.set(name, type === SAMPLER ? 0 : type * (size || 1));
  }

  /** Read a function after its type, with unknown arguments; return whether it is main. */
  function functionOf(kind: string): boolean {
    const name = newName();
    const params: [string, number][] = [];
    expect("(");
    while (!take(")")) {
      const word = next();
      const type = TYPES.get(word);
      if (!type) fail(`a parameter of '${name}' has the type '${word}'`);
      params.push([newName(), type]);
      if (peek() !== ")") expect(",");
    }
    const isMain = name === "main" && kind === "void";
    const isElsewhere = branches.length && !EXACT.includes(name); // on other devices it can be a function of the driver
    const isTaken = isElsewhere || [...GLSL_FUNCTIONS, ...GLSL_TRANSCENDENTAL, "texture2D"].includes(name);
    if (isTaken || !(kind === "void" || NUMBERS.includes(kind)) || (name === "main") !== isMain) fail(`the function '${name}' is not of this format`);
    const called: Called = { kind, at, params, macros: new Map(macros), functions };
    const outer = scopes[0]!;
    const any = (type: number): Value => [type, -1, 1, 0, 1];
    if (!isMain) {
      scopes[0] = new Map([...outer].map(([key, variable]) => [key, isState(variable) ? { ...variable, value: any(variable.type) } : variable]));
    }
    written = executed = 0;
    bodyOf(called, params.map(([, type]) => any(type)));
    if (!isMain) scopes[0] = outer;
    else if (!find("gl_FragColor")!.value) fail("gl_FragColor has no value");
    const signature = `${name}(${params.map(([, type]) => type)}`;
    functions = new Map(functions).set(signature, [...(functions.get(signature) ?? []), called]);
    if (functions.size > GLSL_MOST_NAMES) fail(`more than ${GLSL_MOST_NAMES} functions`);
    return isMain;
  }

  /** Read the body of a function; return the value of a call. */
  function bodyOf({ kind, params }: Called, args: readonly Value[]): Value | undefined {
    returns = kind;
    returned = undefined;
    scopes = [scopes[0]!, new Map()];
    params.forEach(([name, type], k) => declare(name, type === SAMPLER ? "sampler2D" : "parameter", type, args[k]));
    block();
    scopes.length = 1;
    const value = returned;
    returned = undefined;
    if (kind !== "void" && !value) {
      at -= 1;
      fail("a function ends without 'return'");
    }
    return value;
  }

  /** Return the value of a call of a shader's function, including its changes of global variables. */
  function call(signature: string, args: readonly Value[]): Value {
    const outer = scopes[0]!;
    const statement = [globalsRead, isCalling, changed] as const;
    const callerUses = usesGlobals;
    let uses = false;
    const name = signature.split("(")[0];
    if (chosen) fail(`'${name}' is called in one side of a choice, or in the bound of a loop`);
    calls += 1;
    if (calls > GLSL_MOST_CALLS) fail("calls are too deep in each other");
    cost(1);
    const locals = scopes.slice(1);
    const value = each(functions.get(signature)!, (called) => {
      const globals = scopes[0]!;
      const key = `${called.at}:${args}:${[...globals].filter(([, variable]) => isState(variable)).map(([name, variable]) => `${name}=${variable.value};`)}`;
      const outcome = results.get(key) ?? run(called, args, globals);
      results.set(key, outcome);
      const [result, after, more, turns, used] = outcome;
      uses ||= used;
      scopes = [new Map(after), ...locals];
      cost(more, turns);
      return result;
    });
    calls -= 1;
    [globalsRead, isCalling, changed] = statement;
    isCalling ||= uses;
    usesGlobals = callerUses || uses;
    if (!changed.length) changed = [...outer.keys()].filter((key) => `${scopes[0]!.get(key)!.value}` !== `${outer.get(key)!.value}`);
    if (statement[1] && uses && changed.length) fail(`'${name}' is not the only call of a statement that changes global variables`);
    globalsRead.forEach(unchanged);
    return value ?? [BOOL, 0, 0, 0, 1];
  }

  /** Refuse a variable that a call of the statement changes: drivers can read it before or after the call. */
  function unchanged(name: string): void {
    if (changed.includes(name)) fail(`'${name}' is read in a statement with a call that changes it`);
  }

  function run(called: Called, args: readonly Value[], globals: Map<string, Variable>): readonly [Value | undefined, Map<string, Variable>, number, number, boolean] {
    const { at: start, macros: macrosBefore, functions: earlier } = called;
    const outer = [tokens, at, macros, functions, place, alone, isCoordinate, returns, returned, conditional, turning, breaks, branches, operators, written, executed] as const;
    [tokens, at, macros, functions, place, alone, isCoordinate] = [code, start, macrosBefore, earlier, undefined, true, false];
    conditional = turning = written = executed = 0;
    breaks = [];
    branches = [];
    scopes = [new Map(globals)];
    usesGlobals = false;
    const value = bodyOf(called, args);
    again(at - start);
    const result = [value, scopes[0]!, written, executed, usesGlobals] as const;
    [tokens, at, macros, functions, place, alone, isCoordinate, returns, returned, conditional, turning, breaks, branches, operators, written, executed] = outer;
    return result;
  }

  // Statements

  /** Read a condition or a definition, if it is next; return whether it was. */
  function directive(): boolean {
    const token = peek();
    if (token[0] !== "#") return false;
    at += 1;
    if (token === "#if") {
      branches.push([blocks, saved(), returned]);
    } else if (token === "#else" || token === "#endif") {
      const [depth, before, value, first] = branches.pop() ?? [];
      if (!before || depth !== blocks) return fail("a condition ends in another block");
      if (token === "#else") {
        branches.push([depth, before, value, [scopes, returned]]);
        scopes = before;
        returned = value;
      } else {
        const [there, other] = first ?? [before, value];
        scopes.forEach((scope, depth) => {
          for (const name of [...scope.keys(), ...there[depth]!.keys()]) {
            const isOnBoth = scope.has(name) && there[depth]!.has(name);
            if (!isOnBoth && scopes.some((outer, k) => k < depth && outer.has(name))) fail(`'${name}' is another variable on one side of a condition`);
          }
        });
        join(there);
        if (!returned !== !other) fail("'return' on one side of a condition");
        returned = returned && other && hull(returned, other);
      }
    } else if (blocks) {
      fail("a macro is defined in a function");
    } else {
      const macro = definitions[+token.slice(1)]!;
      if (typeof macro === "string") {
        macros.delete(macro);
      } else {
        const { name, certain } = macro;
        let before = certain ? [] : (macros.get(name) ?? []);
        // a function of GLSL on other devices
        if (!certain && !before.length && !GLSL_MACRO_PATTERN.test(name)) before = [{ name, params: undefined, body: [name], certain }];
        macros.set(name, [...before, macro]);
      }
    }
    return true;
  }

  function isFunction(name: string): boolean {
    return [...functions.keys()].some((key) => key.startsWith(`${name}(`));
  }

  function block(): void {
    expect("{");
    blocks += 1;
    if (blocks > GLSL_MOST_BLOCKS + calls) fail("blocks are too deep in each other");
    scopes.push(new Map());
    const open = branches.length;
    while (!take("}")) if (!directive()) statement();
    if (branches.length !== open) fail("a condition ends in another block");
    scopes.pop();
    blocks -= 1;
  }

  function begin(): void {
    operators = 0;
    globalsRead = new Set();
    isCalling = false;
    changed = [];
  }

  function statement(): void {
    begin();
    const token = peek();
    const isCall = peek(1) === "(";
    if (returned) fail("a statement after 'return'");
    if (TYPES.has(token) && !isCall) {
      declaration(next(), false);
    } else if (take("const")) {
      declaration(next(), true);
    } else if (token === "for") {
      loop();
    } else if (take("if")) {
      condition();
    } else if (token === "break") {
      if (!conditional || !turning) fail("'break' belongs to an 'if' in a loop");
      expect(token, ";");
      breaks.push(saved());
    } else if (token === "return") {
      if (returns === "void" || conditional || turning) fail("'return' ends a function with a result");
      at += 1;
      const value = typed(TYPES.get(returns)!, expression());
      expect(";");
      returned = value;
    } else if (GLSL_STATEMENTS.includes(token) && macros.has(token)) {
      macro(next(), true);
    } else if (isCall) {
      if (!isFunction(token)) fail(`'${token}' is no function of the shader`);
      expression();
      expect(";");
    } else {
      assignment();
    }
  }

  function condition(): void {
    cost(GLSL_MOST_CHOICE);
    expect("(");
    typed(BOOL, expression());
    expect(")");
    if (["if", "for", "{", "const", "return", ...GLSL_STATEMENTS].includes(peek()) || TYPES.has(peek())) fail("another statement after 'if'");
    const before = saved();
    conditional += 1;
    statement();
    conditional -= 1;
    join(before);
  }

  function declaration(kind: string, isConstant: boolean): void {
    if (!NUMBERS.includes(kind)) fail(`'${kind.slice(0, 20)}' is not of this format`);
    const isLocal = scopes.length > 1;
    const type = TYPES.get(kind)!;
    do {
      begin();
      const name = newName();
      const value = (isLocal || isConstant) && take("=") ? typed(type, expression()) : undefined;
      if (isConstant && !(value && value[3] & CONST)) fail(`'${name}' is no constant`);
      declare(name, isConstant ? "const" : isLocal ? "local" : "global", type, value);
    } while (!take(";") && (expect(","), true));
  }

  function typed(type: number, value: Value): Value {
    if (value[0] !== type) fail("a value of another type");
    return value;
  }

  function assignment(): void {
    const name = peek() === "gl_FragColor" ? next() : newName();
    const variable = find(name);
    if (!variable || !["local", "global", "parameter", "output"].includes(variable.kind)) {
      return fail(`'${name}' cannot be assigned to`);
    }
    const part = take(".") ? component() : 0;
    const sign = next();
    if (!["=", "+=", "-=", "*=", "/="].includes(sign)) fail(`an assignment is expected, not '${sign}'`);
    if (!variable.value && (part || sign !== "=")) fail(`'${name}' is used before it has a value`);
    if (isState(variable)) usesGlobals = true;
    if (sign !== "=" && isState(variable)) globalsRead.add(name);
    let value = expression();
    const type = part || variable.type;
    const scope = scopeOf(name)!;
    const before = scope.get(name)!.value; // a call in the expression can have changed it
    if (before && sign !== "=") value = combine(sign[0]!, [type, before[1], before[2], before[3], before[4]], value);
    typed(type, value);
    expect(";");
    if (part && before) value = hull(before, value);
    scope.set(name, { ...variable, value: [variable.type, value[1], value[2], value[3], value[4]] });
  }

  /** Read a loop with a constant number of turns, until the intervals of its variables are valid for all turns. */
  function loop(): void {
    expect("for", "(", "int");
    const turn = newName();
    expect("=", "0", ";", turn, "<");
    const bound = at;
    const before = executed;
    chosen += 1;
    const [type, least, most, marks] = expression();
    chosen -= 1;
    const compared = executed - before;
    expect(";");
    if (!(take("++") && take(turn))) expect(turn, "++");
    expect(")");
    if (type !== INT || !(marks & CONST) || least < 0 || most > GLSL_MOST_ITERATIONS) {
      fail(`a loop has a constant bound of at most ${GLSL_MOST_ITERATIONS}`);
    }
    const end = tokens[bound + 2];
    const header = [...tokens.slice(bound, bound + 4), ...tokens.slice(at, at + 7)].join(" ");
    let count = most;
    if (header === `TURNS ( ${end} ) { END_AFTER ( ${end} , ${turn} )` && find("coord0")?.kind === "varying") {
      const after = at;
      at = bound + 2;
      count = expression()[2];
      at = after;
      shader.needsInside ||= count < most;
    }
    cost(1);
    const counter: Variable = { kind: "turn", type: INT, value: [INT, 0, Math.max(most - 1, 0), 0, 1], size: 0 };
    const outer = breaks;
    const start = [at, written, executed] as const;
    turning += 1;
    for (let passes = 0; ; passes += 1) {
      const head = saved();
      breaks = [];
      scopes.push(new Map([[turn, counter]]));
      block();
      scopes.pop();
      const ends = scopes;
      scopes = head;
      if (!join(ends, passes ? widened : hull)) break;
      again(at - start[0]);
      [at, written, executed] = start;
    }
    breaks.forEach((there) => join(there));
    breaks = outer;
    turning -= 1;
    count = Math.max(count, 1);
    cost(GLSL_MOST_LOOP, (count - 1) * (executed - start[2]) + count * compared);
  }

  // Expressions

  function expression(): Value {
    let value = binary(1);
    if (take("?")) {
      typed(BOOL, value);
      cost(GLSL_MOST_CHOICE);
      chosen += 1;
      value = binary(1);
      expect(":");
      value = hull(value, typed(value[0], binary(1)));
      chosen -= 1;
    }
    return value;
  }

  function binary(level: number): Value {
    let value = unary();
    for (;;) {
      const sign = peek();
      const own = LEVELS.get(sign) ?? 0;
      if (own < level) return value;
      at += 1;
      chosen += +(own < 3);
      value = combine(sign, value, binary(own + 1));
      chosen -= +(own < 3);
    }
  }

  /** Return the value of an operation; refuse operations that can crash compilers. */
  function combine(sign: string, left: Value, operand: Value): Value {
    operators += 1;
    cost(1);
    if (operators > GLSL_MOST_OPERATORS) fail(`a statement has more than ${GLSL_MOST_OPERATORS} operations`);
    const own = LEVELS.get(sign)!;
    if (own < 5) {
      if (left[0] !== operand[0] || (own < 3 && left[0] !== BOOL)) fail("values of two types");
      return [BOOL, 0, 1, 0, 1];
    }
    const type = operand[0] === FLOAT ? left[0] : operand[0];
    if (type > 4 || ![type, FLOAT].includes(left[0]) || (type === INT) !== (left[0] === INT && operand[0] === INT)) {
      fail("values of two types");
    }
    const right = sign === "-" ? negative(operand) : operand;
    const marks = joined(left[3], right[3]);
    if (type === INT) {
      if (sign === "/") fail("a division of integers");
      const ends =
        sign === "*"
          ? [left[1] * right[1], left[1] * right[2], left[2] * right[1], left[2] * right[2]]
          : [left[1] + right[1], left[2] + right[2]];
      const [least, most] = [Math.min(...ends), Math.max(...ends)];
      if (least < -LARGEST_INT || most > LARGEST_INT) fail("an integer that is too large");
      return [INT, least, most, marks, 1];
    }
    if (sign !== "/") return constant((sign === "*" ? product : sum)(type, left, right, marks));
    if (canBeZero(right) && right[3] & CONST) fail("a division by a constant that can be 0");
    if (!right[5]) return constant(quotient(type, left, right, marks));
    shader.divisors.add(right[5]);
    return constant(product(type, left, [type, -GLSL_MOST_UNIFORM, GLSL_MOST_UNIFORM, 0, 1], marks));
  }

  /** Return a value; refuse infinite constants, and coordinates too far from the texture. */
  function constant(value: Value): Value {
    const [, least, most, marks] = value;
    if (marks & CONST && (marks & WILD || Math.max(-least, most) > (isCoordinate ? GLSL_MOST_COORDINATE : MAX_FLOAT))) {
      fail("a constant is too large");
    }
    return value;
  }

  function unary(): Value {
    if (!take("-")) return operand();
    cost(1);
    if (peek() === "-") fail("two signs in a row");
    return negative(unary());
  }

  function operand(): Value {
    const value = primary();
    if (!take(".")) return value;
    const [type, least, most, marks, reach, uniform] = value;
    if (type < 2 || type > 4) fail("components of a number");
    return [component(), least, most, marks, reach, uniform];
  }

  /** Read components; return their number. */
  function component(): number {
    const token = next();
    if (!/^([xyzw]{1,4}|[rgba]{1,4})$/.test(token)) fail("a component is expected");
    return token.length;
  }

  function primary(): Value {
    const token = next();
    if (token === "(") {
      nested(1);
      const value = expression();
      expect(")");
      nested(-1);
      return value;
    }
    if (/^\d/.test(token)) return numberOf(token);
    if (macros.has(token)) return macro(token, false);
    if (TYPES.has(token) || peek() === "(") return called([token]);
    const variable = find(token);
    if (!variable || variable.type === SAMPLER) return fail(`'${token.slice(0, 20)}' is no name of a number here`);
    if (variable.size) {
      expect("[");
      const [type, least, most, marks] = expression();
      expect("]");
      if (type !== INT || !(marks & CONST) || least < 0 || most >= variable.size) {
        fail(`an index of '${token}' is a constant from 0 to ${variable.size - 1}`);
      }
    }
    if (isState(variable)) {
      usesGlobals = true;
      globalsRead.add(token);
      unchanged(token);
    }
    return constant(variable.value ?? fail(`'${token}' is used before it has a value`));
  }

  function numberOf(token: string): Value {
    const number = +token;
    if (/^\d+$/.test(token)) {
      if (number > LARGEST_INT || /^0\d/.test(token)) fail("an integer that is too large, or octal");
      return [INT, number, number, CONST, 1];
    }
    constant([FLOAT, number, number, CONST, 1]);
    return rounded(FLOAT, number, number, CONST);
  }

  /** Read the arguments of a function; `names` has all possible functions of a macro. */
  function called(names: readonly string[]): Value {
    nested(1);
    expect("(");
    if (names.length === 1 && names[0] === "texture2D") return fetch();
    const values: Value[] = [];
    const others = isCalling;
    while (!take(")")) {
      if (values.length) expect(",");
      if (find(peek())?.type === SAMPLER) {
        at += 1;
        values.push([SAMPLER, 0, 0, 0, 1]);
      } else {
        const [type, least, most, marks, reach] = expression();
        values.push([type, least, most, marks, reach]);
      }
    }
    nested(-1);
    const inner = isCalling;
    isCalling = others; // arguments are computed before the call
    const types = values.map(([type]) => type);
    const value = each(names, (name) => {
      const signature = `${name}(${types}`;
      return functions.has(signature) ? call(signature, values) : constant(builtin(name, values));
    })!;
    isCalling ||= inner;
    return value;
  }

  /** Return the value of a built-in function. */
  function builtin(name: string, args: readonly Value[]): Value {
    cost(GLSL_SLOWEST.includes(name) ? GLSL_MOST_SLOWEST : GLSL_SLOW.includes(name) ? GLSL_MOST_SLOW : 1);
    const [first, second, third] = args as [Value, Value, Value];
    const type = Math.max(0, ...args.map((value) => value[0]));
    const wild = args.some((value) => value[3] & WILD) ? WILD : 0;
    const isConstant = args.length > 0 && args.every((value) => value[3] & CONST);
    let marks = wild | (isConstant ? CONST : 0);
    if (TYPES.has(name) && name !== "sampler2D" && args.length && type <= BOOL) return constructed(name, args, marks);
    const isTranscendental = GLSL_TRANSCENDENTAL.includes(name);
    if (!(isTranscendental || GLSL_FUNCTIONS.includes(name)) || type > 4 || args.some((value) => !value[0])) {
      fail(`'${name.slice(0, 20)}' is no function of this format and arguments`);
    }
    if (args.length !== (ARGUMENTS.get(name) ?? 1)) fail(`'${name}' has ${args.length} arguments`);
    if (isTranscendental && isConstant) marks = calls ? wild : fail(`'${name}' of constants`);
    if (["sin", "cos", "fract"].includes(name) && isInfinite(first)) marks |= WILD;
    if (name === "lessThan") return [BOOL, 0, 1, 0, 1];
    if (GLSL_CAN_BE_NAN.includes(name)) return unknown(type, marks);
    if (name === "min" || name === "max") return bounded(type, first, second, Math[name]);
    if (name === "clamp") return clamped(type, first, second, third);
    if (name === "mix") return mixed(type, first, second, third);
    let [, least, most] = first;
    let reach = 1;
    if (name === "dot") {
      const scaled = product(FLOAT, first, second, marks);
      return rounded(FLOAT, Math.min(scaled[1], scaled[1] * type), Math.max(scaled[2], scaled[2] * type), scaled[3], scaled[4]);
    }
    if (name === "abs") {
      reach = first[4];
      [least, most] = [least < 0 && most > 0 ? 0 : Math.min(Math.abs(least), Math.abs(most)), Math.max(Math.abs(least), Math.abs(most))];
    } else if (name === "floor") {
      [least, most] = [Math.floor(least), Math.floor(most)];
    } else {
      [least, most] = RANGES.get(name)!;
    }
    return [type, least, most, marks, reach];
  }

  function constructed(name: string, args: readonly Value[], marks: number): Value {
    const least = Math.min(...args.map((value) => value[1]));
    const most = Math.max(...args.map((value) => value[2]));
    if (name === "int") {
      if (!(marks & CONST) || least < -LARGEST_INT || most > LARGEST_INT) fail("'int' of a variable");
      return [INT, Math.trunc(least), Math.trunc(most), marks, 1];
    }
    const grows = args.some((value) => value[3] & GROWN) && isWithin(least, most) && args.every((value) => value[3] & GROWN || isSmall(value));
    return [TYPES.get(name)!, least, most, marks | (grows ? GROWN : 0), Math.max(...args.map((value) => value[4]))];
  }

  /** Read the arguments of texture2D after its bracket. */
  function fetch(): Value {
    if (find(next())?.type !== SAMPLER) fail("texture2D reads a sampler of the shader");
    expect(",");
    const outer = isCoordinate;
    isCoordinate = true;
    const [type, , , marks] = expression();
    isCoordinate = outer;
    if (type !== 2 || marks & (calls ? WILD : CONST | WILD)) fail("a coordinate is constant, or can be NaN");
    expect(")");
    nested(-1);
    cost(GLSL_MOST_FETCH, GLSL_MOST_FETCH);
    return [4, 0, 1, 0, 1];
  }

  /** Read every possible definition of a macro at its use. */
  function macro(name: string, isStatement: boolean): Value {
    const definitions = macros.get(name)!;
    const here = at - 1;
    const count = definitions[0]!.params?.length ?? 0;
    if (expanding > 3 || definitions.some((other) => (other.params?.length ?? 0) !== count)) {
      fail(`macro '${name}' has other parameters elsewhere, or is too deep`);
    }
    if (!count && peek() === "(" && definitions.some(({ body }) => body.some((token) => token !== name && macros.has(token)))) {
      fail(`macro '${name}' is another name of a macro`);
    }
    if (!count && peek() === "(") return called(definitions.map(({ body }) => (body.length === 1 ? body[0]! : name)));
    const isFirst = here ? ["=", "(", ",", "<", "return"].includes(tokens[here - 1]!) : alone;
    const args = count ? argumentsOf(name, count) : [];
    const isAlone = isFirst && (peek() ? [";", ")", ","].includes(peek()) : alone);
    const outer = [tokens, at, place, alone] as const;
    nested(1);
    expanding += 1;
    const result = each(definitions, ({ params, body }) => {
      const bound = new Map(params?.map((param, k) => [param, args[k]!]));
      const expanded = body.flatMap((token) => bound.get(token) ?? token);
      again(expanded.length);
      [tokens, at, place, alone] = [[...expanded, ""], 0, outer[2] ?? here, isAlone];
      let value: Value | undefined;
      if (!isStatement) value = isAlone ? expression() : unary();
      else if (expanded.length) statement();
      if (peek()) fail(`macro '${name}' needs brackets`);
      [tokens, at, place, alone] = outer;
      return value;
    });
    expanding -= 1;
    nested(-1);
    return result ?? [BOOL, 0, 0, 0, 1];
  }

  /** Return the tokens of each argument of a macro. */
  function argumentsOf(name: string, count: number): string[][] {
    expect("(");
    const args: string[][] = [[]];
    for (let depth = 0; depth || peek() !== ")"; ) {
      const token = next();
      if (!token || token[0] === "#") fail(`the arguments of macro '${name}' do not end`);
      depth += +"([".includes(token) - +")]".includes(token);
      if (token === "," && !depth) args.push([]);
      else args[args.length - 1]!.push(token);
    }
    at += 1;
    if (args.length !== count) fail(`macro '${name}' has ${count} parameters`);
    return args;
  }

  if (!text.endsWith("\n")) refuseLine(text.split("\n").length, "it does not end with a line feed");
  for (const fullLine of text.slice(0, -1).split("\n")) {
    number += 1;
    if (/[^ -~]|\\|\/\*/.test(fullLine)) refuseLine(number, "a character that is not allowed, or /*");
    const line = fullLine.split("//", 1)[0]!.replace(/ +$/, "");
    if (nextLine && line !== nextLine) refuseLine(number, `'${nextLine}' is expected`);
    if (line[0] === "#") {
      directiveOf(line.slice(1));
    } else if (line && !decided.includes(false)) {
      tokensOf(line).forEach((token) => add(token));
      if (code.length > GLSL_MOST_TOKENS) refuseLine(number, `the shader has more than ${GLSL_MOST_TOKENS} tokens`);
    }
  }
  if (decided.length) refuseLine(number, "a condition without #endif");
  code.push("");

  let isOver = false; // after main
  while (at < code.length - 1) {
    if (directive()) continue;
    const word = next();
    if (isOver) fail("code after main");
    if (word === "varying" || word === "uniform") interfaceOf(word);
    else if (word === "const") declaration(next(), true);
    else if (peek(1) === "(") isOver = functionOf(word);
    else declaration(word, false);
  }
  if (!isOver) fail("the shader has no main");
  shader.read = code.length + used;
  shader.written = written;
  return shader;
}

const NUMBERS = [...TYPES.keys()].slice(1, 5);
const isState = ({ kind }: Variable): boolean => kind === "global" || kind === "output";
