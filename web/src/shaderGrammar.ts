/** The GLSL that bundles hold: a subset that a reader understands, so that no driver meets anything else. */

import {
  GLSL_CURVES,
  GLSL_FUNCTIONS,
  GLSL_MOST_ARRAY,
  GLSL_MOST_BLOCKS,
  GLSL_MOST_BRACKETS,
  GLSL_MOST_COORDINATE,
  GLSL_MOST_EXECUTED,
  GLSL_MOST_EXPANDED,
  GLSL_MOST_FETCH,
  GLSL_MOST_OPERATORS,
  GLSL_MOST_TURNS,
  GLSL_MOST_WRITTEN,
  GLSL_STATEMENTS,
  GLSL_TYPES,
  GLSL_WILD,
  MAX_NUMBER,
} from "./formatConstants.ts";
import { readLines, type Macro } from "./shaderLines.ts";
import { ANY, hull, INTEGER, isKnown, mixed, UNIFORM, WILD, type Called, type Cost, type Value, type Variable } from "./shaderValues.ts";

/** What a shader declares and costs: kinds of uniforms by name, and operations as a compiler sees them. */
export interface Shader {
  readonly kinds: ReadonlyMap<string, string>;
  readonly written: number;
}

const SWIZZLE = /^([xyzw]{1,4}|[rgba]{1,4})$/;
const NAME = /^(?!gl_|webgl_|_webgl_|\w*__)[A-Za-z_]\w*$/;
const WORDS = [...GLSL_TYPES, "for", "if", "return", "void", "const"];
const NUMBERS = GLSL_TYPES.filter((kind) => kind !== "int" && kind !== "sampler2D");
const LEVELS = new Map(["||", "&&", "== !=", "< > <= >=", "+ -", "* /"].flatMap((signs, k) => signs.split(" ").map((sign) => [sign, k + 1])));

const isKind = (token: string): boolean => GLSL_TYPES.includes(token);

/**
 * Check a fragment shader, without the prelude.
 *
 * @throws BundleError it is not of the format's GLSL; the message names the member and the line.
 */
export function parse(member: string, text: string): Shader {
  const lines = readLines(member, text);
  let tokens: readonly string[] = [...lines.tokens, ""];
  let at = 0;
  let place: number | undefined;
  const macros = new Map<string, Macro[]>();
  const functions = new Map<string, Called>();
  const scopes = [new Map<string, Variable>([["gl_FragColor", { kind: "vec4", value: undefined, size: 0 }]])];
  let bound = new Map<string, readonly [Value, Cost]>();
  const branches: { depth: number; now: Variable[]; before: Variable[] }[] = [];
  let count: Cost = [0, 0];
  let [used, depth, deep, expanding, operators, conditional] = [0, 0, 0, 0, 0, 0];
  let inCoordinate = false;
  let fetches = false;
  let returned = 0; // the marks of what the function returns
  let isOver = false; // behind main
  const kinds = new Map<string, string>();

  function fail(what: string): never {
    return lines.fail(lines.numbers[Math.min(place ?? at, lines.numbers.length - 1)] ?? 1, what);
  }

  function next(): string {
    const token = tokens[at]!;
    if (token) at += 1;
    used += 1;
    if (used > GLSL_MOST_EXPANDED) fail(`the shader has more than ${GLSL_MOST_EXPANDED} tokens with its macros`);
    return token;
  }

  function take(token: string): boolean {
    const found = tokens[at] === token;
    if (found) next();
    return found;
  }

  function expect(...wanted: string[]): void {
    for (const token of wanted) if (!take(token)) fail(`'${token}' is expected, not '${tokens[at]}'`);
  }

  function add([written, executed]: Cost): void {
    count = [count[0] + written, count[1] + executed];
    if (count[0] > GLSL_MOST_WRITTEN || count[1] > GLSL_MOST_EXECUTED) fail("the shader has more operations than any of this format");
  }

  function nameOf(): string {
    const token = next();
    if (!NAME.test(token) || WORDS.includes(token)) fail(`a name is expected, not '${token}'`);
    return token;
  }

  function find(name: string): Variable | undefined {
    let found: Variable | undefined;
    for (const scope of scopes) found = scope.get(name) ?? found;
    return found;
  }

  function declare(name: string, kind: string, given: Value | undefined, size = 0): void {
    add([1, 1]);
    if (macros.has(name)) fail(`'${name}' is a macro already`);
    const scope = scopes[scopes.length - 1]!;
    const before = scope.get(name)?.value;
    scope.set(name, { kind, value: before && given && branches.length ? hull(before, given) : given, size });
  }

  function expression(): Value {
    let value = binary(1);
    if (take("?")) {
      add([1, 1]);
      value = binary(1);
      expect(":");
      value = hull(value, binary(1));
    }
    return value;
  }

  function binary(level: number): Value {
    let value = unary();
    while ((LEVELS.get(tokens[at]!) ?? 0) >= level) {
      const sign = next();
      value = combine(sign, value, binary(LEVELS.get(sign)! + 1));
    }
    return value;
  }

  /** Return the value of an operation, if it is one that no compiler can choke on. */
  function combine(sign: string, left: Value, right: Value): Value {
    operators += 1;
    add([1, 1]);
    if (operators > GLSL_MOST_OPERATORS) fail(`a statement has more than ${GLSL_MOST_OPERATORS} operations`);
    if (LEVELS.get(sign)! < 5) return ANY;
    return constant(mixed(sign, left, right) ?? fail("a division by a constant that is 0 or may be, or of integers"));
  }

  /** Return a constant, if it is neither infinite nor too far from the texture in a coordinate. */
  function constant(value: Value): Value {
    if (Math.max(-value[1], value[2]) > (inCoordinate ? GLSL_MOST_COORDINATE : MAX_NUMBER)) {
      fail("a constant is infinite, or too large for a coordinate");
    }
    return value;
  }

  function unary(): Value {
    if (take("-")) {
      add([1, 1]);
      if (tokens[at] === "-") fail("two signs in a row");
      const [whole, least, most, marks] = unary();
      return [whole, -most, -least, marks];
    }
    const value = primary();
    if (take(".") && !SWIZZLE.test(next())) fail("a component is expected");
    return value;
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
    if (/^\d/.test(token)) return constant([/^\d+$/.test(token), +token, +token, 0]);
    const given = bound.get(token);
    if (given) {
      add(given[1]);
      return given[0];
    }
    if (macros.has(token)) return macro(token, expression);
    if (isKind(token) || tokens[at] === "(") return call([token]);
    const variable = find(token);
    if (!variable || variable.kind === "sampler2D") return fail(`'${token.slice(0, 20)}' is no name of a number here`);
    if (variable.size) {
      expect("[");
      const [whole, least, most] = expression();
      expect("]");
      if (!(whole && least >= 0 && most < variable.size)) {
        fail(`an index of '${token}' is a constant from 0 to ${variable.size - 1}`);
      }
    }
    if (!variable.value) return fail(`'${token}' is used before it has a value`);
    return isKnown(variable.value) ? constant(variable.value) : variable.value;
  }

  function nested(step: number): void {
    deep += step;
    if (deep > GLSL_MOST_BRACKETS) fail(`brackets are more than ${GLSL_MOST_BRACKETS} deep in each other`);
  }

  /** Parse the arguments of a function; `names` are all that a macro may stand for. */
  function call(names: readonly string[]): Value {
    nested(1);
    expect("(");
    if (names.length === 1 && names[0] === "texture2D") return fetch();
    const given: Value[] = [];
    while (!take(")")) {
      if (given.length) expect(",");
      if (find(tokens[at]!)?.kind === "sampler2D") {
        next();
        given.push(ANY);
      } else {
        given.push(expression());
      }
      if (given.length > 16) fail("a function has more than 16 arguments");
    }
    nested(-1);
    const isConstant = given.length > 0 && given.every(isKnown);
    const least = Math.min(...given.map((value) => value[1]));
    const most = Math.max(...given.map((value) => value[2]));
    const isBounded = names.every((name) => ["min", "max", "clamp"].includes(name)); // by any of them
    const isWild = (value: Value): boolean => (value[3] & WILD) > 0;
    let wild = given.length && (isBounded ? given.every(isWild) : given.some(isWild)) ? WILD : 0;
    for (const name of names) {
      add([1, 1]);
      const called = functions.get(name);
      const isCurve = GLSL_CURVES.includes(name);
      if (called) {
        add(called.cost);
        forget();
        fetches ||= called.fetches;
        if (called.fetches && (wild || [...scopes[0]!.values()].some(({ value }) => value && isWild(value)))) {
          fail(`'${name}' fetches, and is given what may be no number`);
        }
        wild |= called.wild;
      } else if (isKind(name) || isCurve || GLSL_FUNCTIONS.includes(name)) {
        if (isConstant === isCurve && (isConstant || name === "int")) fail(`'${name}' of constants, or 'int' of what is none`);
        if (GLSL_WILD.includes(name)) wild = WILD;
      } else {
        fail(`'${name.slice(0, 20)}' is no function of this format`);
      }
    }
    const first = names[0]!;
    if (!isConstant || functions.has(first)) return [false, NaN, NaN, wild];
    if (isKind(first)) return [first === "int", least, most, wild];
    if (isBounded) return constant([false, least, most, wild]);
    const far = 4 * Math.max(1, -least, most) ** 2; // of any of the others
    return constant([false, -far, far, wild]);
  }

  /** Forget the values of global variables: a function of the shader may have changed each. */
  function forget(): void {
    for (const [name, variable] of scopes[0]!) {
      if (variable.kind !== "global") continue;
      if (!variable.value) return fail(`'${name}' has no value yet, and a function is called`);
      variable.value = [false, NaN, NaN, variable.value[3] & WILD];
    }
  }

  /** Parse what texture2D is given, behind its bracket. */
  function fetch(): Value {
    if (find(next())?.kind !== "sampler2D") fail("texture2D reads a sampler of the shader");
    expect(",");
    const outer = inCoordinate;
    inCoordinate = true;
    const value = expression();
    inCoordinate = outer;
    fetches = true;
    if (isKnown(value) || value[3] & WILD) fail("a coordinate is constant, or may be no number");
    expect(")");
    nested(-1);
    add([GLSL_MOST_FETCH, GLSL_MOST_FETCH]);
    return ANY;
  }

  /** Parse every definition that a macro may have here, in its place; return what it may be worth. */
  function macro(name: string, work: () => Value | void): Value {
    const definitions = macros.get(name)!;
    const params = definitions[0]!.params;
    if (expanding > 1 || definitions.some((other) => (other.params?.length ?? 0) !== (params?.length ?? 0))) {
      fail(`macro '${name}' has other parameters elsewhere, or stands in a macro of a macro`);
    }
    if (!params && tokens[at] === "(") return call(definitions.map(({ body }) => (body.length === 1 ? body[0]! : name)));
    let alone = ["=", "(", ",", "<", "return"].includes(tokens[at - 2] ?? "");
    const start = count;
    const given: (readonly [Value, Cost])[] = [];
    for (const _ of params ?? []) {
      expect(given.length ? "," : "(");
      const value = expression();
      given.push([value, [count[0] - start[0], count[1] - start[1]]]);
      count = start; // where it is used it counts
    }
    if (given.length) expect(")");
    alone &&= [";", ")", ","].includes(tokens[at]!);
    const outer = { tokens, at, bound, place };
    nested(1);
    expanding += 1;
    let most = start;
    let result: Value | undefined;
    for (const { params: names, body, loose } of definitions) {
      if (loose && !alone && work === expression) fail(`macro '${name}' is a sum without brackets around it`);
      place = outer.place ?? outer.at;
      tokens = [...body, ""];
      at = 0;
      bound = new Map(names?.map((param, k) => [param, given[k]!]));
      count = start;
      if (body.length || work === expression) {
        const value = work() ?? ANY;
        result = result ? hull(result, value) : value;
        expect("");
      }
      most = [Math.max(most[0], count[0]), Math.max(most[1], count[1])];
      ({ tokens, at, bound, place } = outer);
    }
    expanding -= 1;
    nested(-1);
    count = most;
    return result ?? ANY;
  }

  function directive(): boolean {
    const token = tokens[at]!;
    if (token[0] !== "#") return false;
    next();
    if (token === "#if") {
      branches.push({ depth, now: [], before: [] });
    } else if (token === "#else" || token === "#endif") {
      const branch = branches.pop()!;
      if (branch.depth !== depth) fail("a condition ends in another block than it begins");
      for (const variable of branch.now) {
        if (token === "#else" || !branch.before.includes(variable)) variable.value = undefined;
        else branches[branches.length - 1]?.now.push(variable);
      }
      if (token === "#else") branches.push({ depth, now: [], before: branch.now });
    } else {
      const given = lines.macros[+token.slice(1)]!;
      if (typeof given === "string") macros.delete(given);
      else if (find(given.name) || functions.has(given.name)) fail(`macro '${given.name}' has the name of a variable or function`);
      else macros.set(given.name, [...(given.certain ? [] : (macros.get(given.name) ?? [])), given]);
    }
    return true;
  }

  /** Parse statements up to a closing bracket, with names of their own. */
  function block(): void {
    expect("{");
    depth += 1;
    if (depth > GLSL_MOST_BLOCKS) fail("blocks are too deep in each other");
    scopes.push(new Map());
    const open = branches.length;
    while (!take("}")) if (!directive()) statement();
    if (branches.length !== open) fail("a condition ends in another block than it begins");
    scopes.pop();
    depth -= 1;
  }

  function statement(): void {
    operators = 0;
    const token = tokens[at]!;
    const isCall = tokens[at + 1] === "(";
    if (isKind(token) && !isCall) {
      declaration(next(), false);
    } else if (take("const")) {
      declaration(next(), true);
    } else if (token === "for") {
      loop();
    } else if (take("if")) {
      expect("(");
      expression();
      expect(")");
      conditional += 1;
      if (["if", "for", "{", "const", ...GLSL_TYPES].includes(tokens[at]!)) fail("an assignment or 'break' is expected behind 'if'");
      statement();
      conditional -= 1;
    } else if (take("break")) {
      expect(";");
    } else if (take("return")) {
      returned |= expression()[3] & WILD;
      expect(";");
    } else if (GLSL_STATEMENTS.includes(token) && macros.has(token)) {
      macro(next(), statement);
    } else if (isCall) {
      if (!functions.has(token)) fail(`'${token}' is no function of the shader`);
      expression();
      expect(";");
    } else {
      assignment();
    }
  }

  function declaration(kind: string, isConstant: boolean): void {
    if (!NUMBERS.includes(kind)) fail(`'${kind.slice(0, 20)}' is not of this format`);
    const isLocal = scopes.length > 1;
    do {
      operators = 0;
      const name = nameOf();
      const value = (isLocal || isConstant) && take("=") ? expression() : undefined;
      if (isConstant && !(value && isKnown(value))) fail(`'${name}' is no constant`);
      declare(name, isConstant ? "const" : isLocal ? "local" : "global", value);
    } while (!take(";") && (expect(","), true));
  }

  function assignment(): void {
    const name = tokens[at] === "gl_FragColor" ? next() : nameOf();
    if (macros.has(name)) fail(`a macro, '${name}', is no variable`);
    const variable = find(name);
    if (!variable || (!["local", "global", "parameter"].includes(variable.kind) && name !== "gl_FragColor")) {
      return fail(`'${name}' is no variable that can be assigned to`);
    }
    const part = take(".");
    if (part && !SWIZZLE.test(next())) fail("a component is expected");
    const sign = next();
    if (!["=", "+=", "-=", "*=", "/="].includes(sign)) fail(`an assignment is expected, not '${sign}'`);
    if (!variable.value && (part || sign !== "=")) fail(`'${name}' is used before it has a value`);
    let value = expression();
    if (sign !== "=") value = combine(sign[0]!, variable.value ?? ANY, value);
    expect(";");
    if (!variable.value) {
      if (conditional) return;
      branches[branches.length - 1]?.now.push(variable);
      variable.value = value;
    } else {
      variable.value = part || conditional || branches.length ? hull(variable.value, value) : value;
    }
  }

  function loop(): void {
    expect("for", "(", "int");
    const turn = nameOf();
    expect("=", "0", ";", turn, "<");
    const start = at;
    const [whole, least, most] = expression();
    expect(";");
    if (!(take("++") && take(turn))) expect(turn, "++");
    expect(")");
    if (!whole || !(most <= GLSL_MOST_TURNS)) fail(`a loop has a constant number of turns, at most ${GLSL_MOST_TURNS}`);
    const header = [...tokens.slice(start, start + 4), ...tokens.slice(at, at + 7)].join(" ");
    const end = tokens[start + 2];
    const isEnded = header === `TURNS ( ${end} ) { END_AFTER ( ${end} , ${turn} )`; // TURNS may be more: it ends there
    scopes.push(new Map());
    declare(turn, "turn", INTEGER);
    const before = count[1];
    block();
    scopes.pop();
    add([0, Math.trunc(Math.max(isEnded ? least : most, 1) - 1) * (count[1] - before)]);
  }

  function size(): number {
    const [, least, most] = expression();
    expect("]");
    if (!(least >= 1 && most <= GLSL_MOST_ARRAY)) fail(`an array has a constant size of 1 to ${GLSL_MOST_ARRAY}`);
    return Math.trunc(least);
  }

  function functionOf(kind: string): void {
    const name = nameOf();
    expect("(");
    scopes.push(new Map());
    while (!take(")")) {
      const given = next();
      if (!isKind(given)) fail(`a parameter of '${name}' has the type '${given}'`);
      declare(nameOf(), given === "sampler2D" ? given : "parameter", given === "int" ? INTEGER : ANY);
      if (tokens[at] !== ")") expect(",");
    }
    const isMain = name === "main" && kind === "void";
    const isTaken = [...GLSL_FUNCTIONS, ...GLSL_CURVES, "texture2D"].includes(name) || macros.has(name);
    if (isOver || isTaken || !["void", "int", ...NUMBERS].includes(kind) || (name === "main") !== isMain) {
      fail(`the function '${name}' is not of this format, or stands behind main`);
    }
    for (const variable of scopes[0]!.values()) if (variable.kind === "global") variable.value = isMain ? undefined : ANY;
    isOver = isMain;
    count = [0, 0];
    fetches = false;
    returned = 0;
    block();
    scopes.pop();
    const { cost, ...before } = functions.get(name) ?? { cost: [0, 0], fetches: false, wild: 0 };
    functions.set(name, {
      cost: [Math.max(cost[0], count[0]), Math.max(cost[1], count[1])],
      fetches: fetches || before.fetches,
      wild: returned | before.wild,
    });
  }

  while (at < tokens.length - 1) {
    if (directive()) continue;
    const word = next();
    if (word === "varying" || word === "uniform") {
      const kind = next();
      const name = nameOf();
      const elements = word === "uniform" && kind === "vec4" && take("[") ? size() : 0;
      if (!isKind(kind) || kind === "int" || (word === "varying" && !/^coord[0-6]$/.test(name))) {
        fail(`the ${word} '${name}' is not of this format`);
      }
      expect(";");
      declare(name, kind === "sampler2D" ? kind : word, word === "uniform" ? UNIFORM : ANY, elements);
      if (word === "uniform") kinds.set(name, kind);
    } else if (word === "const") {
      declaration(next(), true);
    } else if (tokens[at + 1] === "(") {
      functionOf(word);
    } else {
      declaration(word, false);
    }
  }
  if (!isOver) fail("the shader has no main");
  return { kinds, written: functions.get("main")!.cost[0] };
}
