/** Drawing of an image and a task's results on a canvas: boxes, points, lines, a mask or labels. */

import type { PictureSource } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import type { Mask } from "./masks.ts";
import type { Found } from "./results.ts";
import { Studio, type MaskLook } from "./studio.ts";

/** Colours of classes or objects, repeated: those of glsl_infer/tasks/drawing.py. */
const COLOURS = ["#ffc400", "#00c8ff", "#ff6090", "#78e664", "#be8cff", "#ff8c3c"] as const;
const FINE = "rgb(190 225 235 / 75%)";
/** Smallest distance, in pixels of the canvas, at which points connected by lines have dots too. */
const MANY_POINTS = 100;

type Context = CanvasRenderingContext2D;

/** Draw an image and its results on a canvas with the image's aspect ratio. */
export function draw(canvas: HTMLCanvasElement, picture: PictureSource, found: Found, look: MaskLook = "tint"): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { width, height } = canvas;
  if (picture instanceof ImageData) context.drawImage(canvasOf(picture), 0, 0, width, height);
  else context.drawImage(picture as CanvasImageSource, 0, 0, width, height);
  if (found.kind === "segmentation") return drawMask(context, picture, found.mask, look);
  if (found.kind === "classification") {
    return found.labels.forEach(({ label, probability }, i) => {
      write(context, `${Math.round(100 * probability)} % ${label}`, [0, i * 12 * stroke(canvas)], colour(i));
    });
  }
  const zoom = [width / found.size.width, height / found.size.height] as const;
  const at = (point: readonly number[]): readonly [number, number] => [point[0]! * zoom[0], point[1]! * zoom[1]];
  context.lineJoin = context.lineCap = "round";
  [...found.things].reverse().forEach((item, k) => {
    const i = found.things.length - 1 - k; // the best object is drawn last, on top
    const points = item.points.map(at);
    if ("box" in item) {
      const ink = colour(item.label ? item.index : i);
      const sides = [found.size.width, found.size.height] as const; // a box can extend beyond the image
      const visible = item.box.map((edge, k) => Math.min(Math.max(edge, 0), sides[k % 2]!));
      const [left, top, right, bottom] = visible as [number, number, number, number];
      const corners = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]].map(at);
      lines(context, [corners], ink, stroke(canvas));
      lines(context, found.rules.lines.map((line) => line.map((p) => points[p]!)), ink, stroke(canvas));
      dots(context, points, ink);
      write(context, `${item.label} ${Math.round(100 * item.score)} %`.trim(), corners[0]!, ink);
    } else if (found.kind === "landmarks") {
      const joined = (which: readonly (readonly number[])[]) => which.map((line) => line.map((p) => points[p]!));
      lines(context, joined(found.rules.fine), FINE, Math.max(1, stroke(canvas) / 3));
      lines(context, joined(found.rules.lines), colour(i), stroke(canvas));
      if (points.length < MANY_POINTS || !found.rules.lines.length) dots(context, points, colour(i));
    }
  });
}

/** Return the colour of a class or object. */
export function colour(index: number): string {
  return COLOURS[index % COLOURS.length]!;
}

function stroke({ width, height }: Extent): number {
  return Math.max(1, Math.round(Math.max(width, height) / 400));
}

function lines(
  context: Context,
  all: readonly (readonly (readonly [number, number])[])[],
  ink: string,
  width: number,
): void {
  context.strokeStyle = ink;
  context.lineWidth = width;
  context.beginPath();
  for (const line of all) line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

function dots(context: Context, points: readonly (readonly [number, number])[], ink: string): void {
  const radius = 1.6 * stroke(context.canvas);
  context.fillStyle = ink;
  for (const [x, y] of points) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }
}

/** Write text above a position, or below it if there is no space, on a background. */
function write(context: Context, words: string, [left, bottom]: readonly [number, number], ink: string): void {
  const { canvas } = context;
  const unit = stroke(canvas);
  const size = Math.max(12, 8 * unit);
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  const [width, height] = [context.measureText(words).width + 4 * unit, 1.35 * size];
  const x = Math.min(Math.max(0, left), Math.max(0, canvas.width - width));
  const y = Math.min(Math.max(0, bottom < height ? bottom : bottom - height), Math.max(0, canvas.height - height));
  context.fillStyle = ink;
  context.fillRect(x, y, width, height);
  context.fillStyle = "#000";
  context.fillText(words, x + 2 * unit, y + height / 2);
}

let studio: Studio | undefined;

/** Draw an image under its mask, both on the GPU; without a mask, the image alone. */
function drawMask(context: Context, picture: PictureSource, mask: Mask, look: MaskLook): void {
  if (studio?.isLost) studio = undefined;
  studio ??= Studio.open();
  const { width, height } = context.canvas;
  if (studio?.take(picture)) context.drawImage(studio.masked(mask.seen, look, width, height), 0, 0);
}

function canvasOf(pixels: ImageData): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = pixels.width;
  canvas.height = pixels.height;
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}
