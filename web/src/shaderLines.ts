/**
 * Preprocessor of fragment shaders: removes comments, evaluates conditions if possible, and splits the result into
 * tokens.
 */

import {
  GLSL_DEVICE,
  GLSL_LINES,
  GLSL_MACRO_PATTERN,
  GLSL_MOST_CONDITIONS,
  GLSL_MOST_MACRO,
  GLSL_MOST_NAME,
  GLSL_MOST_TOKENS,
  GLSL_STATEMENTS,
  GLSL_TOKEN_PATTERN,
} from "./formatConstants.ts";
import { refuse } from "./refusal.ts";

/** A macro definition. Without `params` it has no brackets; `loose`: it has an operator outside of brackets. */
export interface Macro {
  readonly name: string;
  readonly params: readonly string[] | undefined;
  readonly body: readonly string[];
  readonly certain: boolean;
  readonly loose: boolean;
}

/**
 * Tokens, the line of each, and the macro definitions of the tokens `#0`, `#1` ...; a text is the name of a macro that
 * ends.
 */
export interface Lines {
  readonly tokens: string[];
  readonly numbers: number[];
  readonly macros: (Macro | string)[];
  readonly fail: (line: number, what: string) => never;
}

/** Value of a condition; undefined if it depends on the device. */
type Decision = boolean | undefined;

const TOKEN = new RegExp(GLSL_TOKEN_PATTERN.source.slice(1, -1), "y");
const TERM = /(!?)defined\((\w+)\)/g;
const OPERATORS = "+ * / - ? < == > && || != <= >=".split(" ");
const BESIDE = "*/-[";

/** Return the tokens of a shader. `#if`, `#else` and `#endif` remain for conditions that depend on the device. */
export function readLines(member: string, text: string): Lines {
  const tokens: string[] = [];
  const numbers: number[] = [];
  const macros: (Macro | string)[] = [];
  const known = new Map<string, Decision>(GLSL_DEVICE.map((name) => [name, undefined]));
  const branches: Decision[] = [];
  let number = 0;

  const fail = (line: number, what: string): never =>
    refuse(`shader '${member}' line ${line}: ${what}; export the model again`);
  const failed = (what: string): never => fail(number, what);
  const isLive = (): boolean => !branches.includes(false);
  const inverse = (state: Decision, yes: boolean): Decision => (state === undefined ? state : state !== yes);

  function add(token: string): void {
    tokens.push(token);
    numbers.push(number);
  }

  function tokensOf(line: string): string[] {
    const found: string[] = [];
    for (let at = 0; at < line.length; at = TOKEN.lastIndex) {
      TOKEN.lastIndex = at;
      const [token] = TOKEN.exec(line) ?? failed(`'${line.slice(at, at + 12)}' is no GLSL of this format`);
      if (token!.length > GLSL_MOST_NAME) failed(`'${line.slice(at, at + 12)}' is no GLSL of this format`);
      if (token![0] !== " ") found.push(token!);
    }
    return found;
  }

  function define(word: string, rest: string): void {
    const certain = !branches.includes(undefined);
    const exempt = GLSL_LINES.includes(rest);
    const found = /^(\w+)(?:\((\w+(?:, \w+)*)\))?(?: (.*))?$/.exec(rest);
    const [, name = "", list, text = ""] = found ?? [];
    const reserved = word === "define" && GLSL_STATEMENTS.includes(name);
    if (!found || (!exempt && (reserved || !GLSL_MACRO_PATTERN.test(name)))) failed("a macro that is not of this format");
    known.set(name, certain ? word === "define" : undefined);
    add("#" + macros.length);
    if (word === "undef") {
      macros.push(certain ? name : "");
      return;
    }
    const params = list?.split(", ");
    const body = tokensOf(text);
    if (body.length > GLSL_MOST_MACRO || (params?.length ?? 0) > 4) failed(`macro '${name}' is longer than any of this format`);
    let depth = 0;
    let loose = false;
    const unequal = `macro '${name}' has unequal brackets, or an operator beside a parameter`;
    body.forEach((token, at) => {
      depth += +"([".includes(token) - +")]".includes(token);
      loose ||= !depth && at > 0 && OPERATORS.includes(token);
      const beside = body[at - 1] === "." || [body[at - 1], body[at + 1]].some((other) => other && BESIDE.includes(other));
      if (depth < 0 || (!exempt && beside && params?.includes(token))) failed(unequal);
    });
    if (depth) failed(unequal);
    macros.push({ name, params, body, certain, loose });
  }

  function directive(line: string): void {
    const [word, rest] = [line.split(" ", 1)[0]!, line.slice(line.split(" ", 1)[0]!.length + 1)];
    let live = isLive();
    let state: Decision;
    if (word === "ifdef" || word === "ifndef" || word === "if") {
      const condition = word === "if" ? rest : `${word === "ifdef" ? "" : "!"}defined(${rest})`;
      const terms = [...condition.matchAll(TERM)];
      if (
        !/^!?defined\(\w+\)(?: && !?defined\(\w+\))*$/.test(condition) ||
        branches.length >= GLSL_MOST_CONDITIONS ||
        !terms.every(([, , name]) => GLSL_MACRO_PATTERN.test(name!))
      ) {
        failed("a condition that is not of this format, or too deep");
      }
      const states = terms.map(([, sign, name]) => inverse(known.has(name!) ? known.get(name!) : false, sign === "!"));
      state = states.includes(false) ? false : states.includes(undefined) ? undefined : true;
      branches.push(state);
    } else if ((word === "else" || word === "endif") && !rest) {
      if (!branches.length) failed(`#${word} without a condition`);
      state = branches.pop();
      live = isLive();
      if (word === "else") branches.push(inverse(state, true));
    } else {
      if (word !== "define" && word !== "undef") failed(`#${word.slice(0, 12)} is not used in this format`);
      if (live) define(word, rest);
      return;
    }
    if (live && state === undefined) add(word[0] === "i" ? "#if" : `#${word}`);
  }

  if (!text.endsWith("\n")) fail(text.split("\n").length, "it does not end with a line feed");
  for (const whole of text.slice(0, -1).split("\n")) {
    number += 1;
    if (/[^ -~]|\\|\/\*/.test(whole)) failed("a character that is not allowed, or a comment with /*");
    const line = whole.split("//", 1)[0]!.replace(/ +$/, "");
    if (line[0] === "#") {
      directive(line.slice(1));
    } else if (line && isLive()) {
      tokensOf(line).forEach(add);
      if (tokens.length > GLSL_MOST_TOKENS) failed(`the shader has more than ${GLSL_MOST_TOKENS} tokens`);
    }
  }
  if (branches.length) failed("a condition without #endif");
  return { tokens, numbers, macros, fail };
}
