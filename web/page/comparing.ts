/** Gives the comparison of runners its pixels: those of the camera's frames, or of a picture again and again. */

import type { GlslInfer } from "glsl-infer";
import * as comparison from "./comparison.ts";
import { page, say } from "./elements.ts";
import type { Pixels } from "./runners.ts";

/** Frames of a picture that each runner of a comparison computes, after its first. */
const COMPARED = 10;

/**
 * Compare runners on the picture for a while, or on a film's frames until it is ended.
 *
 * @param listed file of the page's list that the model came from.
 * @param next shows the next frame of a film, or the picture once more; returns whether the same model is still used.
 * @throws Error the model is none of the list.
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

/** Return what a network has just read: the picture, scaled as training has scaled its own. */
function inputPixels({ session }: GlslInfer): Pixels {
  const { width, height, views } = session.picture.value;
  const { texture, x, y } = views[0]!;
  return { width, height, data: session.readTexture(texture, x, y, width, height).data };
}
