/**
 * All errors that this package throws deliberately; `glsl_infer/errors.py` has the same hierarchy.
 *
 *     GlslInferError            base of all
 *     ├── InputError            unusable input
 *     │   ├── BundleError       a model file that is missing, damaged, of another format or too new
 *     │   ├── ImageError        an unusable image
 *     │   ├── ContextError      no WebGL 1 context, or one without highp floats
 *     │   └── LimitError        the GPU's limits are too small for the model
 *     └── RunError              a failure with valid input
 *         ├── ShaderError       the driver refused a shader
 *         ├── GlError           the driver reported an error
 *         ├── ContextLostError  the browser took the graphics context away and has not restored it
 *         └── SelfCheckError    the driver's results differ from the reference
 *
 * Messages are for users: they state the input, the allowed values, and a remedy.
 */

import type { Rule } from "./refusal.ts";

/** Base of all errors of this package. */
export class GlslInferError extends Error {
  constructor(message: string) {
    super(message);
    this.name = Object.entries(CLASSES).find(([, kind]) => kind === new.target)?.[0] ?? "GlslInferError";
  }
}

/** The input is unusable; the message has the allowed values. */
export class InputError extends GlslInferError {}

/** A `.glslnn` file that is missing, damaged, of another format or too new. */
export class BundleError extends InputError {
  /** @param rule the violated rule of the format; undefined if the file cannot be read. */
  constructor(
    message: string,
    readonly rule?: Rule,
  ) {
    super(message);
  }
}

/** An image without pixels, or larger than the GPU allows. */
export class ImageError extends InputError {}

/** No WebGL 1 context can be created, or its shaders are not precise enough. */
export class ContextError extends InputError {}

/** The GPU's limits are too small for the model. */
export class LimitError extends InputError {}

/** A failure with valid input. */
export class RunError extends GlslInferError {}

/** The driver refused to compile or link a shader; the message has the layer and the driver's log. */
export class ShaderError extends RunError {}

/** The driver reported a WebGL error. */
export class GlError extends RunError {}

/** The browser took the graphics context away and has not restored it. */
export class ContextLostError extends RunError {}

/** The driver's results differ from the reference. */
export class SelfCheckError extends RunError {}

/** The classes by name, because a minifier renames them. */
const CLASSES = {
  InputError,
  BundleError,
  ImageError,
  ContextError,
  LimitError,
  RunError,
  ShaderError,
  GlError,
  ContextLostError,
  SelfCheckError,
};
