/** Classification: from an image to its most probable labels. */

import { fetchBundle, type Bundle } from "./bundle.ts";
import { ContextLostError, ImageError, InputError } from "./errors.ts";
import type { Canvas } from "./gl/context.ts";
import { classesOf, endsInProbabilities, softmax } from "./hostSteps.ts";
import type { Tensor } from "./frameReader.ts";
import { NONE_ZERO, type NoneRule } from "./formatConstants.ts";
import { isNamed, type Numbers, type Picture } from "./inputs.ts";
import { Session, type Results } from "./session.ts";

/** First label for an image that belongs to none of the classes. */
const NONE = "none of these";

/** A class: its label in labels.txt, its probability in [0, 1] and its index; -1 for "none of these" without a class. */
export interface Prediction {
  readonly label: string;
  readonly probability: number;
  readonly index: number;
}

/** Result of `classify`: the most probable classes in descending order, and the values of all classes. */
export interface Classification {
  readonly labels: readonly Prediction[];
  readonly logits: Float32Array;
}

/** An image for `classify` and `run`: a texture source, an image file, or bytes. */
export type AnyPicture = Picture | Blob;

/** All inputs of `classify` and `run`, by name. */
export type AnyInputs = Readonly<Record<string, AnyPicture | Numbers>>;

/** Settings of `GlslInfer.load`. */
export interface Options {
  /** Compare all layers with the probe first; throws SelfCheckError if the GPU computes something else. */
  readonly selfcheck?: boolean;
  /** Called with the received bytes of the file, and its size (0 if the server does not send it). */
  readonly progress?: (received: number, total: number) => void;
}

/**
 * A model, ready to run.
 *
 *     const model = await GlslInfer.load("grocery-x22-257.glslnn");
 *     const { labels } = await model.classify(video);
 */
export class GlslInfer {
  private constructor(readonly session: Session) {}

  /**
   * Fetch, verify and compile a model.
   *
   * @param model address of a `.glslnn` file, or a loaded bundle.
   * @param canvas its WebGL context is used, also that of an OffscreenCanvas; by default a hidden canvas. Models on the
   *     same canvas share its context.
   * @throws BundleError, ContextError, LimitError, ShaderError, SelfCheckError; the message is for users.
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

  /** All labels, in the order of class indices; empty without an output for classes. */
  get labels(): readonly string[] {
    return this.session.bundle.labels;
  }

  /**
   * Return the most probable classes of an image of any size, or of inputs by name.
   *
   * Waits up to 10 seconds for a lost graphics context to be restored.
   *
   * @param top number of classes, at least 1.
   * @throws InputError the model has no labels, `top` is not a positive integer, or an input is missing.
   * @throws ImageError the image is unusable.
   * @throws ContextLostError the graphics context was not restored.
   */
  async classify(input: AnyPicture | Numbers | AnyInputs, top = 5): Promise<Classification> {
    const output = classesOf(this.session.outputs);
    if (!output) throw new InputError("the model has no labels; use 'run'");
    if (!(top >= 1)) throw new InputError(`top=${top}; at least 1 is possible`);
    const { data } = (await this._run(isNamed(input) ? input : { [this.session.onlyInput().name]: input }))[output.name]!;
    return { labels: this.rank(data, top), logits: data };
  }

  /**
   * Return the output of a model with a single input and output: values and their shape. With an object of inputs by
   * name, return all outputs by name. See `classify` and `Session.run`.
   */
  run(input: AnyInputs): Promise<Results>;
  run(input: AnyPicture | Numbers): Promise<Tensor>;
  run(input: AnyPicture | Numbers | AnyInputs): Promise<Tensor | Results>;
  async run(input: AnyPicture | Numbers | AnyInputs): Promise<Tensor | Results> {
    if (isNamed(input)) return this._run(input);
    const results = await this._run({ [this.session.onlyInput().name]: input });
    return results[this.session.onlyOutput().name]!;
  }

  private async _run(inputs: AnyInputs): Promise<Results> {
    const decoded: [string, Picture | Numbers][] = [];
    try {
      for (const [name, entry] of Object.entries(inputs)) decoded.push([name, await decode(entry)]);
      for (;;) {
        await this.session.whenUsable();
        try {
          return this.session.run(Object.fromEntries(decoded));
        } catch (error) {
          if (!(error instanceof ContextLostError)) throw error; // lost during the run: repeat once when restored
        }
      }
    } finally {
      for (const [name, picture] of decoded) {
        if (picture !== inputs[name] && picture instanceof ImageBitmap) picture.close();
      }
    }
  }

  /**
   * Return the `top` classes by the values of all classes; equal values keep the order of labels.
   *
   * "none of these" is the first if a class with the logit of `bundle.noneRule` is more probable than all others
   * together.
   */
  rank(numbers: ArrayLike<number>, top = 5): Prediction[] {
    const output = classesOf(this.session.outputs);
    const { labels, noneRule } = this.session.bundle;
    let probabilities = numbers;
    if (!output || !endsInProbabilities(output)) {
      if (noneRule) probabilities = softmax([...Array.from(numbers), noneLogit(noneRule, numbers)]);
      if (!(probabilities[labels.length]! > 0.5)) probabilities = softmax(numbers);
    }
    const predictionOf = (probability: number, index: number): Prediction =>
      index < labels.length ? { label: labels[index]!, probability, index } : { label: NONE, probability, index: -1 };
    return Array.from(probabilities, predictionOf)
      .sort((a, b) => b.probability - a.probability)
      .slice(0, top);
  }

  /** Free the GPU resources. */
  close(): void {
    this.session.close();
  }
}

/**
 * Return the logit of "none of these" for the logits of an image: `max(least, logit + scale * distance)`.
 *
 * The squared distance is the sum of (logit - mean)^2, minus the squared products of these differences with each of
 * `directions`, which are multiples of `step`.
 */
function noneLogit(rule: NoneRule, logits: ArrayLike<number>): number {
  const differences = Array.from(logits, (logit) => logit - rule.mean);
  const products = rule.directions.map((direction) =>
    differences.reduce((sum, value, index) => sum + rule.step * (direction.charCodeAt(index) - NONE_ZERO) * value, 0),
  );
  const squaredNorm = (values: number[]): number => values.reduce((sum, value) => sum + value * value, 0);
  return Math.max(rule.least, rule.logit + rule.scale * Math.sqrt(Math.max(squaredNorm(differences) - squaredNorm(products), 0)));
}

/** Decode image files and elements as preprocessing requires: upright, in sRGB, with unchanged alpha. */
async function decode(picture: AnyPicture | Numbers): Promise<Picture | Numbers> {
  const element = typeof HTMLImageElement !== "undefined" && picture instanceof HTMLImageElement;
  if (!(picture instanceof Blob) && !element) return picture as Picture | Numbers;
  try {
    if (element) await picture.decode();
    return await createImageBitmap(picture, { premultiplyAlpha: "none", colorSpaceConversion: "default" });
  } catch {
    throw new ImageError("the browser cannot read this as an image (JPEG, PNG, WebP, GIF ... work), or it is damaged");
  }
}
