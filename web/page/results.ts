/** Results in the page: labels with bars or an output image, and the speed. */

import { toPicture, type GlslInfer, type Result, type Results, type Tensor } from "glsl-infer";
import { page } from "./elements.ts";

/** Largest number of labels or objects shown. */
export const TOP = 5;
/** Number of frames of the displayed median time. */
const RECENT = 31;

/** End and duration of the latest frames, in milliseconds. */
const recent: { end: number; took: number }[] = [];
let frames = 0;

/** Show the outputs of a frame and its time in milliseconds. */
export function show(model: GlslInfer, outputs: Results, took: number): void {
  showOutput(model, shownOf(outputs), TOP, page);
  count(took);
}

/** A found object, with a value from 0 to 1. */
export interface Row {
  readonly text: string;
  readonly part?: number;
}

/** Show the found objects. */
export function showRows(rows: readonly Row[]): void {
  page.labels.replaceChildren(...rows.map(({ text, part }) => (part === undefined ? textRow(text) : labelRow(text, part))));
}

/** Record the time of a frame in milliseconds. */
export function count(took: number): void {
  page.nothing.hidden = true;
  frames += 1;
  recent.push({ end: performance.now(), took });
  if (recent.length > RECENT) recent.shift();
  page.time.value = milliseconds(median(recent.map(({ took }) => took)));
  const span = recent[recent.length - 1]!.end - recent[0]!.end;
  page.rate.value = recent.length > 1 ? ((1000 * (recent.length - 1)) / span).toFixed(1) : "–";
  page.frames.value = String(frames);
}

/** Return the output to show: that with labels, otherwise the first image, otherwise the first. */
export function shownOf(outputs: Results): Result {
  const all = Object.values(outputs);
  const best = (["classes", "image", "mask"] as const).map((purpose) => all.find((result) => result.purpose === purpose));
  return best.find(Boolean) ?? all[0]!;
}

/** Clear times and labels, for another model or source. */
export function reset(): void {
  recent.length = 0;
  frames = 0;
  page.labels.replaceChildren();
  page.output.hidden = true;
  page.nothing.hidden = false;
  page.time.value = page.rate.value = "–";
  page.frames.value = "0";
}

/** Elements for an output: a list for labels, a canvas for an image. */
export interface Place {
  readonly labels: HTMLOListElement;
  readonly output: HTMLCanvasElement;
}

/** Show the `top` labels with bars, the output image, or the number of values of another output. */
export function showOutput(model: GlslInfer, output: Tensor, top: number, place: Place): void {
  const { shape, data } = output;
  if (model.labels.length) return place.labels.replaceChildren(...model.rank(data, top).map((prediction) => labelRow(prediction.label, prediction.probability)));
  const channels = shape[2] ?? 1;
  const drawn = (shape.length === 2 || shape.length === 3) && (channels === 1 || channels === 3);
  place.output.hidden = !drawn;
  if (drawn) return showPicture(toPicture(model.session, output), place.output);
  const row = document.createElement("li");
  row.append(span(`${shape.join(" × ") || "1"} numbers`), span(`${data[0]!.toPrecision(4)}${data.length > 1 ? " …" : ""}`));
  place.labels.replaceChildren(row);
}

function textRow(text: string): HTMLLIElement {
  const row = document.createElement("li");
  row.append(span(text));
  return row;
}

function labelRow(label: string, probability: number): HTMLLIElement {
  const row = document.createElement("li");
  row.style.setProperty("--part", `${100 * probability}%`);
  row.append(span(label), span(`${(100 * probability).toFixed(1)} %`));
  return row;
}

function showPicture(picture: ImageData, canvas: HTMLCanvasElement): void {
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext("2d")?.putImageData(picture, 0, 0);
  canvas.hidden = false;
}

/** Return the median, the upper one for an even count. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;
}

/** Format a time, with at most four digits up to ten seconds, so that three fit in a row. */
export function milliseconds(time: number): string {
  return `${time.toFixed(time < 1000 ? 1 : 0)} ms`;
}

/** Format a number of bytes. */
export function kilobytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function span(text: string): HTMLSpanElement {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}
