/**
 * Strict JSON parser: refuses duplicate keys, and distinguishes integers from other numbers.
 *
 * `JSON.parse` keeps the last of two equal keys, and converts 1.0 to 1, which the format refuses as an integer.
 */

import { refuse, short } from "./refusal.ts";

/** An integral number written with a fraction or an exponent, such as 1.0, which is not an integer in the format. */
export class WrittenAsFraction {
  constructor(readonly value: number) {}
}

export type JsonObject = Map<string, Json>;
export type Json = null | boolean | number | string | WrittenAsFraction | Json[] | JsonObject;

const MAX_DEPTH = 64;
/** Strings, brackets, and everything else between commas, colons and spaces. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s,:[\]{}"]+/g;

/**
 * Parse a JSON text; objects become maps.
 *
 * @throws BundleError the text is not JSON, is nested deeper than 64 levels, or has an object with a duplicate key.
 */
export function parse(text: string): Json {
  try {
    JSON.parse(text);
  } catch (error) {
    refuse(`not JSON (${(error as Error).message})`);
  }
  // The text is now known to be valid JSON: all commas, colons and closing brackets are in place.
  const tokens = text.match(TOKEN)!;
  let at = 0;

  function value(depth: number): Json {
    if (depth > MAX_DEPTH) refuse("nested too deeply");
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
        if (fields.has(key)) refuse(`an object has the key '${short(key)}' twice`);
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
