/**
 * Strict reader of the manifest: refuses violations of its description, and of rules between the fields of an object.
 */

import { describedBy } from "./described.ts";
import { COUNT_RANGE, CPU_PROFILE, FORMAT, NAME, OBJECTS, PROFILE, TYPES, VERSION } from "./formatConstants.ts";
import { isFixed, isMap, type Value, type View } from "./layout.ts";
import type { Input, Manifest, Output } from "./manifest.ts";
import { refuse, short, under } from "./refusal.ts";
import type { Json } from "./strictJson.ts";

/** Characters of a list of operators in a message. */
const MOST_NAMED = 400;

/** Refuse duplicate names. */
export function checkUnique(names: Iterable<string>, where: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) refuse(`${where}: '${short(name)}' is there twice`);
    seen.add(name);
  }
}

/** Results for objects and types, after a check of their rules. */
export const MAKE = {
  value: (fields: object) => ({
    kind: "gutter" in fields ? "map" : "bits" in fields ? "fineMap" : "views" in fields ? "fixedMap" : "fixed",
    ...fields,
  }),
  view: ([texture, x, y]: [string, number, number]): View => ({ texture, x, y }),
  whole_value: (fields: Value, where: string) =>
    isFixed(fields) && fields.columns ? refuse(`${where}: 'columns' is ${fields.columns}; a vector has 0`) : fields,
  input: (fields: Input, where: string) => {
    const { kind, value } = fields;
    if (kind === "picture" && (!isMap(value) || value.views.length !== 1 || ![1, 3, 4].includes(value.channels))) {
      refuse(`${where}: a picture is a feature map of 1, 3 or 4 channels in one view`);
    }
    return fields;
  },
  output: (fields: Output, where: string) => {
    const { purpose, values, steps } = fields;
    if (purpose === "image" && (values.length > 1 || steps.length || !isMap(values[0]!))) {
      refuse(`${where}: an image is one feature map without host steps`);
    }
    return fields;
  },
  program: (fields: { uniforms: [string, number][] }, where: string) => {
    checkUnique(fields.uniforms.map(([name]) => name), where);
    const odd = fields.uniforms.find(([, floats]) => floats > 4 && floats % 4);
    if (odd) refuse(`${where}: '${short(odd[0])}' has ${odd[1]} numbers; give 1 to 4, or whole vec4s`);
    return { ...fields, uniforms: new Map(fields.uniforms) };
  },
};

const read = describedBy(OBJECTS, TYPES, MAKE);

/**
 * Read a manifest from parsed JSON.
 *
 * @throws BundleError a key is missing or unknown, a value has the wrong type or is out of range, or the version
 *     differs.
 */
export function fromJson(data: Json): Manifest {
  checkVersion(data);
  return under("keys", () => read("manifest", data, "manifest"));
}

/**
 * Check the keys that determine whether this runner can read the others.
 *
 * @throws BundleError the format, version or profile is another.
 */
export function checkVersion(data: Json): void {
  under("version", () => {
    if (!(data instanceof Map) || data.get("format") !== FORMAT) {
      return refuse(`manifest: 'format' is not '${FORMAT}': this is not a glsl-infer model; give a *.glslnn file`);
    }
    const version = read(COUNT_RANGE, data.get("version") ?? null, "manifest.version");
    if (version !== VERSION) {
      const [reads, advice] =
        version < VERSION
          ? ["version", "export it again"]
          : ["up to", "reload the page, or ask its author to update glsl-infer"];
      refuse(`the model has format version ${version}, this program reads ${reads} ${VERSION}; ${advice}`);
    }
    const profile = read(NAME, data.get("profile") ?? null, "manifest.profile");
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
