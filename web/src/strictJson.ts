/**
 * JSON text to values, strictly: no key twice in an object, and numbers that say whether they were written as integers.
 *
 * `JSON.parse` keeps the last of two equal keys and does not tell 1.0 from 1; the format refuses the one, and the other
 * where an integer belongs.
 */

import { BundleError } from "./errors.ts";

/** A whole number that was written with a fraction or an exponent, such as 1.0: a number, but no integer. */
export class WrittenAsFraction {
  constructor(readonly value: number) {}
}

export type JsonObject = Map<string, Json>;
export type Json = null | boolean | number | string | WrittenAsFraction | Json[] | JsonObject;

const MAX_DEPTH = 64;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SPACE = /[ \t\n\r]*/y;

/**
 * Parse a JSON text; objects become maps.
 *
 * @throws BundleError the text is no JSON, nests deeper than 64 levels, or has an object with the same key twice.
 */
export function parse(text: string): Json {
  let at = 0;

  function fail(what: string): never {
    throw new BundleError(`manifest.json is no JSON (${what} at character ${at})`);
  }

  function space(): void {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    at = SPACE.lastIndex;
  }

  function take(character: string): boolean {
    space();
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }

  function string(): string {
    STRING.lastIndex = at;
    const found = STRING.exec(text);
    if (!found) fail("expected a string");
    at = STRING.lastIndex;
    return JSON.parse(found[0]) as string;
  }

  function number(): Json {
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text);
    if (!found) fail("expected a value");
    at = NUMBER.lastIndex;
    const value = Number(found[0]);
    const fraction = found[1] !== undefined || found[2] !== undefined;
    return fraction && Number.isInteger(value) ? new WrittenAsFraction(value) : value;
  }

  function word(letters: string, value: Json): Json {
    if (!text.startsWith(letters, at)) fail("expected a value");
    at += letters.length;
    return value;
  }

  function array(depth: number): Json[] {
    const items: Json[] = [];
    at += 1;
    if (take("]")) return items;
    do items.push(value(depth + 1));
    while (take(","));
    if (!take("]")) fail("expected ',' or ']'");
    return items;
  }

  function object(depth: number): JsonObject {
    const fields: JsonObject = new Map();
    at += 1;
    if (take("}")) return fields;
    do {
      space();
      const key = string();
      if (!take(":")) fail("expected ':'");
      if (fields.has(key)) throw new BundleError("manifest: an object has the same key twice");
      fields.set(key, value(depth + 1));
    } while (take(","));
    if (!take("}")) fail("expected ',' or '}'");
    return fields;
  }

  function value(depth: number): Json {
    if (depth > MAX_DEPTH) fail("nested too deeply");
    space();
    switch (text[at]) {
      case "{":
        return object(depth);
      case "[":
        return array(depth);
      case '"':
        return string();
      case "t":
        return word("true", true);
      case "f":
        return word("false", false);
      case "n":
        return word("null", null);
      default:
        return number();
    }
  }

  const result = value(0);
  space();
  if (at !== text.length) fail("something after the end");
  return result;
}
