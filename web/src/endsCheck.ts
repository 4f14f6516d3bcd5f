/** Checks that inputs, outputs and the probe of a manifest agree with its textures and with each other. */

import type { Members } from "./container.ts";
import { MAX_NUMBER } from "./formatConstants.ts";
import { classesOf, shapeOfOutput } from "./hostSteps.ts";
import { isFixed, isInside, isMap, isRanged, sizeOfFixed, slicesOf, texturesOf, type Value } from "./layout.ts";
import { member, type ByName } from "./lookup.ts";
import type { Manifest, Output, Texture } from "./manifest.ts";
import { refusalOf, refuse, type Refuse } from "./refusal.ts";

/** Refuse inputs that do not fit their textures, and textures of kind `input` with no input or with two. */
export function checkInputs({ inputs }: Manifest, textures: ByName<Texture>): void {
  const owned = new Set<string>();
  for (const { name, kind, value } of inputs) {
    const fail = refusalOf(`input '${name}'`);
    checkValue(value, fail, textures);
    const plain = kind === "picture" && value.channels !== 4;
    if (plain && value.gutter) fail(`a picture of ${value.channels} channels has a gutter of ${value.gutter}, not 0`);
    for (const texture of texturesOf(value)) {
      const { kind: given, clear } = textures.get(texture)!;
      if (given !== "input") fail(`texture '${texture}' is of kind '${given}', not 'input'`);
      if (owned.size === owned.add(texture).size) fail(`texture '${texture}' belongs to another input too`);
      if (plain && clear!.some(Boolean)) fail(`texture '${texture}' must have 'clear' [0, 0, 0, 0]`);
    }
  }
  for (const { name, kind } of textures.values()) {
    if (kind === "input" && !owned.has(name)) refuse(`texture '${name}' is of kind 'input', but no input lies in it`);
  }
}

/** Refuse outputs that do not fit their textures or purpose, or that no pass draws. */
export function checkOutputs({ outputs }: Manifest, textures: ByName<Texture>, written: Set<string>): void {
  for (const output of outputs) {
    const fail = refusalOf(`output '${output.name}'`);
    for (const value of output.values) {
      checkValue(value, fail, textures);
      checkDrawn(value, fail, (name) => written.has(name));
    }
    const shape = shapeOfOutput(output, fail);
    const possible = { classes: [1], mask: [2, 3], image: [3], values: [0, 1, 2, 3] }[output.purpose];
    if (!possible.includes(shape.length)) {
      fail(`its result has the shape (${shape.join(", ")}); for '${output.purpose}' it has ${possible.join(" or ")} axes`);
    }
  }
  const first = classesOf(outputs);
  const second = first && classesOf(outputs.slice(outputs.indexOf(first) + 1));
  if (second) refuse(`outputs '${first.name}' and '${second.name}' are both for classes; at most one may be`);
}

/** Refuse a probe without one entry for each layer and output, or with missing records. */
export function checkProbe(
  { layers, outputs, probe }: Manifest,
  textures: ByName<Texture>,
  written: Set<string>,
  members: Members,
): void {
  const fail = refusalOf("probe");
  const left = new Set(layers);
  const size = member(probe.member, members);
  for (const { layer, offset, count, value } of probe.layers) {
    const failLayer = refusalOf(`probe: layer '${layer}'`);
    if (!left.delete(layer)) failLayer("it is not drawn, or has two entries");
    checkValue(value, failLayer, textures);
    // Views can be in an input's texture, for a selection or permutation of channels.
    checkDrawn(value, failLayer, (name) => written.has(name) || (!isFixed(value) && textures.get(name)!.kind === "input"));
    if (8 * (offset + count) > size) failLayer("its texels end beyond the member");
  }
  for (const layer of left) fail(`layer '${layer}' has no entry`);
  if (probe.outputs.length !== outputs.length) fail(`${probe.outputs.length} outputs, where the model has ${outputs.length}`);
  outputs.forEach((output, i) => {
    const { length } = probe.outputs[i]!.numbers;
    if (length !== probedNumbers(output)) fail(`${length} numbers of output '${output.name}', not ${probedNumbers(output)}`);
  });
}

/** Return the number of probe values of an output: the length of a single vector, otherwise 0. */
function probedNumbers({ values }: Output): number {
  const [value] = values;
  return values.length === 1 && isFixed(value!) ? value.length : 0;
}

function checkDrawn(value: Value, fail: Refuse, isDrawn: (texture: string) => boolean): void {
  const undrawn = texturesOf(value).find((name) => !isDrawn(name));
  if (undrawn !== undefined) fail(`nothing is drawn into texture '${undrawn}', where it should be`);
}

function checkValue(value: Value, fail: Refuse, textures: ByName<Texture>): void {
  if (isFixed(value)) {
    const [width, height] = sizeOfFixed(value);
    if (!isInside({ x: 0, y: 0 }, { width, height }, textures.get(value.texture))) {
      fail(`its values do not fit texture '${value.texture}'`);
    }
    return;
  }
  if (isRanged(value)) {
    const wrong = [value.scales, value.zeros].some(({ length }) => length !== 1 && length !== value.channels);
    if (wrong) fail(`${value.scales.length} scales, ${value.zeros.length} zeros; give one, or one a channel`);
    const { scales, zeros } = value;
    const isFar = (_: number, c: number): boolean => Math.abs(scales[c] ?? scales[0]!) * (255 + Math.abs(zeros[c] ?? zeros[0]!)) > 255 * MAX_NUMBER;
    if (scales.some(isFar) || zeros.some(isFar)) fail("scales and zeros give values beyond 1e+30");
  }
  const odd = !isRanged(value) && value.channels % 4;
  if (odd || value.views.length !== slicesOf(value.channels, isMap(value) ? 4 : 2)) fail(`${value.views.length} views for ${value.channels} channels`);
  for (const view of value.views) {
    if (!isInside(view, value, textures.get(view.texture))) fail("a view lies outside its texture");
  }
}
