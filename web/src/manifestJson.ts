/** The manifest from JSON, strictly: unknown keys, missing ones, wrong types and numbers out of range are refused. */

import { isFixed, isMap, type FeatureMap, type FixedMap, type FixedPoint, type Value, type View } from "./layout.ts";
import {
  FIT,
  FORMAT,
  PROBE_FORMULA,
  PROFILE,
  VERSION,
  type Clear,
  type Input,
  type Limits,
  type Manifest,
  type Output,
  type Probe,
  type ProbeLayer,
  type ShaderProgram,
  type Texture,
} from "./manifest.ts";
import { identifier, integer, list, made, mapOf, number, numberFrom, object, oneOf, positive, text, tuple, type Reader } from "./strict.ts";
import { refuse, short } from "./refusal.ts";
import type { Json } from "./strictJson.ts";

const MAX_SIDE = 8192;
const MAX_UNIFORMS = 64;
const count = integer(1, 1 << 20);
/** Of passes and quads; `checkCaps` says what is too many. */
const amount = integer(1, 1 << 30);
const side = integer(1, MAX_SIDE);
const place = integer(0, MAX_SIDE);
const byte = integer(0, 255);
const offset = integer(0, 2 ** 28);
const noLess = numberFrom(0);

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
/** Where a layer's output lies. */
export const value: Reader<Value> = (data, where) => {
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

function checkUnique(given: readonly string[], where: string): void {
  const seen = new Set<string>();
  for (const name of given) {
    if (seen.has(name)) refuse(`${where}: '${short(name)}' is there twice`);
    seen.add(name);
  }
}

/** Names, none of them twice. */
const names: Reader<string[]> = made(list(text), (given, where) => {
  checkUnique(given, where);
  return given;
});

const input: Reader<Input> = (data, where) => {
  const { value: given, ...fields } = object<Omit<Input, "value"> & { value: Value }>({
    name: text,
    kind: oneOf("picture"),
    fit: oneOf(FIT),
    value,
  })(data, where);
  if (!isMap(given) || given.views.length !== 1) refuse(`${where}: a picture is a feature map in one texture`);
  return { ...fields, value: given };
};

const output: Reader<Output> = (data, where) => {
  const { name, purpose, value: given } = object<{ name: string; purpose: Output["purpose"]; value: Value }>({
    name: text,
    purpose: oneOf("classes", "image"),
    value,
  })(data, where);
  if (purpose === "classes" && isFixed(given) && !given.columns) return { name, purpose, value: given };
  if (purpose === "image" && isMap(given)) return { name, purpose, value: given };
  return refuse(`${where}: '${purpose}' must be a vector in fixed point if 'classes', an 8-bit map if 'image'`);
};

const uniforms = made(list(tuple(identifier, integer(1, 1 << 14))), (given, where) => {
  if (given.length > MAX_UNIFORMS) refuse(`${where}: ${given.length} uniforms; a program has at most ${MAX_UNIFORMS}`);
  checkUnique(given.map(([name]) => name), where);
  return new Map(given);
});

const manifest = object<Manifest>({
  format: oneOf(FORMAT),
  version: count,
  profile: text,
  name: text,
  inputs: list(input),
  limits: object<Limits>({
    texture_units: integer(1, 32),
    texture_size: side,
    fragment_uniform_vectors: integer(0, 4096),
    varying_vectors: integer(1, 32),
    vertex_attributes: integer(1, 32),
  }),
  textures: list(texture),
  programs: list(
    object<ShaderProgram>({
      name: text,
      vertex: text,
      fragment: text,
      samplers: list(identifier),
      varyings: integer(1, 7),
      uniforms,
    }),
  ),
  layers: names,
  floats: names,
  passes: object<Manifest["passes"]>({ count: amount, quads: amount }),
  outputs: list(output),
  probe: object<Probe>({
    formula: oneOf(PROBE_FORMULA),
    member: text,
    layers: list(
      object<ProbeLayer>({
        layer: text,
        offset,
        count,
        max_error: noLess,
        mean_error: noLess,
        value,
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
 * @throws BundleError anything missing, unknown, of the wrong type, out of range, or of another version.
 */
export function fromJson(data: Json): Manifest {
  checkVersion(data);
  return manifest(data, "manifest");
}

/**
 * Look at the keys that say whether this runner can read the rest.
 *
 * @throws BundleError another format, version or profile.
 */
export function checkVersion(data: Json): void {
  if (!(data instanceof Map) || data.get("format") !== FORMAT) {
    return refuse(`manifest: 'format' is not '${FORMAT}': this is no glsl-infer model; give a *.glslnn file`);
  }
  const version = count(data.get("version") ?? null, "manifest.version");
  if (version < VERSION) refuse(`the model has format version ${version}, this program reads version ${VERSION}; export it again`);
  if (version > VERSION) {
    refuse(
      `the model has format version ${version}, this program reads up to ${VERSION}; ` +
        "reload the page, or ask its author to update glsl-infer",
    );
  }
  const profile = text(data.get("profile") ?? null, "manifest.profile");
  if (profile !== PROFILE) {
    refuse(`the model needs profile '${short(profile)}'; this runner has ${PROFILE}; update the runner`);
  }
}
