/**
 * glsl-infer in a browser: runs `.glslnn` models on WebGL 1.
 *
 *     import { GlslInfer } from "glsl-infer";
 *     const model = await GlslInfer.load("grocery-x22-257.glslnn");
 *     const { labels } = await model.classify(video);
 *
 * docs/guide/browser.md has more; docs/reference/bundle-format.md specifies the file.
 */

export { read, fetchBundle, type Bundle } from "./bundle.ts";
export {
  GlslInfer,
  type AnyInputs,
  type AnyPicture,
  type Classification,
  type Options,
  type Prediction,
} from "./classifier.ts";
export * from "./errors.ts";
export { fitted, type Fitted, type Rectangle } from "./fits.ts";
export type { Result, Tensor } from "./frameReader.ts";
export type { Given, Inputs, Numbers, Picture } from "./inputs.ts";
export type { Canvas } from "./gl/context.ts";
export { classesOf, softmax } from "./hostSteps.ts";
export { toPicture } from "./images.ts";
export type { FeatureMap, FineMap, FixedMap, FixedPoint, Value, View } from "./layout.ts";
export type { Fit, HostStep, Input, Manifest, Output, Pass } from "./manifest.ts";
export type { PictureSource } from "./preprocess.ts";
export type { LayerError } from "./probe.ts";
export type { Rule } from "./refusal.ts";
export { Session, type Results, type Statistics } from "./session.ts";
