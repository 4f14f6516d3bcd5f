/** The demo page: a task or model, applied to camera frames or an image. */

import { ContextLostError, type LayerError } from "glsl-infer";
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

/** Longest side of an image on the page; the network reads all of its pixels. */
const MOST_SHOWN = 1024;

/** Processing of images in use, and its selected list entries. */
let work: Work | undefined;
let used: Parameters<typeof choices.show>[0] = {};
/** Name of the last task or model that was started, and the size of a model's file in bytes. */
let started = { name: "", bytes: Infinity };
/** The last image opened, at full size. */
let picture: ImageBitmap | undefined;
/** Number of tasks, models and videos started, by which a slow operation detects that it was replaced. */
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
  page.smaller.addEventListener("click", () => void attempt(() => useModel(page.smaller.value)));
  page.bench.addEventListener("click", () => void attempt(benchmark.isOn() ? benchmark.stop : runBenchmark));
  for (const kind of ["dragenter", "dragover"] as const) document.addEventListener(kind, over);
  for (const kind of ["dragleave", "drop"] as const) document.addEventListener(kind, (event) => over(event, false));
  document.addEventListener("drop", (event) => void attempt(() => open(event.dataTransfer?.files)));
  await useModel(page.model.value);
  await navigator.serviceWorker?.register("sw.js").catch(() => {}); // the page works without it, except offline
}

/** Run an action, and show its error in the page. */
async function attempt(action: () => Promise<void> | void): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ContextLostError) offerSmaller();
    else complain(error);
  }
}

/** Report that the browser has not restored the graphics context, and offer a model that needs less of the GPU. */
function offerSmaller(): void {
  const smaller = choices.smallerThan(started.bytes);
  const remedy = smaller === undefined ? "Reload the page." : "Use a smaller model, or reload the page.";
  complain(new Error(`The browser's graphics process has ended and does not start again with ${started.name}. ${remedy}`));
  if (smaller === undefined) return;
  page.smaller.value = `models/${smaller}`;
  page.smaller.textContent = `Use ${smaller.replace(/\.glslnn$/, "")}`;
  page.smaller.hidden = false;
}

function over(event: DragEvent, inside = true): void {
  event.preventDefault(); // otherwise the browser would open the file in place of the page
  page.stage.classList.toggle("over", inside);
}

async function chooseTask(): Promise<void> {
  try {
    const chosen = choices.task();
    if (!chosen) return await useModel(page.model.value === "own" ? page.model.options[0]!.value : page.model.value);
    const { value } = page.task;
    await use({ name: chosen.name, bytes: Infinity }, { task: value }, () =>
      openWork(chosen.address, choices.taskModels(), () => page.look.value as MaskLook),
    );
  } catch (error) {
    choices.show(used); // the previous choice remains in use
    throw error;
  }
}

/** Load a model from an address or a file. */
function useModel(source: string | File): Promise<void> {
  const name = typeof source === "string" ? source.replace(/.*\//, "") : source.name;
  const listed = typeof source === "string" ? name : undefined;
  const bytes = typeof source === "string" ? choices.bytesOf(name) : source.size;
  return use({ name, bytes }, listed === undefined ? { own: name } : { listed }, () => openModel(source, name, listed));
}

/** Load a task or model and switch to it. On failure, nothing changes. */
async function use(start: typeof started, shown: typeof used, load: () => Promise<Work>): Promise<void> {
  const mine = ++turn;
  const { name } = (started = start);
  enable(false);
  say(`Loading ${name} …`);
  const begun = performance.now();
  try {
    const loaded = await load();
    if (mine !== turn) return loaded.close(); // replaced in the meantime
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
  drawPicture(picture); // the new one can read another part of the image
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

/** Clear the results of another model or image. */
function forget(): void {
  comparison.clear();
  layerPictures.clear();
  results.reset();
}

/** Enable the controls that are usable with a model, or without. */
function enable(ready: boolean): void {
  page.file.disabled = false; // it also opens models
  page.camera.disabled = !ready && !camera.isOn();
  page.check.disabled = !ready;
  page.bench.disabled = !ready;
  page.layers.disabled = page.compare.disabled = !ready || !work?.model || !(camera.isOn() || picture);
  page.compare.disabled ||= work?.draws === true;
}

/** Show the video, the image, or a hint; a task that draws its result shows frames as images. */
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
  page.labels.ariaLive = "off"; // updates ten times a second are too frequent for screen readers
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

/** Process camera frames until the camera stops. */
async function watch(): Promise<void> {
  const mine = ++film;
  for (;;) {
    await camera.nextFrame();
    if (mine !== film) return;
    await frame(page.video);
  }
}

/** Process an image and show the result, unless another model or video was started in the meantime. */
async function frame(source: ImageBitmap | HTMLVideoElement): Promise<void> {
  const [mine, shown] = [work, film];
  if (!mine) return;
  const begun = performance.now();
  const lost = mine.models.some(({ session }) => session.context.isLost);
  if (lost) say("The browser's graphics process has ended; waiting for it to start again …");
  try {
    const show = await mine.run(source);
    if (lost) say("The graphics process is back.");
    if (mine === work && shown === film) show(performance.now() - begun);
  } catch (error) {
    if (mine === work && shown === film) throw error; // otherwise the model is closed, or the camera is off
  }
}

/** Process the image again; a video continues by itself. */
async function again(): Promise<void> {
  if (picture && !camera.isOn()) await frame(picture);
}

/** Open the image of a clicked sample. */
async function openSample(clicked: Element): Promise<void> {
  const button = clicked.closest("button");
  const address = button?.querySelector("img")?.src;
  if (!address) return;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} is missing on this server: build the page again with make web.`);
  await open([new File([await response.blob()], address.replace(/.*\//, ""))]);
  press(button);
}

/** Mark a sample as selected, or none. */
function press(button: Element | null): void {
  for (const sample of page.samples.querySelectorAll("button")) sample.setAttribute("aria-pressed", String(sample === button));
}

/** Open a selected or dropped file: an image or a model. */
async function open(files: ArrayLike<File> | null | undefined): Promise<void> {
  const file = files?.[0];
  if (!file) return;
  page.file.value = ""; // allows selecting the same file again
  if (file.name.endsWith(".glslnn")) return useModel(file);
  let opened: ImageBitmap;
  try {
    opened = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "default" });
  } catch {
    throw new Error(`${file.name}: this browser cannot read it as an image. JPEG, PNG and WebP work.`);
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

/** Show the region of the image that the model reads. */
function drawPicture(source: ImageBitmap): void {
  const part = work?.part(source) ?? { x: 0, y: 0, width: source.width, height: source.height };
  const zoom = Math.min(1, MOST_SHOWN / Math.max(part.width, part.height));
  const { picture: canvas } = page;
  canvas.width = Math.max(1, Math.round(zoom * part.width));
  canvas.height = Math.max(1, Math.round(zoom * part.height));
  canvas.getContext("2d")?.drawImage(source, part.x, part.y, part.width, part.height, 0, 0, canvas.width, canvas.height);
  canvas.setAttribute("aria-label", "The part of the image that the network reads");
  arrangeStage();
}

function showLayers(): void {
  const source = camera.isOn() ? page.video : picture;
  if (work?.model && source) layerPictures.show(work.model, source);
}

async function compareRunners(): Promise<void> {
  const mine = work;
  film += 1; // from here on, the comparison uses the camera frames
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
  if (camera.isOn()) stopCamera(); // the benchmark needs the GPU alone
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
    `This GPU computes all ${errors.length} layers correctly. The largest error, compared with its limit, is in layer ` +
      `'${closest.layer}': ${closest.worst} of ${steps} steps (${bits} bits), where ` +
      `${Math.floor(closest.allowed.max_error)} are allowed.`,
  );
}

void attempt(main);
