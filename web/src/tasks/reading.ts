/** Strict reader of task files, which are the same as in Python, by their description. */

import { InputError } from "glsl-infer";
import { describedBy } from "../described.ts";
import { parse } from "../strictJson.ts";
import { sizesOf, type Level } from "./anchors.ts";
import type { ClassificationRules, Description, DetectionRules, LandmarkRules, Region, SegmentationRules } from "./description.ts";
import { OBJECTS, TYPES } from "./format.ts";

const KINDS = ["detection", "landmarks", "segmentation", "classification"];

/** A task as in its file: its rules, and the keys of all tasks. */
type Fields<Rules> = Rules & { readonly what: string; readonly model: string };

interface LevelFields {
  readonly stride?: number;
  readonly cells?: readonly [number, number];
  readonly sizes?: readonly [number, number][];
  readonly scale?: number;
  readonly aspects: readonly number[];
}

const read = describedBy(OBJECTS, TYPES, {
  detection: (fields: Fields<DetectionRules>) => {
    const { lines, body = [], points } = fields;
    if (body.length % 2 || body.length > 2) throw new Error("'body' needs two points: the middle and one on the circle");
    const wrong = [...lines, body].flat().find((index) => index >= points.length);
    if (wrong !== undefined) throw new Error(`'lines' or 'body' has the point ${wrong}; 'points' has names for ${points.length}`);
    return fields;
  },
  level: ({ stride, cells, sizes, scale, aspects }: LevelFields, where: string): Level => {
    if ((stride === undefined) === (cells === undefined)) {
      throw new Error(`${where} needs 'stride' in pixels, or 'cells': [rows, columns]`);
    }
    if ((sizes === undefined) === (scale === undefined)) {
      throw new Error(`${where} needs 'sizes', [width, height] of each box of a cell, or 'scale'`);
    }
    return { ...(cells ? { cells } : { stride: stride! }), sizes: sizes ?? sizesOf(scale!, aspects) };
  },
  landmarks: (fields: Fields<LandmarkRules> & { attributes: ReadonlyMap<string, string> }) => {
    if (fields.fine.some(({ length }) => length !== 2)) throw new Error("'fine' needs pairs of points");
    return { ...fields, attributes: Object.fromEntries(fields.attributes) };
  },
  region: (fields: Region, where: string) => {
    const { from = [], to = [], points = [] } = fields;
    if (!from.length !== !to.length) throw new Error(`${where} needs 'from' and 'to', or neither for upright cuts`);
    return { ...fields, from, to, points };
  },
  segmentation: (fields: Fields<SegmentationRules>) => {
    const [begin, end] = fields.edge;
    if (begin >= end) throw new Error(`'edge' is [${begin}, ${end}]; the second number must be the larger one`);
    return fields;
  },
});

/**
 * Read a task.
 *
 * @param name name of its file, without suffix.
 * @param text content of the file.
 * @throws InputError with the key that is missing, unknown or wrong.
 */
export function readTask(name: string, text: string): Description {
  try {
    const data = parse(text);
    const kind = data instanceof Map ? data.get("task") : undefined;
    if (typeof kind !== "string" || !KINDS.includes(kind)) throw new Error(`'task' needs one of ${KINDS.join(", ")}`);
    const { what, model, ...rules } = read(kind, data, "the task") as Fields<
      DetectionRules | LandmarkRules | SegmentationRules | ClassificationRules
    >;
    return { name, what: what || name, model, rules };
  } catch (error) {
    throw new InputError(`${name}.json: ${(error as Error).message}; task-files.md has all keys`);
  }
}
