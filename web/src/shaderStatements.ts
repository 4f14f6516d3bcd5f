/** Statements and blocks: assignment of variables, and numbers of loop iterations. */

import { GLSL_MOST_BLOCKS, GLSL_MOST_CHOICE, GLSL_MOST_LOOP, GLSL_MOST_TURNS, GLSL_STATEMENTS, GLSL_TYPES } from "./formatConstants.ts";
import {
  add,
  declare,
  expect,
  fail,
  find,
  isKind,
  nameOf,
  next,
  peek,
  NUMBERS,
  swizzle,
  take,
  type Cursor,
} from "./shaderCursor.ts";
import { combine, expression, macro } from "./shaderExpressions.ts";
import { ANY, hull, INTEGER, isKnown, WILD } from "./shaderValues.ts";

/** Parse a preprocessor line, if it is next; return whether it was. */
export function directive(cursor: Cursor): boolean {
  const token = peek(cursor);
  if (token[0] !== "#") return false;
  next(cursor);
  if (token === "#if") {
    cursor.branches.push({ depth: cursor.depth, now: [], before: [] });
  } else if (token === "#else" || token === "#endif") {
    const branch = cursor.branches.pop()!;
    if (branch.depth !== cursor.depth) fail(cursor, "a condition ends in another block than it begins");
    for (const variable of branch.now) {
      if (token === "#else" || !branch.before.includes(variable)) variable.value = undefined;
      else cursor.branches[cursor.branches.length - 1]?.now.push(variable);
    }
    if (token === "#else") cursor.branches.push({ depth: cursor.depth, now: [], before: branch.now });
  } else {
    const given = cursor.lines.macros[+token.slice(1)]!;
    if (typeof given === "string") cursor.macros.delete(given);
    else if (find(cursor, given.name) || cursor.functions.has(given.name)) fail(cursor, `macro '${given.name}' has the name of a variable or function`);
    else cursor.macros.set(given.name, [...(given.certain ? [] : (cursor.macros.get(given.name) ?? [])), given]);
  }
  return true;
}

/** Parse statements up to a closing bracket, in a new scope. */
export function block(cursor: Cursor): void {
  expect(cursor, "{");
  cursor.depth += 1;
  if (cursor.depth > GLSL_MOST_BLOCKS) fail(cursor, "blocks are too deep in each other");
  cursor.scopes.push(new Map());
  const open = cursor.branches.length;
  while (!take(cursor, "}")) if (!directive(cursor)) statement(cursor);
  if (cursor.branches.length !== open) fail(cursor, "a condition ends in another block than it begins");
  cursor.scopes.pop();
  cursor.depth -= 1;
}

function statement(cursor: Cursor): void {
  cursor.operators = 0;
  const token = peek(cursor);
  const isCall = peek(cursor, 1) === "(";
  if (isKind(token) && !isCall) {
    declaration(cursor, next(cursor), false);
  } else if (take(cursor, "const")) {
    declaration(cursor, next(cursor), true);
  } else if (token === "for") {
    loop(cursor);
  } else if (take(cursor, "if")) {
    add(cursor, [GLSL_MOST_CHOICE, 1]);
    expect(cursor, "(");
    expression(cursor);
    expect(cursor, ")");
    cursor.conditional += 1;
    if (["if", "for", "{", "const", ...GLSL_TYPES].includes(peek(cursor))) fail(cursor, "an assignment or 'break' is expected behind 'if'");
    statement(cursor);
    cursor.conditional -= 1;
  } else if (take(cursor, "break")) {
    expect(cursor, ";");
  } else if (take(cursor, "return")) {
    cursor.returned |= expression(cursor)[3] & WILD;
    expect(cursor, ";");
  } else if (GLSL_STATEMENTS.includes(token) && cursor.macros.has(token)) {
    macro(cursor, next(cursor), statement);
  } else if (isCall) {
    if (!cursor.functions.has(token)) fail(cursor, `'${token}' is no function of the shader`);
    expression(cursor);
    expect(cursor, ";");
  } else {
    assignment(cursor);
  }
}

/** Parse declarations after their type. */
export function declaration(cursor: Cursor, kind: string, isConstant: boolean): void {
  if (!NUMBERS.includes(kind)) fail(cursor, `'${kind.slice(0, 20)}' is not of this format`);
  const isLocal = cursor.scopes.length > 1;
  do {
    cursor.operators = 0;
    const name = nameOf(cursor);
    const value = (isLocal || isConstant) && take(cursor, "=") ? expression(cursor) : undefined;
    if (isConstant && !(value && isKnown(value))) fail(cursor, `'${name}' is no constant`);
    declare(cursor, name, isConstant ? "const" : isLocal ? "local" : "global", value);
  } while (!take(cursor, ";") && (expect(cursor, ","), true));
}

function assignment(cursor: Cursor): void {
  const name = peek(cursor) === "gl_FragColor" ? next(cursor) : nameOf(cursor);
  if (cursor.macros.has(name)) fail(cursor, `a macro, '${name}', is no variable`);
  const variable = find(cursor, name);
  if (!variable || (!["local", "global", "parameter"].includes(variable.kind) && name !== "gl_FragColor")) {
    return fail(cursor, `'${name}' is no variable that can be assigned to`);
  }
  const part = swizzle(cursor);
  const sign = next(cursor);
  if (!["=", "+=", "-=", "*=", "/="].includes(sign)) fail(cursor, `an assignment is expected, not '${sign}'`);
  if (!variable.value && (part || sign !== "=")) fail(cursor, `'${name}' is used before it has a value`);
  let value = expression(cursor);
  if (sign !== "=") value = combine(cursor, sign[0]!, variable.value ?? ANY, value);
  expect(cursor, ";");
  if (!variable.value) {
    if (cursor.conditional) return;
    cursor.branches[cursor.branches.length - 1]?.now.push(variable);
    variable.value = value;
  } else {
    variable.value = part || cursor.conditional || cursor.branches.length ? hull(variable.value, value) : value;
  }
}

function loop(cursor: Cursor): void {
  expect(cursor, "for", "(", "int");
  const turn = nameOf(cursor);
  expect(cursor, "=", "0", ";", turn, "<");
  const start = cursor.at;
  const [whole, least, most] = expression(cursor);
  expect(cursor, ";");
  if (!(take(cursor, "++") && take(cursor, turn))) expect(cursor, turn, "++");
  expect(cursor, ")");
  if (!whole || !(most <= GLSL_MOST_TURNS)) fail(cursor, `a loop has a constant number of turns, at most ${GLSL_MOST_TURNS}`);
  const header = [...cursor.tokens.slice(start, start + 4), ...cursor.tokens.slice(cursor.at, cursor.at + 7)].join(" ");
  const end = cursor.tokens[start + 2];
  const isEnded = header === `TURNS ( ${end} ) { END_AFTER ( ${end} , ${turn} )`; // ends before TURNS
  cursor.scopes.push(new Map());
  declare(cursor, turn, "turn", INTEGER);
  const before = cursor.count[1];
  block(cursor);
  cursor.scopes.pop();
  add(cursor, [GLSL_MOST_LOOP, Math.trunc(Math.max(isEnded ? least : most, 1) - 1) * (cursor.count[1] - before)]);
}
