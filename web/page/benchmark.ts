/** The AI Benchmark: runs the tests that have images, in order, by the rules of docs/engineering/aibench.md. */

import { GlslInfer, type Result } from "glsl-infer";
import table from "../../glsl_infer/tools/aibench/tests.csv";
import { page, say } from "./elements.ts";
import { Pieces } from "./pieces.ts";
import { milliseconds, showOutput, type Place } from "./results.ts";

/**
 * Warm-up runs, excluded from the mean if there are more runs, and the number of runs after which a test ends: few with
 * ?quick.
 */
const WARM_UP = 2;
const MOST = new URLSearchParams(location.search).has("quick") ? 4 : 200;
const TOP = 3;

/** A row of the table of tests. */
export interface Test {
  readonly number: number;
  readonly task: string;
  readonly network: string;
  /** File name of its bundle and of its input image, without suffix. */
  readonly file: string;
  /** Time limit in seconds. */
  readonly limit: number;
  /** Time of a Pixel 2 in milliseconds. */
  readonly reference: number;
  readonly trained: boolean;
}

/** Tests shown by the page. */
export const TESTS: readonly Test[] = testsOf(table);

/** Number of runs started or stopped, by which a run detects that it was cancelled. */
let turn = 0;
let on = false;

/** Return whether a run is active. */
export function isOn(): boolean {
  return on;
}

/** Stop the active run; its results remain. */
export function stop(): void {
  turn += 1;
  on = false;
}

/**
 * Run all tests. A failed test shows its message on its card.
 *
 * @param pictures image files in the page's build.
 * @throws Error the page was built without the networks.
 */
export async function run(pictures: readonly string[]): Promise<void> {
  const there = TESTS.filter(({ file }) => pictures.includes(`${file}.png`));
  if (!there.length) {
    const numbers = TESTS.map(({ number }) => number).join(",");
    throw new Error(
      `This page was built without the networks of the AI Benchmark. Make them, glsl-infer aibench --only ${numbers} ` +
        "--models DIR, which takes TensorFlow and minutes, and build the page with them, make web MODELS=DIR.",
    );
  }
  const mine = ++turn;
  on = true;
  page.tests.replaceChildren();
  page.benchmark.hidden = false;
  page.benchmarkTitle.focus();
  try {
    for (const test of there) {
      const card = cardOf(test);
      page.tests.append(card.element);
      await runTest(test, card, () => mine === turn);
      if (mine !== turn) return;
    }
    const [done, all] = [page.tests.querySelectorAll("article:not(.failed)").length, there.length];
    say(`The AI Benchmark: ${done === all ? "all" : done} of ${all} tests have run.`);
  } finally {
    if (mine === turn) on = false;
  }
}

/** The page elements of a test. */
interface Card extends Place {
  readonly element: HTMLElement;
  readonly before: HTMLCanvasElement;
}

async function runTest(test: Test, card: Card, isWanted: () => boolean): Promise<void> {
  const name = `test ${test.number}, ${test.task}`;
  say(`Running ${name} …`);
  let model: GlslInfer | undefined;
  try {
    const picture = await pictureOf(test);
    card.before.width = picture.width;
    card.before.height = picture.height;
    card.before.getContext("2d")?.drawImage(picture, 0, 0);
    const begun = performance.now();
    model = await GlslInfer.load(`models/${test.file}.glslnn`);
    const pieces = new Pieces(model);
    let output = await frame(pieces, picture);
    const first = performance.now() - begun;
    showOutput(model, output, TOP, card);
    number(card, "first", first);
    const times: number[] = [];
    let took = 0;
    const started = performance.now();
    while (isWanted() && times.length < MOST - 1) {
      if (times.length && performance.now() - started + took > 1000 * test.limit) break;
      const now = performance.now();
      output = await frame(pieces, picture);
      took = performance.now() - now;
      times.push(took);
      if (took > 1000 * test.limit) {
        throw new Error(`An image takes ${(took / 1000).toFixed(1)} s, and the test's limit is ${test.limit} s.`);
      }
      number(card, "mean", meanOf([first, ...times]));
      number(card, "pictures", times.length + 1);
    }
    showOutput(model, output, TOP, card);
  } catch (error) {
    if (!isWanted()) return;
    const why = document.createElement("p");
    why.className = "about wrong";
    why.textContent = error instanceof Error ? error.message : String(error);
    card.element.querySelector(".about")!.after(why);
    card.element.classList.add("failed");
  } finally {
    model?.close();
  }
}

/** Return the mean of times without the first two, or without the first if there are no more. */
export function meanOf(times: readonly number[]): number {
  const counted = times.slice(Math.min(WARM_UP, times.length - 1));
  return counted.reduce((sum, milliseconds) => sum + milliseconds, 0) / counted.length;
}

async function frame(pieces: Pieces, picture: ImageBitmap): Promise<Result> {
  await new Promise((resolve) => setTimeout(resolve)); // keeps the page responsive
  return pieces.run(picture);
}

async function pictureOf({ file }: Test): Promise<ImageBitmap> {
  const response = await fetch(`models/${file}.png`);
  if (!response.ok) throw new Error(`models/${file}.png is missing on this server: build the page again with make web MODELS=DIR.`);
  return createImageBitmap(await response.blob(), { premultiplyAlpha: "none", colorSpaceConversion: "none" });
}

function number({ element }: Card, kind: "mean" | "first" | "pictures", value: number): void {
  element.querySelector<HTMLOutputElement>(`output.${kind}`)!.value = kind === "pictures" ? String(value) : milliseconds(value);
}

/** Create a card from the page's template. */
function cardOf({ number, task, network, reference, trained }: Test): Card {
  const element = (page.test.content.cloneNode(true) as DocumentFragment).querySelector<HTMLElement>("article")!;
  element.querySelector("h3")!.textContent = `${number} ${task}`;
  element.querySelector(".about")!.textContent = `${network}${trained ? "" : ", weights not trained"}`;
  element.querySelector<HTMLOutputElement>("output.reference")!.value = `${reference} ms`;
  const [before, output] = element.querySelectorAll("canvas");
  before!.setAttribute("aria-label", `The image before: ${task}`);
  output!.setAttribute("aria-label", `The image after: ${task}`);
  return { element, before: before!, output: output!, labels: element.querySelector("ol")! };
}

/** Return the tests of the table that the page shows. */
function testsOf(text: string): Test[] {
  const [head, ...lines] = text.trim().split(/\r?\n/).map((line) => line.split(","));
  const rows = lines.map((cells) => Object.fromEntries(cells.map((cell, i) => [head![i]!, cell])) as Record<string, string>);
  return rows
    .filter(({ shown }) => shown === "yes")
    .map(({ number, task, network, width, height, limit, reference, trained }) => ({
      number: Number(number),
      task: task!,
      network: network!,
      file: `${network}-${width}x${height}`,
      limit: Number(limit),
      reference: Number(reference),
      trained: trained === "yes",
    }));
}
