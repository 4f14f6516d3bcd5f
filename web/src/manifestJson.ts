/** The manifest from JSON, strictly: unknown keys, missing ones, wrong types and numbers out of range are refused. */

import { BundleError } from "./errors.ts";
import type { FeatureMap, FixedMap, FixedPoint, Value, View } from "./layout.ts";
import {
  FORMAT,
  PREPROCESSING,
  PROBE_FORMULA,
  VERSION,
  type Attribute,
  type Clear,
  type Input,
  type Layer,
  type Limits,
  type Manifest,
  type Model,
  type Output,
  type Pass,
  type Probe,
  type Quad,
  type Scalar,
  type ShaderProgram,
  type Source,
  type Texture,
  type UniformValue,
} from "./manifest.ts";
import { Fields, integer, items, number, short, text } from "./strict.ts";
import type { Json } from "./strictJson.ts";

const MAX_SIDE = 8192;
const MAX_COUNT = 1 << 20;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Read a manifest from parsed JSON.
 *
 * @throws BundleError anything missing, unknown, of the wrong type, out of range, or of a newer version.
 */
export function fromJson(data: Json): Manifest {
  const fields = checkVersion(data);
  const list = <T>(key: string, read: (one: Json, where: string) => T): T[] =>
    fields.items(key).map((one, i) => read(one, `${key}[${i}]`));
  const manifest: Manifest = {
    model: model(fields.any("model")),
    input: input(fields.any("input")),
    limits: limits(fields.any("limits")),
    textures: list("textures", texture),
    programs: list("programs", program),
    passes: list("passes", pass),
    outputs: list("outputs", output),
    probe: probe(fields.any("probe")),
    members: mapOf(fields, "members", (value, where) => text(value, where)),
  };
  fields.done();
  return manifest;
}

/**
 * Look at the two keys that every version has, and return the others.
 *
 * @throws BundleError another format, or a newer version.
 */
export function checkVersion(data: Json): Fields {
  const fields = new Fields(data, "manifest");
  if (!fields.has("format") || fields.any("format") !== FORMAT) {
    throw new BundleError(`manifest: 'format' is not '${FORMAT}': this is no glsl-infer model; give a *.glslnn file`);
  }
  const version = fields.integer("version", 1, 2 ** 30);
  if (version > VERSION) {
    throw new BundleError(
      `the model has format version ${version}, this program reads up to ${VERSION}; ` +
        "reload the page, or ask its author to update glsl-infer",
    );
  }
  return fields;
}

function mapOf<T>(fields: Fields, key: string, read: (value: Json, where: string) => T): Map<string, T> {
  return new Map(fields.entries(key).map(([name, value]) => [name, read(value, `${fields.where}.${key}['${short(name)}']`)]));
}

function identifier(name: string, where: string): string {
  if (!IDENTIFIER.test(name)) throw new BundleError(`${where}: '${short(name)}' is not a name that GLSL allows`);
  return name;
}

function model(data: Json): Model {
  const fields = new Fields(data, "model");
  const result = {
    name: fields.text("name"),
    output: fields.text("output"),
    layers: fields.items("layers").map((one, i) => layer(one, `model.layers[${i}]`)),
  };
  fields.done();
  return result;
}

function layer(data: Json, where: string): Layer {
  const fields = new Fields(data, where);
  const result = {
    name: fields.text("name"),
    op: fields.text("op"),
    inputs: fields.texts("inputs"),
    attrs: mapOf(fields, "attrs", attribute),
    weights: mapOf(fields, "weights", (shape, at) => items(shape, at).map((size) => integer(size, at, 1, MAX_COUNT))),
    members: fields.texts("members"),
    output: value(fields.any("output"), `${where}.output`),
  };
  fields.done();
  return result;
}

function attribute(data: Json, where: string): Attribute {
  return Array.isArray(data) ? data.map((one) => scalar(one, where)) : scalar(data, where);
}

function scalar(data: Json, where: string): Scalar {
  if (data === null || typeof data === "boolean") return data;
  return typeof data === "string" ? text(data, where) : number(data, where);
}

function value(data: Json, where: string): Value {
  const fields = new Fields(data, where);
  const result = valueFields(fields);
  fields.done();
  return result;
}

function valueFields(fields: Fields): Value {
  if (!fields.has("views")) {
    const fixed: FixedPoint = {
      kind: "fixed",
      texture: fields.text("texture"),
      columns: fields.integer("columns", 0, MAX_SIDE),
      length: fields.integer("length", 1, MAX_COUNT),
      scale: positive(fields, "scale"),
    };
    return fixed;
  }
  const size = {
    height: fields.integer("height", 1, MAX_SIDE),
    width: fields.integer("width", 1, MAX_SIDE),
    channels: fields.integer("channels", 1, MAX_COUNT),
    views: fields.items("views").map((one, i) => view(one, `${fields.where}.views[${i}]`)),
  };
  if (fields.has("scale")) {
    const fixedMap: FixedMap = { kind: "fixedMap", ...size, scale: positive(fields, "scale") };
    return fixedMap;
  }
  const numbers = (key: string): number[] => fields.items(key).map((one) => number(one, `${fields.where}.${key}`));
  const map: FeatureMap = {
    kind: "map",
    ...size,
    gutter: fields.integer("gutter", 0, 64),
    scales: numbers("scales"),
    zeros: numbers("zeros"),
  };
  return map;
}

function view(data: Json, where: string): View {
  const [name, x, y] = tuple(data, where, 3, "[texture, x, y]") as [Json, Json, Json];
  return { texture: text(name, where), x: integer(x, where, 0, MAX_SIDE), y: integer(y, where, 0, MAX_SIDE) };
}

function tuple(data: Json, where: string, length: number, form: string): Json[] {
  const entries = items(data, where);
  if (entries.length !== length) throw new BundleError(`${where}: expected ${form}`);
  return entries;
}

function positive(fields: Fields, key: string): number {
  const result = fields.number(key, 0);
  if (result === 0) throw new BundleError(`${fields.where}: '${key}' is 0, not positive`);
  return result;
}

function input(data: Json): Input {
  const fields = new Fields(data, "input");
  const result = {
    texture: fields.text("texture"),
    size: fields.integer("size", 1, MAX_SIDE),
    x: fields.integer("x", 0, MAX_SIDE),
    y: fields.integer("y", 0, MAX_SIDE),
  };
  fields.text("preprocessing", [PREPROCESSING]);
  fields.done();
  return result;
}

function limits(data: Json): Limits {
  const fields = new Fields(data, "limits");
  const result = {
    texture_units: fields.integer("texture_units", 1, 32),
    texture_size: fields.integer("texture_size", 1, MAX_SIDE),
    fragment_uniform_vectors: fields.integer("fragment_uniform_vectors", 0, 4096),
    varying_vectors: fields.integer("varying_vectors", 1, 32),
    vertex_attributes: fields.integer("vertex_attributes", 1, 32),
  };
  fields.done();
  return result;
}

function texture(data: Json, where: string): Texture {
  const fields = new Fields(data, where);
  const name = fields.text("name");
  const kind = fields.text("kind", ["input", "target", "constant"]) as Texture["kind"];
  const width = fields.integer("width", 1, MAX_SIDE);
  const height = fields.integer("height", 1, MAX_SIDE);
  let clear: Clear = [0, 0, 0, 0];
  if (kind === "target") {
    const bytes = fields.items("clear").map((one) => integer(one, `${where}: 'clear'`, 0, 255));
    if (bytes.length !== 4) throw new BundleError(`${where}: 'clear' has ${bytes.length} bytes, not 4`);
    clear = bytes as unknown as Clear;
  }
  const result = { name, width, height, kind, member: fields.optionalText("member"), clear };
  fields.done();
  return result;
}

function program(data: Json, where: string): ShaderProgram {
  const fields = new Fields(data, where);
  const result = {
    name: fields.text("name"),
    vertex: fields.text("vertex"),
    fragment: fields.text("fragment"),
    samplers: fields.texts("samplers").map((name) => identifier(name, `${where}: 'samplers'`)),
    varyings: fields.integer("varyings", 1, 7),
    uniforms: mapOf(fields, "uniforms", (one, at) => integer(one, at, 1, 1 << 14)),
  };
  for (const name of result.uniforms.keys()) identifier(name, `${where}: 'uniforms'`);
  fields.done();
  return result;
}

function pass(data: Json, where: string): Pass {
  const fields = new Fields(data, where);
  const sources = fields.items("sources").map((one, i) => source(one, `${where}.sources[${i}]`));
  const result = {
    layer: fields.text("layer"),
    program: fields.text("program"),
    target: fields.text("target"),
    clear: fields.boolean("clear"),
    textures: fields.texts("textures"),
    sources,
    quads: fields.items("quads").map((one, i) => quad(one, sources.length, `${where}.quads[${i}]`)),
    uniforms: mapOf(fields, "uniforms", uniform),
  };
  fields.done();
  return result;
}

function source(data: Json, where: string): Source {
  const [unit, strideX, strideY] = tuple(data, where, 3, "[unit, stride x, stride y]") as [Json, Json, Json];
  return { unit: integer(unit, where, 0, 31), strideX: number(strideX, where), strideY: number(strideY, where) };
}

function quad(data: Json, sources: number, where: string): Quad {
  // An origin may lie before the texture: where windows begin in the padding.
  const entries = items(data, where).map((one, i) => integer(one, where, i < 4 ? 0 : -MAX_SIDE, MAX_SIDE));
  if (entries.length !== 4 + 2 * sources) {
    throw new BundleError(`${where}: ${entries.length} numbers; ${sources} sources need ${4 + 2 * sources}`);
  }
  const [x, y, width, height, ...rest] = entries as [number, number, number, number, ...number[]];
  const origins = Array.from({ length: sources }, (_, k): [number, number] => [rest[2 * k]!, rest[2 * k + 1]!]);
  return { x, y, width, height, origins };
}

function uniform(data: Json, where: string): UniformValue {
  const entries = items(data, where);
  if (typeof entries[0] === "string") {
    const [member, first, many] = tuple(data, where, 3, "[member, offset, count]") as [string, Json, Json];
    const offset = integer(first, where, 0, 2 ** 28);
    const count = integer(many, where, 4, 1 << 14);
    if (count % 4) throw new BundleError(`${where}: ${count} numbers are no whole vec4s`);
    return { member, offset, count };
  }
  if (entries.length < 1 || entries.length > 4) {
    throw new BundleError(`${where}: ${entries.length} numbers; 1 to 4 can stand in a pass`);
  }
  return entries.map((one) => number(one, where));
}

function output(data: Json, where: string): Output {
  const fields = new Fields(data, where);
  const name = fields.text("name", ["logits", "image"]);
  const result = valueFields(fields);
  fields.done();
  if (name === "logits" && result.kind === "fixed" && result.columns === 0) return { name, value: result };
  if (name === "image" && result.kind === "map") return { name, value: result };
  throw new BundleError(`${where}: '${name}' must be a vector in fixed point if 'logits', an 8-bit map if 'image'`);
}

function probe(data: Json): Probe {
  const fields = new Fields(data, "probe");
  const layers = fields.items("layers").map((one, i) => {
    const entry = new Fields(one, `probe.layers[${i}]`);
    const result = {
      layer: entry.text("layer"),
      offset: entry.integer("offset", 0, 2 ** 28),
      count: entry.integer("count", 1, MAX_COUNT),
      maxError: entry.number("max_error", 0),
      meanError: entry.number("mean_error", 0),
    };
    entry.done();
    return result;
  });
  fields.text("formula", [PROBE_FORMULA]);
  const result = {
    member: fields.text("member"),
    layers,
    logits: fields.items("logits").map((one) => number(one, "probe.logits")),
    maxError: fields.number("max_error", 0),
  };
  fields.done();
  return result;
}
