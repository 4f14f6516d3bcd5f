/** Reader of graph.json, the network's graph, which is needed for conversion only; graph-format.md specifies it. */

import type { Bundle } from "../src/bundle.ts";
import type { Value } from "../src/layout.ts";
import { GRAPH } from "../src/manifest.ts";
import { value } from "../src/manifestJson.ts";
import { fieldsOf, integer, list, made, mapOf, number, text, type Reader } from "../src/strict.ts";
import { parse, type Json } from "../src/strictJson.ts";

type Scalar = string | number | boolean | null;
type Attribute = Scalar | readonly Scalar[];

/** A node of the network. */
export interface Layer {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly attrs: ReadonlyMap<string, Attribute>;
  readonly weights: ReadonlyMap<string, readonly number[]>;
  readonly members: readonly string[];
  readonly output: Value;
}

/** A result: its layers, and the names of the host steps. */
export interface GraphOutput {
  readonly layers: readonly string[];
  readonly steps: readonly string[];
}

/** The results, and all layers in order. */
export interface Graph {
  readonly outputs: readonly GraphOutput[];
  readonly layers: readonly Layer[];
}

/** An object with these keys, and possibly others. */
function object<T>(fields: { [K in keyof T]: Reader<T[K]> }): Reader<T> {
  return (given, where) => {
    const read = fieldsOf(given, where);
    const result = {} as T;
    for (const key in fields) result[key] = fields[key](read.get(key) ?? null, `${where}.${key}`);
    return result;
  };
}

const scalar: Reader<Scalar> = (given, where) => {
  if (given === null || typeof given === "boolean") return given;
  return typeof given === "string" ? text(given, where) : number(given, where);
};
const attribute: Reader<Attribute> = (given: Json, where) =>
  Array.isArray(given) ? list(scalar)(given, where) : scalar(given, where);

const graph = object<Graph>({
  outputs: list(
    object<GraphOutput>({
      layers: list(text),
      steps: list(made(object<{ step: string }>({ step: text }), ({ step }) => step)),
    }),
  ),
  layers: list(
    object<Layer>({
      name: text,
      op: text,
      inputs: list(text),
      attrs: mapOf(attribute),
      weights: mapOf(list(integer(1, 1 << 20))),
      members: list(text),
      output: value,
    }),
  ),
});

/** Read the graph of a bundle. Throws BundleError if it is invalid. */
export function graphOf({ members }: Bundle): Graph {
  return graph(parse(new TextDecoder().decode(members.get(GRAPH))), "graph");
}
