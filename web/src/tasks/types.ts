/** Types of task files beyond those of bundles, for `describedBy`. */

import type { OwnReader, Type } from "../described.ts";
import { NUMBER } from "../formatConstants.ts";
import type { Json } from "../strictJson.ts";

/** A number in a range. */
export function between(low: number, high: number): OwnReader {
  return (value, where, read) => {
    const number = read(NUMBER, value!, where) as number;
    if (!(number >= low && number <= high)) throw new Error(`${where} is ${number}, not a number from ${low} to ${high}`);
    return number;
  };
}

export const boolean: OwnReader = (value, where) => {
  if (typeof value !== "boolean") throw new Error(`${where} is not true or false`);
  return value;
};

/** A list of values, or a value alone for a list of one. */
export function oneOrList(type: Type, atLeast: number): OwnReader {
  return (value, where, read) => read({ listOf: type, atLeast }, Array.isArray(value) ? value : [value!], where);
}

/** A key that can be missing; the default null is undefined. */
export function optional(type: Type, standard: Json): OwnReader {
  return (value, where, read) => {
    if (value === undefined && standard === null) return undefined;
    return read(type, value === undefined ? standard : value, where);
  };
}
