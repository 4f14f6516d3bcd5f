/** What the network says: labels with bars, or its picture; and how fast it is. */

import { toPicture, type GlslInfer, type Tensor } from "glsl-infer";
import { page } from "./elements.ts";

const TOP = 5;
/** Frames that the shown time is the median of. */
const RECENT = 31;

/** Times of the latest frames: when each ended, and how long it took, in milliseconds. */
const recent: { end: number; took: number }[] = [];
let frames = 0;

/** Show the output of a frame, which took so many milliseconds. */
export function show(model: GlslInfer, output: Tensor, took: number): void {
  if (model.labels.length) showLabels(model, output);
  else showPicture(model, output);
  frames += 1;
  recent.push({ end: performance.now(), took });
  if (recent.length > RECENT) recent.shift();
  const times = recent.map((one) => one.took).sort((a, b) => a - b);
  page.time.value = `${times[times.length >> 1]!.toFixed(1)} ms`;
  const span = recent[recent.length - 1]!.end - recent[0]!.end;
  page.rate.value = recent.length > 1 ? ((1000 * (recent.length - 1)) / span).toFixed(1) : "–";
  page.frames.value = String(frames);
}

/** Forget the times and the labels: another model, or another source. */
export function reset(): void {
  recent.length = 0;
  frames = 0;
  page.labels.replaceChildren();
  page.output.hidden = true;
  page.time.value = page.rate.value = "–";
  page.frames.value = "0";
}

function showLabels(model: GlslInfer, output: Tensor): void {
  const rows = model.rank(output.data, TOP).map(({ label, probability }) => {
    const row = document.createElement("li");
    row.style.setProperty("--part", `${100 * probability}%`);
    row.append(span(label), span(`${(100 * probability).toFixed(1)} %`));
    return row;
  });
  page.labels.replaceChildren(...rows);
}

function showPicture(model: GlslInfer, output: Tensor): void {
  const picture = toPicture(model.session, output);
  page.output.width = picture.width;
  page.output.height = picture.height;
  page.output.getContext("2d")?.putImageData(picture, 0, 0);
  page.output.hidden = false;
}

function span(text: string): HTMLSpanElement {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}
