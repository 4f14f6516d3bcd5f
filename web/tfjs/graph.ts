/** Reader of graph.json, the network's graph, which is needed for conversion only; graph-format.md specifies it. */

import type { Bundle } from "../src/bundle.ts";
import { describedBy } from "../src/described.ts";
import { GRAPH_OBJECTS, GRAPH_TYPES, NAME, NUMBER, OBJECTS, TYPES } from "../src/formatConstants.ts";
import type { Value } from "../src/layout.ts";
import { GRAPH, type HostStep } from "../src/manifest.ts";
import { MAKE } from "../src/manifestJson.ts";
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

/** A result: the layers that it is made of, and the host steps. */
export interface GraphOutput {
  readonly layers: readonly string[];
  readonly steps: readonly HostStep[];
}

/** The results, and all layers in order. */
export interface Graph {
  readonly outputs: readonly GraphOutput[];
  readonly layers: readonly Layer[];
}

/** Value of an attribute: a string, a number, true, false, null, or a list of these. */
const scalar = (value: Json, where: string): Scalar => {
  if (value === null || typeof value === "boolean") return value;
  return read(typeof value === "string" ? NAME : NUMBER, value, where);
};
const attributes = (values: ReadonlyMap<string, Json>, where: string): Map<string, Attribute> =>
  new Map(
    [...values].map(([key, value]) => [key, Array.isArray(value) ? value.map((item) => scalar(item, where)) : scalar(value, where)]),
  );
const read = describedBy({ ...OBJECTS, ...GRAPH_OBJECTS }, { ...TYPES, ...GRAPH_TYPES }, { ...MAKE, attributes });

/** Read the graph of a bundle. Throws BundleError if it is invalid. */
export function graphOf({ members }: Bundle): Graph {
  return read("graph", parse(new TextDecoder().decode(members.get(GRAPH))), "graph");
}
