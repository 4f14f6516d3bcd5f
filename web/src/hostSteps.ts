/**
 * Host steps: computations on the CPU with an output after the last pass, the same in every runner.
 *
 * An output starts as a list of arrays. Each step converts them, in doubles, and the last one leaves a single array.
 */

import { same, shapeOf } from "./layout.ts";
import { product, sum } from "./lists.ts";
import type { HostStep, Output } from "./manifest.ts";
import { refuse, type Refuse } from "./refusal.ts";

/** Values in row-major order; a scalar has an empty shape. */
export interface Doubles {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

type Shape = readonly number[];

/** Smallest sum of squares used by `l2-normalize`. */
const MIN_SQUARED_NORM = 1e-12;

/**
 * Return the shape of the result of some steps.
 *
 * @param fail refuses steps that do not fit the shapes of the initial arrays.
 */
export function shapeAfter(steps: readonly HostStep[], shapes: readonly Shape[], fail: Refuse): Shape {
  const remaining = steps.reduce((before, step) => shapesAfter(step, before, fail), shapes);
  if (remaining.length > 1) fail(`${remaining.length} arrays are left after the last step; add 'concatenate'`);
  return remaining[0]!;
}

/** Return the shape of an output's result; the steps of a valid bundle fit. */
export function shapeOfOutput({ steps, values }: Output, fail: Refuse = refuse): Shape {
  return shapeAfter(steps, values.map(shapeOf), fail);
}

/** Return the output for classes. */
export function classesOf(outputs: readonly Output[]): Output | undefined {
  return outputs.find(({ purpose }) => purpose === "classes");
}

/** Return whether the result of an output consists of probabilities. */
export function endsInProbabilities({ steps }: Output): boolean {
  return ["softmax", "sigmoid"].includes(steps[steps.length - 1]?.step ?? "");
}

/** Return the result of steps applied to an output's values. */
export function applySteps(steps: readonly HostStep[], arrays: readonly Doubles[]): Doubles {
  return steps.reduce(apply, arrays)[0]!;
}

function shapesAfter({ step, columns }: HostStep, shapes: readonly Shape[], fail: Refuse): readonly Shape[] {
  if (step === "sigmoid") return shapes;
  if (step === "rows") {
    return shapes.map((shape) => {
      const size = product(shape);
      if (size % columns!) fail(`step 'rows' cannot cut ${size} numbers into rows of ${columns}`);
      return [size / columns!, columns!];
    });
  }
  if (shapes.some((shape) => !shape.length)) fail(`step '${step}' needs an array, and gets a single number`);
  if (step === "argmax") return shapes.map((shape) => shape.slice(0, -1));
  if (step !== "concatenate") return shapes;
  const otherAxes = shapes[0]!.slice(1);
  if (!shapes.every((shape) => same(shape.slice(1), otherAxes))) {
    fail(`step 'concatenate' joins arrays that differ in the first axis only, not ${JSON.stringify(shapes)}`);
  }
  return [[sum(shapes, (shape) => shape[0]!), ...otherAxes]];
}

function apply(arrays: readonly Doubles[], entry: HostStep): readonly Doubles[] {
  const { step } = entry;
  const shapes = shapesAfter(entry, arrays.map(({ shape }) => shape), refuse);
  if (step === "concatenate") {
    const data = new Float64Array(product(shapes[0]!));
    let at = 0;
    for (const array of arrays) {
      data.set(array.data, at);
      at += array.data.length;
    }
    return [{ shape: shapes[0]!, data }];
  }
  return arrays.map(({ shape, data }, k) => ({ shape: shapes[k]!, data: computed(step, data, shape[shape.length - 1]!) }));
}

/** Return the result of a step for an array with a last axis of that length. */
function computed(step: HostStep["step"], data: Float64Array, length: number): Float64Array {
  if (step === "rows") return data;
  if (step === "sigmoid") return data.map((x) => 1 / (1 + Math.exp(-x)));
  const lines = data.length / length;
  const result = new Float64Array(step === "argmax" ? lines : data.length);
  for (let line = 0; line < lines; line++) {
    const before = data.subarray(line * length, (line + 1) * length);
    if (step === "argmax") result[line] = indexOfLargest(before);
    else result.set(step === "softmax" ? softmax(before) : normalized(before), line * length);
  }
  return result;
}

/** Return probabilities: not negative, with a sum of 1. */
export function softmax(numbers: ArrayLike<number>): Float64Array {
  const largest = numbers[indexOfLargest(numbers)] ?? 0;
  const powers = Float64Array.from(numbers, (number) => Math.exp(number - largest));
  const total = sum(powers, Number);
  return powers.map((power) => power / total);
}

/** Return the index of the largest value, the first of equal ones. */
function indexOfLargest(numbers: ArrayLike<number>): number {
  let at = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i]! > numbers[at]!) at = i;
  return at;
}

function normalized(numbers: Float64Array): Float64Array {
  const length = Math.sqrt(Math.max(sum(numbers, (x) => x * x), MIN_SQUARED_NORM));
  return numbers.map((x) => x / length);
}
