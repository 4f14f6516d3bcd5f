/** Strict reader of the manifest: refuses unknown and missing keys, wrong types and values out of range. */

import {
  BITS_RANGE,
  BYTE_RANGE,
  COLUMNS_RANGE,
  COORDINATE_RANGE,
  COUNT_RANGE,
  CPU_PROFILE,
  FITS,
  FLOATS_RANGE,
  FORMAT,
  FRAGMENT_UNIFORM_VECTORS_RANGE,
  GUTTER_RANGE,
  HOST_STEPS,
  INPUT_KINDS,
  MAX_INPUTS,
  MAX_OUTPUTS,
  MAX_SAMPLERS,
  MAX_STEPS,
  MAX_UNIFORMS,
  MAX_VALUES,
  OFFSET_RANGE,
  PROBE_FORMULA,
  PROFILE,
  PURPOSES,
  SIDE_RANGE,
  TEXTURE_KINDS,
  TEXTURE_SIZE_RANGE,
  TEXTURE_UNITS_RANGE,
  VARYING_VECTORS_RANGE,
  VARYINGS_RANGE,
  VERSION,
  VERTEX_ATTRIBUTES_RANGE,
} from "./formatConstants.ts";
import { isFixed, isMap, type Value, type View } from "./layout.ts";
import type { Clear, Input, Manifest } from "./manifest.ts";
import { refuse, short, under } from "./refusal.ts";
import {
  counted,
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
  ruled,
  text,
  tuple,
  type Reader,
} from "./strict.ts";
import type { Json } from "./strictJson.ts";

const count = integer(...COUNT_RANGE);
/** Number of passes or quads; `checkCaps` has the limits. */
const amount = integer(1, 1 << 30);
/** Largest length of a list of operators in a message, in characters. */
const MOST_NAMED = 400;
const side = integer(...SIDE_RANGE);
const place = integer(...COORDINATE_RANGE);
const byte = integer(...BYTE_RANGE);
const noLess = numberFrom(0);

const view = made(tuple(text, place, place), ([texture, x, y]): View => ({ texture, x, y }));
const size = { height: side, width: side, channels: count, views: list(view) };
const fixedPoint = object("fixed_point", { texture: text, columns: place, length: count, scale: positive });
const fixedMap = object("fixed_map", { ...size, scale: positive });
const ranges = { scales: list(number), zeros: list(number) };
const featureMap = object("feature_map", {
  ...size,
  ...ranges,
  gutter: integer(...GUTTER_RANGE),
});

const fineMap = object("fine_map", { ...size, ...ranges, bits: integer(...BITS_RANGE) });

/** Layout of values in textures. */
export const value: Reader<Value> = (data, where) => {
  if (!(data instanceof Map) || !data.has("views")) return { kind: "fixed", ...fixedPoint(data, where) };
  if (data.has("scale")) return { kind: "fixedMap", ...fixedMap(data, where) };
  if (data.has("bits")) return { kind: "fineMap", ...fineMap(data, where) };
  return { kind: "map", ...featureMap(data, where) };
};

/** A complete value, without partial sums. */
const wholeValue = made(value, (given, where) =>
  isFixed(given) && given.columns ? refuse(`${where}: 'columns' is ${given.columns}; a vector has 0`) : given,
);

/** Refuse duplicate names. */
export function checkUnique(given: Iterable<string>, where: string): void {
  const seen = new Set<string>();
  for (const name of given) {
    if (seen.has(name)) refuse(`${where}: '${short(name)}' is there twice`);
    seen.add(name);
  }
}

const input: Reader<Input> = made(
  object("input", { name: text, kind: oneOf(...INPUT_KINDS), fit: oneOf(...FITS), value: wholeValue }),
  ({ name, kind, fit, value: given }, where) => {
    if (kind === "numbers") return { name, kind, value: given };
    if (!isMap(given) || given.views.length !== 1 || ![1, 3, 4].includes(given.channels)) {
      refuse(`${where}: a picture is a feature map of 1, 3 or 4 channels in one view`);
    }
    return { name, kind, fit: fit!, value: given };
  },
);

const output = made(
  object("output", {
    name: text,
    purpose: oneOf(...PURPOSES),
    values: counted(1, MAX_VALUES, wholeValue),
    steps: counted(0, MAX_STEPS, object("host_step", { step: oneOf(...HOST_STEPS), columns: integer(...COLUMNS_RANGE) })),
  }),
  (given, where) => {
    const { purpose, values, steps } = given;
    if (purpose === "image" && (values.length > 1 || steps.length || !isMap(values[0]!))) {
      refuse(`${where}: an image is one feature map without host steps`);
    }
    return given;
  },
);

const uniforms = made(counted(0, MAX_UNIFORMS, tuple(identifier, integer(...FLOATS_RANGE))), (given, where) => {
  checkUnique(given.map(([name]) => name), where);
  const odd = given.find(([, floats]) => floats > 4 && floats % 4);
  if (odd) refuse(`${where}: '${short(odd[0])}' has ${odd[1]} numbers; give 1 to 4, or whole vec4s`);
  return new Map(given);
});

const manifest = object("manifest", {
  format: oneOf(FORMAT),
  version: count,
  profile: text,
  name: text,
  inputs: ruled("inputs", counted(1, MAX_INPUTS, input)),
  limits: ruled(
    "limits",
    object("limits", {
      texture_units: integer(...TEXTURE_UNITS_RANGE),
      texture_size: integer(...TEXTURE_SIZE_RANGE),
      fragment_uniform_vectors: integer(...FRAGMENT_UNIFORM_VECTORS_RANGE),
      varying_vectors: integer(...VARYING_VECTORS_RANGE),
      vertex_attributes: integer(...VERTEX_ATTRIBUTES_RANGE),
    }),
  ),
  textures: ruled(
    "textures",
    list(
      object("texture", {
        name: text,
        width: side,
        height: side,
        kind: oneOf(...TEXTURE_KINDS),
        member: text,
        clear: tuple<[...Clear]>(byte, byte, byte, byte),
      }),
    ),
  ),
  programs: ruled(
    "programs",
    list(
      object("program", {
        name: text,
        vertex: text,
        fragment: text,
        samplers: counted(0, MAX_SAMPLERS, identifier),
        varyings: integer(...VARYINGS_RANGE),
        uniforms,
      }),
    ),
  ),
  layers: list(text),
  floats: list(text),
  passes: object("passes", { count: amount, quads: amount }),
  outputs: ruled("outputs", counted(1, MAX_OUTPUTS, output)),
  probe: ruled(
    "probe",
    object("probe", {
      formula: oneOf(PROBE_FORMULA),
      member: text,
      layers: list(
        object("probe_layer", {
          layer: text,
          offset: integer(...OFFSET_RANGE),
          count,
          max_error: noLess,
          mean_error: noLess,
          value,
        }),
      ),
      outputs: list(object("probe_output", { numbers: list(number), max_error: noLess })),
    }),
  ),
  members: mapOf(text),
});

/**
 * Read a manifest from parsed JSON.
 *
 * @throws BundleError a key is missing or unknown, a value has the wrong type or is out of range, or the version
 *     differs.
 */
export function fromJson(data: Json): Manifest {
  checkVersion(data);
  return under("keys", () => manifest(data, "manifest"));
}

/**
 * Check the keys that determine whether this runner can read the others.
 *
 * @throws BundleError the format, version or profile is another.
 */
export function checkVersion(data: Json): void {
  under("version", () => {
    if (!(data instanceof Map) || data.get("format") !== FORMAT) {
      return refuse(`manifest: 'format' is not '${FORMAT}': this is no glsl-infer model; give a *.glslnn file`);
    }
    const version = count(data.get("version") ?? null, "manifest.version");
    if (version !== VERSION) {
      const [reads, advice] =
        version < VERSION
          ? ["version", "export it again"]
          : ["up to", "reload the page, or ask its author to update glsl-infer"];
      refuse(`the model has format version ${version}, this program reads ${reads} ${VERSION}; ${advice}`);
    }
    const profile = text(data.get("profile") ?? null, "manifest.profile");
    if (profile === CPU_PROFILE) {
      const own = "which this runner cannot compute; run it in Python, or export it with --no-delegate";
      refuse(`the model has layers for the CPU (${operators(data)}), ${own}`, "parts");
    }
    if (profile !== PROFILE) {
      refuse(`the model needs profile '${short(profile)}'; this runner has ${PROFILE}; update the runner`);
    }
  });
}

/** Return the names of the operators of CPU parts, without duplicates. */
function operators(data: Json): string {
  const inside = (values: readonly Json[], key: string): Json[] =>
    values.flatMap((value) => (value instanceof Map && value.get(key)) || []);
  const names = inside(inside(inside([data], "parts"), "operators"), "op");
  return [...new Set(names)].join(", ").slice(0, MOST_NAMED);
}
