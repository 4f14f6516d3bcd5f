/**
 * glsl-infer in a browser: runs `.glslnn` models on WebGL 1.
 *
 *     import { GlslInfer } from "glsl-infer";
 *     const model = await GlslInfer.load("grocery-x22-257.glslnn");
 *     const { labels } = await model.classify(video);
 *
 * docs/browser.md has more; docs/bundle-format.md specifies the file.
 */

export { read, fetchBundle, type Bundle } from "./bundle.ts";
export {
  GlslInfer,
  softmax,
  type AnyPicture,
  type Classification,
  type Options,
  type Prediction,
} from "./classifier.ts";
export * from "./errors.ts";
export type { Canvas } from "./gl/context.ts";
export { toPicture } from "./images.ts";
export type { FeatureMap, FixedMap, FixedPoint, Value, View } from "./layout.ts";
export type { Manifest, Pass } from "./manifest.ts";
export type { PictureSource } from "./preprocess.ts";
export type { LayerError } from "./probe.ts";
export { Session, type Picture, type Statistics, type Tensor } from "./session.ts";
