/**
 * Every error that this package throws on purpose; `glsl_infer/errors.py` has the same tree.
 *
 *     GlslInferError            catch this one to catch them all
 *     ├── InputError            what was given cannot be used
 *     │   ├── BundleError       a model file that is missing, damaged, foreign or too new
 *     │   ├── ImageError        a picture that cannot be used
 *     │   ├── ContextError      this browser gives no WebGL 1 context, or one without highp floats
 *     │   └── LimitError        the GPU's limits are too small for the model
 *     └── RunError              it should have worked
 *         ├── ShaderError       the driver refused a shader
 *         ├── GlError           the driver reported an error
 *         ├── ContextLostError  the browser took the graphics context away and has not given it back
 *         └── SelfCheckError    the driver computed something else than the reference
 *
 * Messages are for the person who reads them: what was given, what is allowed, what to do.
 */

import type { Rule } from "./refusal.ts";

/** Base of all errors of this package. */
export class GlslInferError extends Error {
  constructor(message: string) {
    super(message);
    this.name = Object.entries(CLASSES).find(([, kind]) => kind === new.target)?.[0] ?? "GlslInferError";
  }
}

/** What was given cannot be used; the message says what can. */
export class InputError extends GlslInferError {}

/** A `.glslnn` file that is missing, damaged, foreign or too new. */
export class BundleError extends InputError {
  /** @param rule the part of the format that its contents break; none where the file cannot be had. */
  constructor(
    message: string,
    readonly rule?: Rule,
  ) {
    super(message);
  }
}

/** A picture that has no pixels, or more than the GPU takes. */
export class ImageError extends InputError {}

/** No WebGL 1 context can be made here, or one whose shaders are not exact enough. */
export class ContextError extends InputError {}

/** The GPU's limits are too small for the model. */
export class LimitError extends InputError {}

/** Something failed that should have worked. */
export class RunError extends GlslInferError {}

/** The driver refused to compile or link a shader; the message has the layer and the driver's log. */
export class ShaderError extends RunError {}

/** The driver reported a WebGL error. */
export class GlError extends RunError {}

/** The browser took the graphics context away and has not given it back. */
export class ContextLostError extends RunError {}

/** The driver computed something else than the reference. */
export class SelfCheckError extends RunError {}

/** The classes by name: a minifier gives them others. */
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
