/**
 * Strict reader of JSON by its description: interprets the objects and types of `formatConstants.ts` and of other such
 * tables.
 *
 * Unknown and missing keys, wrong types, and integers and lengths out of range are refused with BundleError. Rules
 * between fields are functions of the values.
 */

import { ANY, MAX_NUMBER, NAME, NUMBER, POSITIVE, SECTIONS } from "./formatConstants.ts";
import { refuse, short, under, type Rule } from "./refusal.ts";
import { WrittenAsFraction, type Json, type JsonObject } from "./strictJson.ts";

/**
 * A built-in type, the name of an object or type, a pattern, the limits of a range, words, a composition of others, or a
 * reader of its own.
 */
export type Type = number | string | RegExp | Range | readonly string[] | Compound | OwnReader;

/** Reads a value of an object's key, which is undefined if the key is missing. */
export type OwnReader = (value: Json | undefined, where: string, read: Read) => unknown;

/** The smallest and the largest integer, and the rule that a larger one breaks, if it is not that of its section. */
type Range = readonly [number, number, Rule?];

interface Compound {
  readonly listOf?: Type;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** The same as `atMost`, where more break the rule `caps`. */
  readonly capped?: number;
  readonly tupleOf?: readonly Type[];
  readonly mapOf?: Type;
  /** The first object whose keys here are all there. */
  readonly choiceOf?: Readonly<Record<string, readonly string[]>>;
  /** Another key, and the words of it with which an object has this one. */
  readonly onlyIf?: readonly string[];
  readonly thenType?: Type;
}

type Table<T> = Readonly<Record<string, T>>;

/** Reads a value of a type; `where` names it in messages. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Read = (type: Type, value: Json, where: string) => any;

const HALF_PAIR = /\p{Surrogate}/u;

/**
 * Return a reader of some objects and types.
 *
 * @param make functions by name, which convert the values of an object or type to its result.
 */
export function describedBy(
  objects: Table<Table<Type>>,
  types: Table<Type>,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  make: Table<(fields: any, where: string) => unknown>,
): Read {
  const read: Read = (type, value, where) => {
    if (typeof type === "number") return scalar(type, value, where);
    if (typeof type === "string") {
      const fields = objects[type] ? object(objects[type], value, where) : read(types[type]!, value, where);
      return make[type] ? make[type](fields, where) : fields;
    }
    if (typeof type === "function") return type(value, where, read);
    if (type instanceof RegExp) {
      return type.test(scalar(NAME, value, where) as string) ? value : refuse(`${where}: ${show(value)} is not a name that GLSL allows`);
    }
    if (isList(type)) {
      const [low, high, rule] = type as Range;
      if (typeof low === "string") {
        return type.includes(value as never) ? value : refuse(`${where} is ${show(value)}, not one of ${type.join(", ")}`);
      }
      const integer = value as number;
      if (Number.isInteger(integer) && integer >= low && integer <= high) return integer;
      return refuse(`${where} is ${show(value)}, not an integer from ${low} to ${high}`, integer > high ? rule : undefined);
    }
    const { listOf, tupleOf, mapOf, choiceOf, capped } = type;
    if (listOf || tupleOf) {
      if (!Array.isArray(value)) return refuse(`${where} is not a list`);
      const { length } = value;
      const { atLeast = 0, atMost = capped ?? Infinity } = tupleOf ? { atLeast: tupleOf.length, atMost: tupleOf.length } : type;
      if (length < atLeast || length > atMost) {
        const possible = atMost < Infinity ? `to ${atMost}` : "or more";
        refuse(`${where} has ${length} entries; ${atLeast} ${possible} are possible`, capped && length ? "caps" : undefined);
      }
      return value.map((entry, i) => read(tupleOf ? tupleOf[i]! : listOf!, entry, `${where}[${i}]`));
    }
    const fields = fieldsOf(value, where);
    if (mapOf) return new Map([...fields].map(([key, entry]) => [key, read(mapOf, entry, `${where}['${short(key)}']`)]));
    return read(Object.keys(choiceOf!).find((name) => choiceOf![name]!.every((key) => fields.has(key)))!, value, where);
  };

  function object(keys: Table<Type>, value: Json, where: string): unknown {
    const fields = fieldsOf(value, where);
    const result: Record<string, unknown> = {};
    for (const key in keys) {
      const type = keys[key]!;
      const { onlyIf, thenType = type } = type as Compound;
      if (onlyIf && !onlyIf.includes(result[onlyIf[0]!] as string, 1)) continue;
      const field = fields.get(key)!;
      if (field === undefined && typeof type !== "function") refuse(`${where}: '${key}' is missing`);
      const rule = where === "manifest" && SECTIONS.find((section) => section === key);
      result[key] = under(rule || undefined, () => read(thenType, field, `${where}.${key}`));
    }
    for (const key of fields.keys()) if (!result.hasOwnProperty(key)) refuse(`${where}: unknown key '${short(key)}'`);
    return result;
  }

  return read;
}

function isList(type: Type): type is Range | readonly string[] {
  return Array.isArray(type);
}

function scalar(type: number, value: Json, where: string): Json {
  if (type === ANY) return value;
  if (type === NAME) {
    if (typeof value !== "string") refuse(`${where} is ${show(value)}, not a string`);
    return HALF_PAIR.test(value) ? refuse(`${where} has half of a surrogate pair in it`) : value;
  }
  const number = value instanceof WrittenAsFraction ? value.value : value;
  const low = type < POSITIVE ? -MAX_NUMBER : 0;
  if (typeof number !== "number" || !(number >= low && number <= MAX_NUMBER)) {
    return refuse(`${where} is ${show(value)}, not a number from ${low} to ${MAX_NUMBER}`);
  }
  return number || type === NUMBER || type > POSITIVE ? number : refuse(`${where} is 0; give another number`);
}

function fieldsOf(value: Json, where: string): JsonObject {
  return value instanceof Map ? value : refuse(`${where} is not an object`);
}

function show(value: Json): string {
  if (value instanceof WrittenAsFraction) return `${value.value}.0`;
  if (value instanceof Map) return "an object";
  if (Array.isArray(value)) return "a list";
  return typeof value === "string" ? `'${short(value)}'` : String(value);
}
