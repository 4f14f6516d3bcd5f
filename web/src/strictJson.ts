/**
 * JSON text to values, strictly: no key twice in an object, and numbers that say whether they were written as integers.
 *
 * `JSON.parse` keeps the last of two equal keys and does not tell 1.0 from 1; the format refuses the one, and the other
 * where an integer belongs.
 */

import { refuse } from "./refusal.ts";

/** A whole number that was written with a fraction or an exponent, such as 1.0: a number, but no integer. */
export class WrittenAsFraction {
  constructor(readonly value: number) {}
}

export type JsonObject = Map<string, Json>;
export type Json = null | boolean | number | string | WrittenAsFraction | Json[] | JsonObject;

const MAX_DEPTH = 64;
/** Strings, brackets, and all else between commas, colons and spaces. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s,:[\]{}"]+/g;

/**
 * Parse a JSON text; objects become maps.
 *
 * @throws BundleError the text is no JSON, nests deeper than 64 levels, or has an object with the same key twice.
 */
export function parse(text: string): Json {
  try {
    JSON.parse(text);
  } catch (error) {
    refuse(`manifest.json is no JSON (${(error as Error).message})`);
  }
  // From here on the text is known to be JSON: commas and colons stand where they must, and every bracket has its end.
  const tokens = text.match(TOKEN)!;
  let at = 0;

  function value(depth: number): Json {
    if (depth > MAX_DEPTH) refuse("manifest.json is nested too deeply");
    const token = tokens[at++]!;
    if (token === "[") {
      const items: Json[] = [];
      while (tokens[at] !== "]") items.push(value(depth + 1));
      at++;
      return items;
    }
    if (token === "{") {
      const fields: JsonObject = new Map();
      while (tokens[at] !== "}") {
        const key = JSON.parse(tokens[at++]!) as string;
        if (fields.has(key)) refuse("manifest: an object has the same key twice");
        fields.set(key, value(depth + 1));
      }
      at++;
      return fields;
    }
    const scalar = JSON.parse(token) as string | number | boolean | null;
    return Number.isInteger(scalar) && /[.e]/i.test(token) ? new WrittenAsFraction(scalar as number) : scalar;
  }

  return value(0);
}
