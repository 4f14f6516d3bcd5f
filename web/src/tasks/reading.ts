/** Strict reader of task files, which are the same as in Python. */

import { InputError } from "glsl-infer";
import { sizesOf, type Level } from "./anchors.ts";
import type { Activation } from "./boxes.ts";
import type { Description, DetectionRules, LandmarkRules, Lines, Region, Rules, SegmentationRules } from "./description.ts";

const ACTIVATIONS = ["sigmoid", "softmax", "none"] as const;
const KINDS = ["detection", "landmarks", "segmentation", "classification"] as const;
const MOST_POINTS = 1 << 14;

/**
 * Read a task.
 *
 * @param name name of its file, without suffix.
 * @param text content of the file.
 * @throws InputError with the key that is missing, unknown or wrong.
 */
export function readTask(name: string, text: string): Description {
  try {
    const fields = new Fields(JSON.parse(text), "the task");
    const task = fields.word("task", KINDS);
    const what = fields.has("what") ? fields.text("what") : name;
    const model = fields.text("model");
    const rules: Rules =
      task === "detection"
        ? detection(fields)
        : task === "landmarks"
          ? landmarks(fields)
          : task === "segmentation"
            ? segmentation(fields)
            : { task, top: fields.whole("top", 1, 1000, 5) };
    fields.done();
    return { name, what, model, rules };
  } catch (error) {
    throw new InputError(`${name}.json: ${(error as Error).message}; task-files.md has all keys`);
  }
}

function detection(fields: Fields): DetectionRules {
  const points = fields.has("points") ? fields.texts("points") : [];
  const body = fields.has("body") ? fields.indices("body", points.length) : undefined;
  if (body && body.length !== 2) throw new Error("'body' needs two points: the middle and one on the circle");
  const rules = {
    task: "detection" as const,
    boxes: fields.texts("boxes"),
    scores: fields.texts("scores"),
    anchors: fields.list("anchors").map((level, i) => levelOf(new Fields(level, `'anchors'[${i}]`))),
    units: fields.numbers("units", 4, [1, 1, 1, 1], 1e-9),
    order: fields.word("order", ["xywh", "yxhw"] as const, "xywh"),
    sizes: fields.word("sizes", ["linear", "exponential"] as const, "linear"),
    labels: fields.has("labels") ? fields.texts("labels") : [""],
    background: fields.truth("background", false),
    activation: fields.word("activation", ACTIVATIONS, "sigmoid"),
    threshold: fields.number("threshold", 0, 1, 0.5),
    overlap: fields.number("overlap", 0, 1, 0.3),
    merge: fields.word("merge", ["weighted", "best"] as const, "weighted"),
    exclusive: fields.truth("exclusive", false),
    most: fields.whole("most", 1, 1000, 100),
    points,
    lines: lines(fields, "lines", points.length),
    ...(body && { body }),
  };
  fields.number("turned", 0, 1, 0); // for single photographs, on the command line
  if (!rules.anchors.length) throw new Error("'anchors' is empty; give a group for each feature map");
  return rules;
}

function levelOf(fields: Fields): Level {
  if (fields.has("stride") === fields.has("cells")) {
    throw new Error(`${fields.where} needs 'stride' in pixels, or 'cells': [rows, columns]`);
  }
  const grid = fields.has("stride")
    ? { stride: fields.whole("stride", 1, 4096) }
    : { cells: pair(fields.numbers("cells", 2, undefined, 1)) };
  const sizes = fields.has("scale")
    ? sizesOf(fields.number("scale", 1e-6), fields.has("aspects") ? fields.numbers("aspects", 0, undefined, 1e-3) : [1])
    : fields.list("sizes").map((size, i) => pair(numbersOf(size, `${fields.where}: 'sizes'[${i}]`, 2, 1e-6)));
  if (!sizes.length) throw new Error(`${fields.where} has no sizes; give [width, height] of each box of a cell`);
  fields.done();
  return { ...grid, sizes };
}

function landmarks(fields: Fields): LandmarkRules {
  const attributes = fields.has("attributes") ? new Fields(fields.any("attributes"), "'attributes'") : undefined;
  return {
    task: "landmarks",
    detector: fields.text("detector"),
    cut: region(new Fields(fields.any("cut"), "'cut'")),
    ...(fields.has("follow") && { follow: region(new Fields(fields.any("follow"), "'follow'")) }),
    points: fields.text("points"),
    dimensions: fields.whole("dimensions", 2, 16, 2),
    ...(fields.has("unit") && { unit: fields.number("unit", 1e-9) }),
    ...(fields.has("presence") && { presence: fields.text("presence") }),
    activation: fields.word("activation", ["sigmoid", "none"] as const, "sigmoid") as Activation,
    threshold: fields.number("threshold", 0, 1, 0.5),
    most: fields.whole("most", 1, 100, 4),
    attributes: Object.fromEntries(attributes?.keys().map((key) => [key, attributes.text(key)]) ?? []),
    lines: lines(fields, "lines", MOST_POINTS),
    fine: lines(fields, "fine", MOST_POINTS, 2),
  };
}

function segmentation(fields: Fields): SegmentationRules {
  const edge = pair(fields.numbers("edge", 2, [0.3, 0.7], 0));
  if (edge[0] >= edge[1]) throw new Error(`'edge' is [${edge.join(", ")}]; the second number must be the larger one`);
  const activation = fields.word("activation", ACTIVATIONS, "none");
  return { task: "segmentation", mask: fields.text("mask"), activation, channel: fields.whole("channel", 0, 4095, 0), edge };
}

function region(fields: Fields): Region {
  const indices = (key: string): number[] => (fields.has(key) ? fields.indices(key, MOST_POINTS) : []);
  const found = {
    from: indices("from"),
    to: indices("to"),
    direction: fields.number("direction", -Infinity, Infinity, 0),
    points: indices("points"),
    scale: fields.number("scale", 0.01, Infinity, 1.5),
    shift: pair(fields.numbers("shift", 2, [0, 0])),
    square: fields.truth("square", true),
  };
  if (!found.from.length !== !found.to.length) {
    throw new Error(`${fields.where} needs 'from' and 'to', or neither for cuts that stand upright`);
  }
  fields.done();
  return found;
}

function lines(fields: Fields, key: string, most: number, length = 0): Lines {
  if (!fields.has(key)) return [];
  return fields.list(key).map((line, i) => indicesOf(line, `'${key}'[${i}]`, most, length));
}

function pair(numbers: readonly number[]): [number, number] {
  return [numbers[0]!, numbers[1]!];
}

function numbersOf(value: unknown, where: string, length: number, least = -Infinity): number[] {
  if (!Array.isArray(value)) throw new Error(`${where} is no list`);
  if (length && value.length !== length) throw new Error(`${where} has ${value.length} entries, not ${length}`);
  value.forEach((number, i) => {
    if (typeof number !== "number" || !Number.isFinite(number) || number < least) {
      throw new Error(`${where}[${i}] is ${JSON.stringify(number)}, not a number${least > -Infinity ? ` from ${least} on` : ""}`);
    }
  });
  return value as number[];
}

function indicesOf(value: unknown, where: string, most: number, length = 0): number[] {
  const found = numbersOf(typeof value === "number" ? [value] : value, where, length);
  if (!found.length || !most) throw new Error(`${where} needs points by their indices, and 'points' to have names for them`);
  const wrong = found.find((index) => !Number.isInteger(index) || index < 0 || index >= most);
  if (wrong !== undefined) throw new Error(`${where} names ${wrong}; there are points from 0 to ${most - 1}`);
  return found;
}

/** Keys of an object; each is read once, and others are refused. */
class Fields {
  private readonly _left: Map<string, unknown>;

  constructor(
    value: unknown,
    readonly where: string,
  ) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${where} is no object`);
    this._left = new Map(Object.entries(value));
  }

  keys(): string[] {
    return [...this._left.keys()];
  }

  has(key: string): boolean {
    return this._left.has(key);
  }

  any(key: string): unknown {
    if (!this.has(key)) throw new Error(`${this.where}: '${key}' is missing`);
    const value = this._left.get(key);
    this._left.delete(key);
    return value;
  }

  done(): void {
    const [unknown] = this._left.keys();
    if (unknown !== undefined) throw new Error(`${this.where} has an unknown key '${unknown}'`);
  }

  text(key: string): string {
    const value = this.any(key);
    if (typeof value !== "string") throw new Error(`'${key}' is ${JSON.stringify(value)}, not a text`);
    return value;
  }

  word<T extends string>(key: string, allowed: readonly T[], otherwise?: T): T {
    if (otherwise !== undefined && !this.has(key)) return otherwise;
    const value = this.any(key);
    if (!allowed.includes(value as T)) {
      throw new Error(`'${key}' is ${JSON.stringify(value)}; give one of ${allowed.join(", ")}`);
    }
    return value as T;
  }

  list(key: string): unknown[] {
    const value = this.any(key);
    if (!Array.isArray(value)) throw new Error(`'${key}' is no list`);
    return value;
  }

  /** A text, or a list of texts. */
  texts(key: string): string[] {
    const value = this.any(key);
    const found = typeof value === "string" ? [value] : value;
    if (!Array.isArray(found) || !found.length || !found.every((one) => typeof one === "string")) {
      throw new Error(`'${key}' needs texts, one at least`);
    }
    return found;
  }

  truth(key: string, otherwise: boolean): boolean {
    if (!this.has(key)) return otherwise;
    const value = this.any(key);
    if (typeof value !== "boolean") throw new Error(`'${key}' is ${JSON.stringify(value)}, not true or false`);
    return value;
  }

  number(key: string, least = -Infinity, most = Infinity, otherwise?: number): number {
    if (otherwise !== undefined && !this.has(key)) return otherwise;
    const value = this.any(key);
    if (typeof value !== "number" || !(value >= least && value <= most) || !Number.isFinite(value)) {
      const range = most < Infinity ? ` from ${least} to ${most}` : least > -Infinity ? ` from ${least} on` : "";
      throw new Error(`'${key}' is ${JSON.stringify(value)}, not a number${range}`);
    }
    return value;
  }

  whole(key: string, least: number, most: number, otherwise?: number): number {
    const value = this.number(key, least, most, otherwise);
    if (!Number.isInteger(value)) throw new Error(`'${key}' is ${value}, not a whole number`);
    return value;
  }

  numbers(key: string, length: number, otherwise?: readonly number[], least?: number): number[] {
    if (otherwise && !this.has(key)) return [...otherwise];
    return numbersOf(this.any(key), `'${key}'`, length, least);
  }

  indices(key: string, most: number): number[] {
    return indicesOf(this.any(key), `'${key}'`, most);
  }
}
