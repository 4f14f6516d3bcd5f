/** Reading JSON strictly: every key is asked for by name and type, and none may be left over. */

import { BundleError } from "./errors.ts";
import { WrittenAsFraction, type Json } from "./strictJson.ts";

/** The largest 32-bit float; it also keeps out infinity. */
export const MAX_NUMBER = 3.4028234663852886e38;

const HALF_PAIR = /\p{Surrogate}/u;

/** The fields of one JSON object; `where` names it in messages. Every method throws BundleError. */
export class Fields {
  private readonly left: Map<string, Json>;

  constructor(
    value: Json,
    readonly where: string,
  ) {
    if (!(value instanceof Map)) throw new BundleError(`${where} is not an object`);
    this.left = new Map(value);
  }

  /** Refuse the keys that nobody asked for. */
  done(): void {
    for (const key of this.left.keys()) throw new BundleError(`${this.where}: unknown key '${short(key)}'`);
  }

  /** Return whether a key is there and was not asked for yet. */
  has(key: string): boolean {
    return this.left.has(key);
  }

  /** Return the value of a key, whatever it is. */
  any(key: string): Json {
    const value = this.left.get(key);
    if (value === undefined) throw new BundleError(`${this.where}: '${key}' is missing`);
    this.left.delete(key);
    return value;
  }

  text(key: string, oneOf?: readonly string[]): string {
    return text(this.any(key), `${this.where}: '${key}'`, oneOf);
  }

  optionalText(key: string): string | undefined {
    return this.has(key) ? this.text(key) : undefined;
  }

  integer(key: string, low: number, high: number): number {
    return integer(this.any(key), `${this.where}: '${key}'`, low, high);
  }

  number(key: string, low = -MAX_NUMBER): number {
    return number(this.any(key), `${this.where}: '${key}'`, low);
  }

  boolean(key: string): boolean {
    const value = this.any(key);
    if (typeof value !== "boolean") throw new BundleError(`${this.where}: '${key}' is ${show(value)}, not true or false`);
    return value;
  }

  items(key: string): Json[] {
    return items(this.any(key), `${this.where}: '${key}'`);
  }

  texts(key: string): string[] {
    return this.items(key).map((item, i) => text(item, `${this.where}: '${key}'[${i}]`));
  }

  /** Return an object with free keys, as [key, value] pairs. */
  entries(key: string): [string, Json][] {
    const value = this.any(key);
    if (!(value instanceof Map)) throw new BundleError(`${this.where}: '${key}' is not an object`);
    return [...value];
  }
}

/** Return `value` if it is a string (and one of those allowed). */
export function text(value: Json, where: string, oneOf?: readonly string[]): string {
  if (typeof value !== "string") throw new BundleError(`${where} is ${show(value)}, not a string`);
  if (oneOf && !oneOf.includes(value)) {
    throw new BundleError(`${where} is '${short(value)}', not one of ${oneOf.join(", ")}`);
  }
  if (HALF_PAIR.test(value)) throw new BundleError(`${where} has half of a surrogate pair in it`);
  return value;
}

/** Return `value` if it is an integer in [low, high]. */
export function integer(value: Json, where: string, low: number, high: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
    throw new BundleError(`${where} is ${show(value)}, not an integer from ${low} to ${high}`);
  }
  return value;
}

/** Return `value` if it is a number that a 32-bit float can hold, `low` at least. */
export function number(value: Json, where: string, low = -MAX_NUMBER): number {
  const given = value instanceof WrittenAsFraction ? value.value : value;
  if (typeof given !== "number" || !(given >= low && given <= MAX_NUMBER)) {
    const least = low === -MAX_NUMBER ? "" : ` of ${low} or more`;
    throw new BundleError(`${where} is ${show(value)}, not a number${least} that a 32-bit float holds`);
  }
  return given;
}

/** Return `value` if it is a list. */
export function items(value: Json, where: string): Json[] {
  if (!Array.isArray(value)) throw new BundleError(`${where} is not a list`);
  return value;
}

/** Return the first 60 characters of a text that a file gave. */
export function short(given: string): string {
  return given.length > 60 ? given.slice(0, 60) : given;
}

function show(value: Json): string {
  if (value === null) return "null";
  if (value instanceof WrittenAsFraction) return `${value.value}.0`;
  if (value instanceof Map) return "an object";
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? `'${short(value)}'` : String(value);
}
