/** From a picture to its most probable labels. */

import { fetchBundle, type Bundle } from "./bundle.ts";
import { ContextLostError, ImageError, InputError } from "./errors.ts";
import type { Canvas } from "./gl/context.ts";
import { most, sum } from "./lists.ts";
import { Session, type Picture, type Tensor } from "./session.ts";

/** One class: its label as it stands in labels.txt, its probability in [0, 1] and its index. */
export interface Prediction {
  readonly label: string;
  readonly probability: number;
  readonly index: number;
}

/** What `classify` returns: the most probable classes, best first, and all logits. */
export interface Classification {
  readonly labels: readonly Prediction[];
  readonly logits: Float32Array;
}

/** A picture that `classify` and `run` take: what a texture can be made of, an image file, or RGBA bytes. */
export type AnyPicture = Picture | Blob;

/** Settings of `GlslInfer.load`. */
export interface Options {
  /** Run the probe through every layer first; throws SelfCheckError where the GPU computes something else. */
  readonly selfcheck?: boolean;
  /** Is told how many bytes of the file have come, and of how many (0: the server does not say). */
  readonly progress?: (bytes: number, of: number) => void;
}

/**
 * A model that is ready to run.
 *
 *     const model = await GlslInfer.load("grocery-x22-257.glslnn");
 *     const { labels } = await model.classify(video);
 */
export class GlslInfer {
  private constructor(readonly session: Session) {}

  /**
   * Fetch, verify and compile a model.
   *
   * @param model address of a `.glslnn` file, or a bundle that was read already.
   * @param canvas whose WebGL context to use, an OffscreenCanvas too; by default one that nobody sees. Models on the
   *     same canvas share its context.
   * @throws BundleError, ContextError, LimitError, ShaderError, SelfCheckError; the message is for people.
   */
  static async load(model: string | Bundle, canvas?: Canvas, options: Options = {}): Promise<GlslInfer> {
    const bundle = typeof model === "string" ? await fetchBundle(model, options.progress) : model;
    const session = new Session(bundle, canvas);
    try {
      if (options.selfcheck) session.selfcheck();
    } catch (error) {
      session.close();
      throw error;
    }
    return new GlslInfer(session);
  }

  /** All labels, in the order of the logits; none where the model ends in an image. */
  get labels(): readonly string[] {
    return this.session.bundle.labels;
  }

  /**
   * Return the most probable classes of a picture of any size.
   *
   * Where the browser has taken the graphics context away, waits up to 10 seconds for it to come back.
   *
   * @param top how many, at least 1.
   * @throws InputError the model has no labels, or `top` is no number from 1 on.
   * @throws ImageError the picture cannot be used.
   * @throws ContextLostError the graphics context did not come back.
   */
  async classify(picture: AnyPicture, top = 5): Promise<Classification> {
    if (!this.labels.length) throw new InputError("the model makes images and has no labels; use 'run'");
    if (!(top >= 1)) throw new InputError(`top=${top}; at least 1 is possible`);
    const { data } = await this.run(picture);
    return { labels: this.rank(data, top), logits: data };
  }

  /** Return the model's output for a picture: logits (classes,), or an image (height, width, channels). See `classify`. */
  async run(picture: AnyPicture): Promise<Tensor> {
    const still = await decode(picture);
    try {
      for (;;) {
        await this.session.whenUsable();
        try {
          return this.session.run(still);
        } catch (error) {
          if (!(error instanceof ContextLostError)) throw error; // lost in the middle: once more when it is back
        }
      }
    } finally {
      if (still !== picture && still instanceof ImageBitmap) still.close();
    }
  }

  /** Return the `top` classes of some logits; equal ones keep the order of the labels. */
  rank(logits: ArrayLike<number>, top = 5): Prediction[] {
    const probabilities = softmax(logits);
    return probabilities
      .map((probability, index) => ({ label: this.labels[index]!, probability, index }))
      .sort((a, b) => b.probability - a.probability)
      .slice(0, top);
  }

  /** Free the GPU's resources. */
  close(): void {
    this.session.close();
  }
}

/** Return probabilities of logits: non-negative, with the sum 1. */
export function softmax(logits: ArrayLike<number>): number[] {
  const largest = most(Array.from(logits), Number, -Infinity);
  const powers = Array.from(logits, (logit) => Math.exp(logit - largest));
  const total = sum(powers, Number);
  return powers.map((power) => power / total);
}

/** Decode image files and image elements as preprocessing defines: upright, in sRGB, alpha as it is. */
async function decode(picture: AnyPicture): Promise<Picture> {
  const element = typeof HTMLImageElement !== "undefined" && picture instanceof HTMLImageElement;
  if (!(picture instanceof Blob) && !element) return picture as Picture;
  try {
    if (element) await picture.decode();
    return await createImageBitmap(picture, { premultiplyAlpha: "none", colorSpaceConversion: "default" });
  } catch {
    throw new ImageError("this is no picture that the browser can read (JPEG, PNG, WebP, GIF ... are), or it is damaged");
  }
}
