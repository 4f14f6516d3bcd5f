/** The demo page: a model, a camera or a picture, and what comes out. */

import { fitted, GlslInfer, read, type Fit, type LayerError, type Picture, type Session } from "glsl-infer";
import * as camera from "./camera.ts";
import * as comparison from "./comparison.ts";
import { complain, page, say } from "./elements.ts";
import * as layerPictures from "./layerPictures.ts";
import * as results from "./results.ts";
import { kilobytes } from "./results.ts";
import type { Pixels } from "./runners.ts";

const DEFAULT_MODEL = "grocery-x22-257.glslnn";
/** Longest side to which a chosen picture is drawn in the page; the network reads all of its pixels. */
const MOST_SHOWN = 1024;
/** Frames of a picture that each runner of a comparison computes, after its first. */
const COMPARED = 10;

/** What a network reads of a picture, in words. */
const READ: Record<Fit, string> = {
  "center-square/area-average": "the centred square",
  "center-crop/area-average": "the centre, in the shape of its own picture",
  "letterbox/area-average": "all of it, between black bars",
  "stretch/area-average": "all of it, stretched to its own shape",
};

let model: GlslInfer | undefined;
/** The file of the page's list that it came from, if it did. */
let listed: string | undefined;
/** The entry of the list that a model of the person's own has, while it is used. */
const own = new Option("", "own");
/** The picture that was chosen last, as its file has it. */
let picture: ImageBitmap | undefined;
/** Counts the models and the films that were begun, so that what takes long notices that another is wanted. */
let turn = 0;
let film = 0;

async function main(): Promise<void> {
  const names = (await (await fetch("models/index.json")).json()) as string[];
  page.model.replaceChildren(...names.map((name) => new Option(name.replace(/\.glslnn$/, ""), `models/${name}`)));
  if (names.includes(DEFAULT_MODEL)) page.model.value = `models/${DEFAULT_MODEL}`;
  page.model.addEventListener("change", () => void attempt(() => useModel(page.model.value)));
  page.camera.addEventListener("click", () => void attempt(camera.isOn() ? stopCamera : startCamera));
  page.file.addEventListener("change", () => void attempt(() => open(page.file.files)));
  page.samples.addEventListener("click", (event) => void attempt(() => openSample(event.target as Element)));
  page.layers.addEventListener("click", () => void attempt(showLayers));
  page.compare.addEventListener("click", () => void attempt(comparison.isOn() ? comparison.stop : compare));
  page.check.addEventListener("click", () => void attempt(check));
  for (const kind of ["dragenter", "dragover"] as const) document.addEventListener(kind, over);
  for (const kind of ["dragleave", "drop"] as const) document.addEventListener(kind, (event) => over(event, false));
  document.addEventListener("drop", (event) => void attempt(() => open(event.dataTransfer?.files)));
  page.model.disabled = false;
  await useModel(page.model.value);
  await navigator.serviceWorker?.register("sw.js").catch(() => {}); // the page works without, but not without a network
}

/** Do something, and say in the page what went wrong. */
async function attempt(work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    complain(error);
  }
}

function over(event: DragEvent, inside = true): void {
  event.preventDefault(); // else the browser leaves the page to show the file
  page.stage.classList.toggle("over", inside);
}

/** Load a model, by address or from a file, and go on with what is shown; one that cannot be used changes nothing. */
async function useModel(source: string | File): Promise<void> {
  const mine = ++turn;
  const name = typeof source === "string" ? source.replace(/.*\//, "") : source.name;
  enable(false);
  say(`Loading ${name} …`);
  const begun = performance.now();
  try {
    const loaded = await load(source, name);
    if (mine !== turn) return loaded.close(); // another model was chosen meanwhile
    model?.close();
    model = loaded;
    listed = typeof source === "string" ? name : undefined;
    own.text = `${name} (your file)`;
    describe(loaded, name, performance.now() - begun);
    forget();
    say("Ready.");
  } finally {
    if (mine === turn) {
      enable(model !== undefined);
      if (model) showChoice();
    }
  }
  if (!picture || camera.isOn()) return;
  drawPicture(picture); // the other model may read another part of it
  await frame(picture);
}

/** Let the list show the model that is used, whatever was chosen or dropped. */
function showChoice(): void {
  if (listed) own.remove();
  else page.model.add(own);
  page.model.value = listed ? `models/${listed}` : own.value;
}

async function load(source: string | File, name: string): Promise<GlslInfer> {
  const given = typeof source === "string" ? source : await read(new Uint8Array(await source.arrayBuffer()), name);
  const loaded = await GlslInfer.load(given, undefined, {
    progress: (bytes, of) => say(`Loading ${name}: ${kilobytes(bytes)}${of ? ` of ${kilobytes(of)}` : ""} …`),
  });
  try {
    const { value } = pictureOf(loaded);
    // Drivers put much of the work off until the first frame, which is thus no measure of the others.
    await loaded.run({ [pictureOf(loaded).name]: new Uint8Array(4 * value.width * value.height) });
  } catch (error) {
    loaded.close();
    throw error;
  }
  return loaded;
}

/** Return the picture that a model reads, and refuse a model that reads anything else: this page has one picture to give. */
function pictureOf({ session }: GlslInfer): Session["picture"] {
  if (session.inputs.length === 1 && session.inputs[0]!.kind === "picture") return session.picture;
  const inputs = session.inputs.map(({ name, kind }) => `${name} (${kind === "picture" ? "a picture" : "numbers"})`);
  throw new Error(
    `This page shows models that read one picture. This one reads ${inputs.join(" and ")}. ` +
      "The library runs it: model.run({name: …}).",
  );
}

function describe({ session }: GlslInfer, name: string, milliseconds: number): void {
  const { passes, programs, textureBytes } = session.statistics();
  const { width, height } = session.picture.value;
  page.about.textContent =
    `${name}: ${kilobytes(session.bundle.bytes)}, reads ${width} × ${height} pixels; ` +
    `${programs} programs, ${passes} draws a frame, ${kilobytes(textureBytes)} of textures; ` +
    `ready in ${Math.round(milliseconds)} ms on ${session.context.renderer}`;
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
  page.layers.disabled = page.compare.disabled = !ready || !(camera.isOn() || picture);
}

async function startCamera(): Promise<void> {
  say("Waiting for the camera …");
  await camera.start();
  picture?.close();
  picture = undefined;
  forget();
  press(null);
  page.labels.ariaLive = "off"; // ten times a second is too much to be read out
  page.picture.hidden = page.hint.hidden = true;
  page.video.hidden = false;
  page.camera.textContent = "Stop camera";
  enable(true);
  say("The camera is on.");
  await watch();
}

function stopCamera(): void {
  film += 1;
  comparison.stop();
  camera.stop();
  page.video.hidden = true;
  page.hint.hidden = false;
  page.camera.textContent = "Start camera";
  results.reset();
  enable(true);
  say("The camera is off.");
}

/** Classify the camera's frames until it is stopped. */
async function watch(): Promise<void> {
  const mine = ++film;
  for (;;) {
    await camera.nextFrame();
    if (mine !== film) return;
    const lost = model?.session.context.isLost;
    if (lost) say("The browser has taken the graphics context away; waiting for it …");
    await frame(page.video);
    if (lost) say("The graphics context is back.");
  }
}

/** Run the model on a picture, and show what comes out, unless another model or film was begun meanwhile. */
async function frame(source: Picture): Promise<void> {
  const [used, shown] = [model, film];
  if (!used) return;
  const begun = performance.now();
  try {
    const outputs = await used.run({ [used.session.picture.name]: source });
    if (used === model && shown === film) results.show(used, outputs, performance.now() - begun);
  } catch (error) {
    if (used === model && shown === film) throw error; // else the model is closed, or the camera is off
  }
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
  enable(model !== undefined);
  await frame(opened);
  const part = model ? READ[model.session.picture.fit] : "";
  say(`${file.name}: ${opened.width} × ${opened.height} pixels${part && `; the network reads ${part}`}.`);
}

/** Show the part of a picture that the network reads. */
function drawPicture(source: ImageBitmap): void {
  const { fit, value } = model?.session.picture ?? { fit: "stretch/area-average" as const, value: source };
  const { x, y, width, height } = fitted(fit, source, value).from;
  const zoom = Math.min(1, MOST_SHOWN / Math.max(width, height));
  page.picture.width = Math.max(1, Math.round(zoom * width));
  page.picture.height = Math.max(1, Math.round(zoom * height));
  page.picture.getContext("2d")?.drawImage(source, x, y, width, height, 0, 0, page.picture.width, page.picture.height);
  page.picture.hidden = false;
  page.video.hidden = page.hint.hidden = true;
}

function showLayers(): void {
  const source = camera.isOn() ? page.video : picture;
  if (model && source) layerPictures.show(model, source);
}

/** Compare runners on the picture for a while, or on the camera's frames until it is ended. */
async function compare(): Promise<void> {
  const used = model;
  if (!used) return;
  if (!listed) throw new Error("Only models of the list can be compared: tfjs has copies of these in its own form.");
  film += 1; // from here on the camera's frames are those of the comparison
  const filmed = camera.isOn();
  const source = filmed ? page.video : picture!;
  let rounds = 0;

  async function nextPixels(): Promise<Pixels | undefined> {
    if (!filmed && rounds++ > COMPARED) return undefined;
    if (filmed) await camera.nextFrame();
    await frame(source);
    return used === model && comparison.isOn() ? inputPixels(used!) : undefined;
  }

  page.compare.textContent = "Stop comparing";
  try {
    await comparison.run(used, listed, nextPixels);
    if (used === model) say(rounds > COMPARED ? `Compared on ${COMPARED} frames of each.` : "The comparison has ended.");
  } finally {
    page.compare.textContent = "Compare with tfjs";
    if (camera.isOn()) void attempt(watch);
  }
}

/** Return what a network has just read: the picture, scaled as training has scaled its own. */
function inputPixels({ session }: GlslInfer): Pixels {
  const { width, height, views } = session.picture.value;
  const { texture, x, y } = views[0]!;
  return { width, height, data: session.readTexture(texture, x, y, width, height).data };
}

function check(): void {
  if (!model) return;
  const errors = model.session.selfcheck();
  const part = ({ worst, allowed }: LayerError): number => worst / Math.max(allowed.max_error, 1);
  const closest = errors.reduce((most, error) => (part(error) > part(most) ? error : most));
  const [bits, steps] = closest.allowed.value.kind === "map" ? [8, 255] : [16, 65535];
  say(
    `This GPU computes all ${errors.length} layers as it should. Closest to its limit is layer '${closest.layer}': ` +
      `its values are off by up to ${closest.worst} of ${steps} steps (${bits} bits), and ` +
      `${closest.allowed.max_error} are allowed.`,
  );
}

void attempt(main);
