/** graph.json: the network itself, which no runner reads but the conversion does; docs/bundle-format.md specifies it. */

import type { Bundle } from "../src/bundle.ts";
import type { Value } from "../src/layout.ts";
import { GRAPH } from "../src/manifest.ts";
import { value } from "../src/manifestJson.ts";
import { integer, list, mapOf, number, object, text, type Reader } from "../src/strict.ts";
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

/** The layers in order, and the one whose output is the result. */
export interface Graph {
  readonly output: string;
  readonly layers: readonly Layer[];
}

const scalar: Reader<Scalar> = (given, where) => {
  if (given === null || typeof given === "boolean") return given;
  return typeof given === "string" ? text(given, where) : number(given, where);
};
const attribute: Reader<Attribute> = (given: Json, where) =>
  Array.isArray(given) ? list(scalar)(given, where) : scalar(given, where);

const graph = object<Graph>({
  output: text,
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

/** Read the network of a bundle. Throws BundleError where it is none. */
export function graphOf({ members }: Bundle): Graph {
  return graph(parse(new TextDecoder().decode(members.get(GRAPH))), "graph");
}
