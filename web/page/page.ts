/** The demo page: a task or a model, a camera or a picture, and what comes out. */

import type { LayerError } from "glsl-infer";
import type { MaskLook } from "glsl-infer/tasks";
import * as benchmark from "./benchmark.ts";
import * as camera from "./camera.ts";
import * as choices from "./choices.ts";
import { compare } from "./comparing.ts";
import * as comparison from "./comparison.ts";
import { complain, page, say } from "./elements.ts";
import * as layerPictures from "./layerPictures.ts";
import * as results from "./results.ts";
import { kilobytes } from "./results.ts";
import { openModel, openWork, type Work } from "./works.ts";

/** Longest side to which a chosen picture is drawn in the page; the network reads all of its pixels. */
const MOST_SHOWN = 1024;

/** What is done with pictures, and what the lists show of it. */
let work: Work | undefined;
let used: Parameters<typeof choices.show>[0] = {};
/** The picture that was chosen last, as its file has it. */
let picture: ImageBitmap | undefined;
/** Counts the works and the films that were begun, so that what takes long notices that another is wanted. */
let turn = 0;
let film = 0;

async function main(): Promise<void> {
  await choices.load();
  page.task.addEventListener("change", () => void attempt(chooseTask));
  page.model.addEventListener("change", () => void attempt(() => useModel(page.model.value)));
  page.look.addEventListener("change", () => void attempt(again));
  page.camera.addEventListener("click", () => void attempt(camera.isOn() ? stopCamera : startCamera));
  page.file.addEventListener("change", () => void attempt(() => open(page.file.files)));
  page.samples.addEventListener("click", (event) => void attempt(() => openSample(event.target as Element)));
  page.layers.addEventListener("click", () => void attempt(showLayers));
  page.compare.addEventListener("click", () => void attempt(comparison.isOn() ? comparison.stop : compareRunners));
  page.check.addEventListener("click", () => void attempt(check));
  page.bench.addEventListener("click", () => void attempt(benchmark.isOn() ? benchmark.stop : runBenchmark));
  for (const kind of ["dragenter", "dragover"] as const) document.addEventListener(kind, over);
  for (const kind of ["dragleave", "drop"] as const) document.addEventListener(kind, (event) => over(event, false));
  document.addEventListener("drop", (event) => void attempt(() => open(event.dataTransfer?.files)));
  await useModel(page.model.value);
  await navigator.serviceWorker?.register("sw.js").catch(() => {}); // the page works without, but not without a network
}

/** Do something, and say in the page what went wrong. */
async function attempt(action: () => Promise<void> | void): Promise<void> {
  try {
    await action();
  } catch (error) {
    complain(error);
  }
}

function over(event: DragEvent, inside = true): void {
  event.preventDefault(); // else the browser leaves the page to show the file
  page.stage.classList.toggle("over", inside);
}

async function chooseTask(): Promise<void> {
  try {
    const chosen = choices.task();
    if (!chosen) return await useModel(page.model.value === "own" ? page.model.options[0]!.value : page.model.value);
    const { value } = page.task;
    await use(chosen.name, { task: value }, () =>
      openWork(chosen.address, choices.taskModels(), () => page.look.value as MaskLook),
    );
  } catch (error) {
    choices.show(used); // what was used goes on
    throw error;
  }
}

/** Load a model, by address or from a file. */
function useModel(source: string | File): Promise<void> {
  const name = typeof source === "string" ? source.replace(/.*\//, "") : source.name;
  const listed = typeof source === "string" ? name : undefined;
  return use(name, listed === undefined ? { own: name } : { listed }, () => openModel(source, name, listed));
}

/** Load something, and go on with what is shown; what cannot be used changes nothing. */
async function use(name: string, shown: typeof used, load: () => Promise<Work>): Promise<void> {
  const mine = ++turn;
  enable(false);
  say(`Loading ${name} …`);
  const begun = performance.now();
  try {
    const loaded = await load();
    if (mine !== turn) return loaded.close(); // another was chosen meanwhile
    work?.close();
    work = loaded;
    used = shown;
    describe(loaded, name, performance.now() - begun);
    forget();
    arrangeStage();
    say("Ready.");
  } finally {
    if (mine === turn) {
      enable(work !== undefined);
      if (work) choices.show(used);
    }
  }
  if (!picture || camera.isOn()) return;
  drawPicture(picture); // the other may read another part of it
  await frame(picture);
}

function describe({ models }: Work, name: string, milliseconds: number): void {
  const counts = models.map(({ session }) => {
    const { passes, programs, textureBytes } = session.statistics();
    const { width, height } = session.picture.value;
    return (
      `${kilobytes(session.bundle.bytes)}, reads ${width} × ${height} pixels; ` +
      `${programs} programs, ${passes} draws a frame, ${kilobytes(textureBytes)} of textures`
    );
  });
  const renderer = models[0]?.session.context.renderer;
  page.about.textContent = `${name}: ${counts.join("; and ")}; ready in ${Math.round(milliseconds)} ms on ${renderer}`;
}

/** Take away what belongs to another model or another picture. */
function forget(): void {
  comparison.clear();
  layerPictures.clear();
  results.reset();
}

/** Enable what can be used: with a model, or without. */
function enable(ready: boolean): void {
  page.file.disabled = false; // it takes models, too
  page.camera.disabled = !ready && !camera.isOn();
  page.check.disabled = !ready;
  page.bench.disabled = !ready;
  page.layers.disabled = page.compare.disabled = !ready || !work?.model || !(camera.isOn() || picture);
  page.compare.disabled ||= work?.draws === true;
}

/** Show the film, the picture, or the hint that there is neither; a work that draws shows frames as pictures. */
function arrangeStage(): void {
  const filmed = camera.isOn();
  page.video.hidden = !filmed || work?.draws === true;
  page.picture.hidden = filmed ? page.video.hidden === false : !picture;
  page.hint.hidden = filmed || picture !== undefined;
}

async function startCamera(): Promise<void> {
  say("Waiting for the camera …");
  await camera.start();
  picture?.close();
  picture = undefined;
  forget();
  press(null);
  page.labels.ariaLive = "off"; // ten times a second is too much to be read out
  arrangeStage();
  page.camera.textContent = "Stop camera";
  enable(true);
  say("The camera is on.");
  await watch();
}

function stopCamera(): void {
  film += 1;
  comparison.stop();
  camera.stop();
  arrangeStage();
  page.camera.textContent = "Start camera";
  results.reset();
  enable(true);
  say("The camera is off.");
}

/** Look at the camera's frames until it is stopped. */
async function watch(): Promise<void> {
  const mine = ++film;
  for (;;) {
    await camera.nextFrame();
    if (mine !== film) return;
    const lost = work?.models[0]?.session.context.isLost;
    if (lost) say("The browser has taken the graphics context away; waiting for it …");
    await frame(page.video);
    if (lost) say("The graphics context is back.");
  }
}

/** Look at a picture, and show what comes out, unless another work or film was begun meanwhile. */
async function frame(source: ImageBitmap | HTMLVideoElement): Promise<void> {
  const [mine, shown] = [work, film];
  if (!mine) return;
  const begun = performance.now();
  try {
    const show = await mine.run(source);
    if (mine === work && shown === film) show(performance.now() - begun);
  } catch (error) {
    if (mine === work && shown === film) throw error; // else the model is closed, or the camera is off
  }
}

/** Look at the picture once more; a film comes to it by itself. */
async function again(): Promise<void> {
  if (picture && !camera.isOn()) await frame(picture);
}

/** Open the picture of the sample that was clicked. */
async function openSample(clicked: Element): Promise<void> {
  const button = clicked.closest("button");
  const address = button?.querySelector("img")?.src;
  if (!address) return;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} is missing beside this page: build it again with make web.`);
  await open([new File([await response.blob()], address.replace(/.*\//, ""))]);
  press(button);
}

/** Let a sample look chosen, or none. */
function press(button: Element | null): void {
  for (const one of page.samples.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === button));
}

/** Open what was chosen or dropped: a picture or a model. */
async function open(files: ArrayLike<File> | null | undefined): Promise<void> {
  const file = files?.[0];
  if (!file) return;
  page.file.value = ""; // so that the same file can be chosen again
  if (file.name.endsWith(".glslnn")) return useModel(file);
  let opened: ImageBitmap;
  try {
    opened = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "default" });
  } catch {
    throw new Error(`${file.name}: no picture that this browser can read. JPEG, PNG and WebP are.`);
  }
  if (camera.isOn()) stopCamera();
  picture?.close();
  picture = opened;
  forget();
  press(null);
  page.labels.ariaLive = "polite";
  drawPicture(opened);
  enable(work !== undefined);
  await frame(opened);
  say(`${file.name}: ${opened.width} × ${opened.height} pixels${work?.note() ?? ""}.`);
}

/** Show the part of a picture that is looked at. */
function drawPicture(source: ImageBitmap): void {
  const part = work?.part(source) ?? { x: 0, y: 0, width: source.width, height: source.height };
  const zoom = Math.min(1, MOST_SHOWN / Math.max(part.width, part.height));
  const { picture: canvas } = page;
  canvas.width = Math.max(1, Math.round(zoom * part.width));
  canvas.height = Math.max(1, Math.round(zoom * part.height));
  canvas.getContext("2d")?.drawImage(source, part.x, part.y, part.width, part.height, 0, 0, canvas.width, canvas.height);
  canvas.setAttribute("aria-label", "The picture, as far as the network reads it");
  arrangeStage();
}

function showLayers(): void {
  const source = camera.isOn() ? page.video : picture;
  if (work?.model && source) layerPictures.show(work.model, source);
}

async function compareRunners(): Promise<void> {
  const mine = work;
  film += 1; // from here on the camera's frames are those of the comparison
  const filmed = camera.isOn();
  const source = filmed ? page.video : picture!;
  try {
    await compare(mine?.model, mine?.listed, filmed, async () => {
      if (filmed) await camera.nextFrame();
      await frame(source);
      return mine === work;
    });
  } finally {
    if (camera.isOn()) void attempt(watch);
  }
}

async function runBenchmark(): Promise<void> {
  if (camera.isOn()) stopCamera(); // the GPU is the benchmark's
  page.bench.textContent = "Stop the benchmark";
  try {
    await benchmark.run(choices.pictures());
  } finally {
    page.bench.textContent = "AI Benchmark";
  }
}

function check(): void {
  if (!work) return;
  const errors = work.models.flatMap(({ session }) => session.selfcheck());
  const part = ({ worst, allowed }: LayerError): number => worst / Math.max(allowed.max_error, 1);
  const closest = errors.reduce((most, error) => (part(error) > part(most) ? error : most));
  const [bits, steps] = closest.allowed.value.kind === "map" ? [8, 255] : [16, 65535];
  say(
    `This GPU computes all ${errors.length} layers as it should. Closest to its limit is layer '${closest.layer}': ` +
      `its values are off by up to ${closest.worst} of ${steps} steps (${bits} bits), and ` +
      `${Math.floor(closest.allowed.max_error)} are allowed.`,
  );
}

void attempt(main);
