/**
 * Strict readers of JSON: a reader takes a value and its location, and returns it with its type, or refuses it.
 *
 * Objects are read key by key: all keys must exist, and others are refused. Readers throw BundleError.
 */

import { IDENTIFIER_PATTERN, MAX_NUMBER, ONLY, type Keys } from "./formatConstants.ts";
import type { Objects } from "./manifest.ts";
import { refuse, short, under, type Rule } from "./refusal.ts";
import { WrittenAsFraction, type Json, type JsonObject } from "./strictJson.ts";

export type Reader<T> = (value: Json, where: string) => T;

const HALF_PAIR = /\p{Surrogate}/u;

/** A string. */
export const text: Reader<string> = (value, where) => {
  if (typeof value !== "string") refuse(`${where} is ${show(value)}, not a string`);
  if (HALF_PAIR.test(value)) refuse(`${where} has half of a surrogate pair in it`);
  return value;
};

/** One of several strings. */
export function oneOf<T extends string>(...allowed: readonly T[]): Reader<T> {
  return (value, where) =>
    allowed.find((word) => word === value) ?? refuse(`${where} is ${show(value)}, not one of ${allowed.join(", ")}`);
}

/** A valid name in GLSL. */
export const identifier: Reader<string> = (value, where) =>
  IDENTIFIER_PATTERN.test(text(value, where))
    ? (value as string)
    : refuse(`${where}: '${short(value as string)}' is not a name that GLSL allows`);

/** An integer in [low, high]. */
export function integer(low: number, high: number): Reader<number> {
  return (value, where) =>
    typeof value === "number" && Number.isInteger(value) && value >= low && value <= high
      ? value
      : refuse(`${where} is ${show(value)}, not an integer from ${low} to ${high}`);
}

/** A number that fits a 32-bit float, at least `low`. */
export function numberFrom(low: number): Reader<number> {
  return (value, where) => {
    const given = value instanceof WrittenAsFraction ? value.value : value;
    if (typeof given === "number" && given >= low && given <= MAX_NUMBER) return given;
    return refuse(`${where} is ${show(value)}, not a number from ${low} on that a 32-bit float holds`);
  };
}

export const number = numberFrom(-MAX_NUMBER);

export const positive: Reader<number> = (value, where) => numberFrom(0)(value, where) || refuse(`${where} is 0, not positive`);

/** A list of any length. */
export function list<T>(item: Reader<T>): Reader<T[]> {
  return (value, where) =>
    Array.isArray(value) ? value.map((entry, i) => item(entry, `${where}[${i}]`)) : refuse(`${where} is not a list`);
}

/** A list with a number of items between `least` and `most`. */
export function counted<T>(least: number, most: number, item: Reader<T>): Reader<T[]> {
  return made(list(item), (given, where) =>
    given.length < least || given.length > most
      ? refuse(`${where} has ${given.length} entries; ${least} to ${most} are possible`)
      : given,
  );
}

/** A value with its own rule for refusals. */
export function ruled<T>(rule: Rule, reader: Reader<T>): Reader<T> {
  return (value, where) => under(rule, () => reader(value, where));
}

/** A list with fixed items. */
export function tuple<T extends unknown[]>(...items: { [K in keyof T]: Reader<T[K]> }): Reader<T> {
  return (value, where) =>
    Array.isArray(value) && value.length === items.length
      ? (items.map((item, i) => item(value[i]!, where)) as T)
      : refuse(`${where}: expected a list of ${items.length}`);
}

/** The result of a function of a value. */
export function made<T, U>(reader: Reader<T>, make: (value: T, where: string) => U): Reader<U> {
  return (value, where) => make(reader(value, where), where);
}

/** The fields of an object, unchanged. */
export const fieldsOf: Reader<JsonObject> = (value, where) =>
  value instanceof Map ? value : refuse(`${where} is not an object`);

/** An object with arbitrary keys. */
export function mapOf<T>(item: Reader<T>, name: Reader<string> = (value) => value as string): Reader<Map<string, T>> {
  return (value, where) =>
    new Map([...fieldsOf(value, where)].map(([key, entry]) => [name(key, where), item(entry, `${where}['${short(key)}']`)]));
}

/** An object with exactly the keys of the format, some of which depend on other keys. */
export function object<K extends keyof Keys>(
  kind: K,
  fields: { readonly [P in Keys[K]]: Reader<Objects[K][P & keyof Objects[K]]> },
): Reader<Objects[K]> {
  const readers = Object.entries(fields) as [Keys[K], Reader<unknown>][];
  return (value, where) => {
    const given = fieldsOf(value, where);
    const result = new Map<string, unknown>();
    for (const [key, reader] of readers) {
      const [other = "", ...words] = ONLY[`${kind}.${key}`] ?? [];
      if (other && !words.includes(given.get(other) as string)) continue;
      const field = given.get(key);
      if (field === undefined) refuse(`${where}: '${key}' is missing`);
      result.set(key, reader(field, `${where}.${key}`));
    }
    for (const key of given.keys()) if (!result.has(key)) refuse(`${where}: unknown key '${short(key)}'`);
    return Object.fromEntries(result) as unknown as Objects[K];
  };
}

function show(value: Json): string {
  if (value instanceof WrittenAsFraction) return `${value.value}.0`;
  if (value instanceof Map) return "an object";
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? `'${short(value)}'` : String(value);
}
