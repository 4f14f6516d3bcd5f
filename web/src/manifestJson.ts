/** The manifest from JSON, strictly: unknown keys, missing ones, wrong types and numbers out of range are refused. */

import { isFixed, isMap, type FeatureMap, type FixedMap, type FixedPoint, type Value, type View } from "./layout.ts";
import {
  FORMAT,
  PREPROCESSING,
  PROBE_FORMULA,
  VERSION,
  type Attribute,
  type Clear,
  type Manifest,
  type Output,
  type Pass,
  type Quad,
  type Scalar,
  type Slice,
  type Source,
  type Texture,
  type UniformValue,
} from "./manifest.ts";
import {
  boolean,
  fieldsOf,
  identifier,
  integer,
  list,
  made,
  mapOf,
  number,
  numberFrom,
  object,
  oneOf,
  positive,
  text,
  tuple,
  type Reader,
} from "./strict.ts";
import { refuse } from "./refusal.ts";
import type { Json } from "./strictJson.ts";

const MAX_SIDE = 8192;
const count = integer(1, 1 << 20);
const side = integer(1, MAX_SIDE);
const place = integer(0, MAX_SIDE);
const coordinate = integer(-MAX_SIDE, MAX_SIDE); // before the texture: windows begin in the padding
const byte = integer(0, 255);
const offset = integer(0, 2 ** 28);
const noLess = numberFrom(0);

const scalar: Reader<Scalar> = (value, where) => {
  if (value === null || typeof value === "boolean") return value;
  return typeof value === "string" ? text(value, where) : number(value, where);
};
const attribute: Reader<Attribute> = (value, where) =>
  Array.isArray(value) ? list(scalar)(value, where) : scalar(value, where);

const view = made(tuple(text, place, place), ([texture, x, y]): View => ({ texture, x, y }));
const size = { height: side, width: side, channels: count, views: list(view) };
const fixedPoint = object<Omit<FixedPoint, "kind">>({ texture: text, columns: place, length: count, scale: positive });
const fixedMap = object<Omit<FixedMap, "kind">>({ ...size, scale: positive });
const featureMap = object<Omit<FeatureMap, "kind">>({
  ...size,
  gutter: integer(0, 64),
  scales: list(number),
  zeros: list(number),
});
const value: Reader<Value> = (data, where) => {
  if (!(data instanceof Map) || !data.has("views")) return { kind: "fixed", ...fixedPoint(data, where) };
  if (data.has("scale")) return { kind: "fixedMap", ...fixedMap(data, where) };
  return { kind: "map", ...featureMap(data, where) };
};

const clear: Reader<Clear> = tuple(byte, byte, byte, byte);
const texture: Reader<Texture> = (data, where) => {
  const given = data instanceof Map ? data : new Map<string, Json>();
  const fields = object({
    name: text,
    width: side,
    height: side,
    kind: oneOf("input", "target", "constant"),
    ...(given.has("member") && { member: text }),
    ...(given.get("kind") === "target" && { clear }),
  });
  return { member: undefined, clear: [0, 0, 0, 0], ...fields(data, where) };
};

const slice = made(tuple(text, offset, integer(4, 1 << 14)), ([member, first, many], where): Slice => {
  if (many % 4) refuse(`${where}: ${many} numbers are no whole vec4s`);
  return { member, offset: first, count: many };
});
const uniformNumbers = made(list(number), (numbers, where) => {
  if (numbers.length < 1 || numbers.length > 4) {
    refuse(`${where}: ${numbers.length} numbers; 1 to 4 can stand in a pass`);
  }
  return numbers;
});
const uniform: Reader<UniformValue> = (data, where) =>
  (Array.isArray(data) && typeof data[0] === "string" ? slice : uniformNumbers)(data, where);

const source = made(tuple(integer(0, 31), number, number), ([unit, strideX, strideY]): Source => ({
  unit,
  strideX,
  strideY,
}));
const quad: Reader<Quad> = (data, where) => {
  const numbers = list(coordinate)(data, where);
  list(place)(numbers.slice(0, 4), where);
  const [x, y, width, height, ...rest] = numbers as [number, number, number, number, ...number[]];
  const origins: [number, number][] = [];
  for (let k = 0; k < rest.length; k += 2) origins.push([rest[k]!, rest[k + 1]!]);
  return { x, y, width, height, origins };
};
const passFields = object<Pass>({
  layer: text,
  program: text,
  target: text,
  clear: boolean,
  textures: list(text),
  sources: list(source),
  quads: list(quad),
  uniforms: mapOf(uniform, identifier),
});
const pass: Reader<Pass> = (data, where) => {
  const result = passFields(data, where);
  const numbers = 4 + 2 * result.sources.length;
  ((data as Map<string, Json>).get("quads") as Json[][]).forEach((one, i) => {
    if (one.length !== numbers) refuse(`${where}.quads[${i}]: ${one.length} numbers; its sources need ${numbers}`);
  });
  return result;
};

const output: Reader<Output> = (data, where) => {
  const rest = new Map(fieldsOf(data, where));
  const given = rest.get("name") ?? null;
  rest.delete("name");
  const name = oneOf("logits", "image")(given, `${where}.name`);
  const result = value(rest, where);
  if (name === "logits" && isFixed(result) && !result.columns) return { name, value: result };
  if (name === "image" && isMap(result)) return { name, value: result };
  return refuse(`${where}: '${name}' must be a vector in fixed point if 'logits', an 8-bit map if 'image'`);
};

const manifest = object<Manifest>({
  format: oneOf(FORMAT),
  version: count,
  model: object<Manifest["model"]>({
    name: text,
    output: text,
    layers: list(
      object<Manifest["model"]["layers"][number]>({
        name: text,
        op: text,
        inputs: list(text),
        attrs: mapOf(attribute),
        weights: mapOf(list(count)),
        members: list(text),
        output: value,
      }),
    ),
  }),
  input: object<Manifest["input"]>({
    texture: text,
    size: side,
    x: place,
    y: place,
    preprocessing: oneOf(PREPROCESSING),
  }),
  limits: object<Manifest["limits"]>({
    texture_units: integer(1, 32),
    texture_size: side,
    fragment_uniform_vectors: integer(0, 4096),
    varying_vectors: integer(1, 32),
    vertex_attributes: integer(1, 32),
  }),
  textures: list(texture),
  programs: list(
    object<Manifest["programs"][number]>({
      name: text,
      vertex: text,
      fragment: text,
      samplers: list(identifier),
      varyings: integer(1, 7),
      uniforms: mapOf(integer(1, 1 << 14), identifier),
    }),
  ),
  passes: list(pass),
  outputs: list(output),
  probe: object<Manifest["probe"]>({
    formula: oneOf(PROBE_FORMULA),
    member: text,
    layers: list(
      object<Manifest["probe"]["layers"][number]>({
        layer: text,
        offset,
        count,
        max_error: noLess,
        mean_error: noLess,
      }),
    ),
    logits: list(number),
    max_error: noLess,
  }),
  members: mapOf(text),
});

/**
 * Read a manifest from parsed JSON.
 *
 * @throws BundleError anything missing, unknown, of the wrong type, out of range, or of a newer version.
 */
export function fromJson(data: Json): Manifest {
  checkVersion(data);
  return manifest(data, "manifest");
}

/**
 * Look at the two keys that every version has.
 *
 * @throws BundleError another format, or a newer version.
 */
export function checkVersion(data: Json): void {
  if (!(data instanceof Map) || data.get("format") !== FORMAT) {
    return refuse(`manifest: 'format' is not '${FORMAT}': this is no glsl-infer model; give a *.glslnn file`);
  }
  const version = count(data.get("version") ?? null, "manifest.version");
  if (version > VERSION) {
    refuse(
      `the model has format version ${version}, this program reads up to ${VERSION}; ` +
        "reload the page, or ask its author to update glsl-infer",
    );
  }
}
