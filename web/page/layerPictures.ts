/** Images of the feature maps of all layers. */

import type { GlslInfer, Picture, Tensor } from "glsl-infer";
import { page } from "./elements.ts";

/** Largest number of channels shown for a layer. */
const CHANNELS = 32;
/** Pixels between channels. */
const GAP = 2;
/** Largest width of a row of channels in pixels; a narrower page scales it down. */
const WIDTH = 1056;

/** Draw the feature maps of all layers for an image. The model must be idle. */
export function show(model: GlslInfer, picture: Picture): void {
  const figures: HTMLElement[] = [];
  for (const { layer, output } of model.session.layers(picture)) figures.push(figure(layer, output));
  page.layerList.replaceChildren(...figures);
  page.activations.hidden = false;
  page.activationsTitle.focus();
}

/** Remove the images, because they show another model. */
export function clear(): void {
  page.activations.hidden = true;
  page.layerList.replaceChildren();
}

function figure(layer: string, output: Tensor): HTMLElement {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const [height = 1, width = 1, channels = 1] = output.shape.length === 3 ? output.shape : [1, output.data.length, 1];
  const shown = Math.min(channels, CHANNELS);
  const size = output.shape.length === 3 ? `${width} × ${height}, ${channels} channels` : `${output.data.length} values`;
  caption.textContent = `${layer} · ${size}${shown < channels ? ` (the first ${shown} shown)` : ""}`;
  figure.append(caption, canvas(output, width, height, channels, shown));
  return figure;
}

function canvas(output: Tensor, width: number, height: number, channels: number, shown: number): HTMLCanvasElement {
  const zoom = Math.max(1, Math.floor(48 / Math.max(width, height)));
  const fit = Math.max(1, Math.min(shown, Math.floor(WIDTH / (zoom * width + GAP))));
  const columns = 2 ** Math.floor(Math.log2(fit)); // channel counts are mostly powers of two, which gives full rows
  const rows = Math.ceil(shown / columns);
  const canvas = document.createElement("canvas");
  canvas.width = columns * (width + GAP) - GAP;
  canvas.height = rows * (height + GAP) - GAP;
  canvas.style.width = `${zoom * canvas.width}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${shown} channels`);
  const pixels = new ImageData(canvas.width, canvas.height);
  const [low, high] = ends(output.data);
  for (let c = 0; c < shown; c++) {
    const left = (c % columns) * (width + GAP);
    const top = Math.floor(c / columns) * (height + GAP);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const grey = (255 * (output.data[(y * width + x) * channels + c]! - low)) / (high - low || 1);
        pixels.data.set([grey, grey, grey, 255], 4 * ((top + y) * canvas.width + left + x));
      }
    }
  }
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}

function ends(numbers: Float32Array): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const number of numbers) {
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  return [low, high];
}
