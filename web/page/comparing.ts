/** Supplies pixels for the comparison of runners: camera frames, or the same image repeatedly. */

import type { GlslInfer } from "glsl-infer";
import * as comparison from "./comparison.ts";
import { page, say } from "./elements.ts";
import type { Pixels } from "./runners.ts";

/** Frames of an image computed by each runner of a comparison, after its first. */
const COMPARED = 10;

/**
 * Compare runners on several frames of the image, or on the video until it is stopped.
 *
 * @param listed the model's file in the page's list.
 * @param next shows the next video frame, or the image again; returns whether the model is unchanged.
 * @throws Error the model is not in the list.
 */
export async function compare(
  used: GlslInfer | undefined,
  listed: string | undefined,
  filmed: boolean,
  next: () => Promise<boolean>,
): Promise<void> {
  if (!used || !listed) throw new Error("Only models of the list can be compared: tfjs has copies of these in its own form.");
  let rounds = 0;
  let same = true;

  async function nextPixels(): Promise<Pixels | undefined> {
    if (!filmed && rounds++ > COMPARED) return undefined;
    same = await next();
    return same && comparison.isOn() ? inputPixels(used!) : undefined;
  }

  page.compare.textContent = "Stop comparing";
  try {
    await comparison.run(used, listed, nextPixels);
    if (same) say(rounds > COMPARED ? `Compared on ${COMPARED} frames of each.` : "The comparison has ended.");
  } finally {
    page.compare.textContent = "Compare with tfjs";
  }
}

/** Return the pixels last read by a network: the image, scaled as in training. */
function inputPixels({ session }: GlslInfer): Pixels {
  const { width, height, views } = session.picture.value;
  const { texture, x, y } = views[0]!;
  return { width, height, data: session.readTexture(texture, x, y, width, height).data };
}
