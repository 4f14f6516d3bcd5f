/** Comparison of three runners on the same pixels, in turn: the library, tfjs on the GPU, and tfjs on the CPU. */

import type { GlslInfer } from "glsl-infer";
import { page, say } from "./elements.ts";
import { kilobytes, median, milliseconds, showOutput, type Place } from "./results.ts";
import { Runner, type Answer, type Pixels, type RunnerName } from "./runners.ts";

const TOP = 3;
const TITLES: Record<RunnerName, string> = {
  "glsl-infer": "glsl-infer",
  webgl: "tfjs on the GPU",
  wasm: "tfjs on the CPU",
};

/** Description of the tfjs build; without a version if npm did not provide it. */
interface TfjsBuild {
  readonly version: string | null;
  /** Model files available in tfjs's format. */
  readonly models: readonly string[];
}

/** A runner and its page elements. */
interface Card extends Place {
  readonly name: RunnerName;
  readonly runner: Runner;
  readonly element: HTMLElement;
  /** Times of all frames in milliseconds. */
  readonly times: number[];
}

/** Cards of the active comparison. */
let running: readonly Card[] | undefined;

/** Return whether a comparison is active. */
export function isOn(): boolean {
  return running !== undefined;
}

/** Stop the active comparison; its results remain. */
export function stop(): void {
  running?.forEach(({ runner }) => runner.close());
  running = undefined;
}

/** Hide the section, because its results are for another model or image. */
export function clear(): void {
  stop();
  page.comparison.hidden = true;
  page.runners.replaceChildren();
}

/**
 * Run all runners on the same pixels in each round, until there are no more pixels or `stop` is called.
 *
 * @param model provides the labels; the runners load the file themselves.
 * @param file name of the model in the page's list.
 * @param nextPixels returns the pixels of a round, or undefined at the end.
 * @throws Error the page's build is incomplete.
 */
export async function run(model: GlslInfer, file: string, nextPixels: () => Promise<Pixels | undefined>): Promise<void> {
  clear();
  const cards = (Object.keys(TITLES) as RunnerName[]).map((name) => cardOf(name, file));
  const mine = (running = cards);
  page.runners.replaceChildren(...cards.map(({ element }) => element));
  page.comparison.hidden = false;
  page.comparisonTitle.focus();

  const able = new Set(cards);
  function drop(card: Card, why: string): void {
    able.delete(card);
    card.runner.close();
    describe(card, why, true);
  }

  try {
    const lack = lackOf(await tfjsBuild(), file);
    if (lack) cards.filter(({ name }) => name !== "glsl-infer").forEach((card) => drop(card, lack));
    for (let pixels = await nextPixels(); pixels && running === mine; pixels = await nextPixels()) {
      for (const card of able) {
        if (!card.times.length) say(`Comparing: ${TITLES[card.name]} begins …`);
        try {
          const answer = await card.runner.run(pixels);
          if (running === mine) show(model, card, answer);
        } catch (error) {
          if (running !== mine) return;
          drop(card, (error as Error).message);
        }
      }
    }
  } finally {
    if (running === mine) stop();
  }
}

async function tfjsBuild(): Promise<TfjsBuild> {
  const response = await fetch("tfjs.json", { cache: "no-cache" }); // the page could have been rebuilt in the meantime
  if (!response.ok) throw new Error("tfjs.json is missing on this server: build the page again with make web.");
  return (await response.json()) as TfjsBuild;
}

/** Return the reason why tfjs cannot run a model; an empty text if it can. */
function lackOf({ version, models }: TfjsBuild, file: string): string {
  if (version === null) {
    return "tfjs is missing: npm could not fetch it when this page was built. Build it again, make web, where npm's registry can be reached.";
  }
  return models.includes(file) ? "" : `tfjs cannot run ${file}: it has a layer that the build of this page does not convert.`;
}

function show(model: GlslInfer, card: Card, { output, milliseconds: took, about, bytes }: Answer): void {
  showOutput(model, output, TOP, card);
  card.times.push(took);
  const [first = 0, ...frames] = card.times;
  if (frames.length) number(card, "frame").value = milliseconds(median(frames));
  else {
    describe(card, about);
    number(card, "first").value = `${Math.round(first)} ms`;
    number(card, "bytes").value = kilobytes(bytes);
  }
}

function describe({ element }: Card, text: string, wrong = false): void {
  const about = part<HTMLElement>(element, ".about");
  about.textContent = text;
  about.classList.toggle("wrong", wrong);
}

function number({ element }: Card, kind: "frame" | "first" | "bytes"): HTMLOutputElement {
  return part(element, `output.${kind}`);
}

/** Create a card from the page's template. */
function cardOf(name: RunnerName, file: string): Card {
  const element = part<HTMLElement>(page.runner.content.cloneNode(true) as DocumentFragment, "article");
  part(element, "h3").textContent = TITLES[name];
  const output = part<HTMLCanvasElement>(element, "canvas");
  output.setAttribute("aria-label", `The image that ${TITLES[name]} makes`);
  return { name, runner: new Runner(name, file), element, labels: part(element, "ol"), output, times: [] };
}

/** Return an element of a card, which the template always has. */
function part<T extends Element>(of: ParentNode, selector: string): T {
  return of.querySelector(selector) as T;
}
