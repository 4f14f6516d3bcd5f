/** Requirements on the driver: limits and precision. */

import { ContextError, LimitError } from "../errors.ts";
import type { Limits } from "../manifest.ts";

const SMALLER = "use a model of smaller images or fewer channels";
const OTHER_GPU = "use another browser or device (WebGL promises 8)";

/** Name of each limit in WebGL, and the advice if it is too small. */
const LIMITS: Record<keyof Limits, readonly [keyof WebGLRenderingContext & `MAX_${string}`, string]> = {
  texture_units: ["MAX_TEXTURE_IMAGE_UNITS", OTHER_GPU],
  texture_size: ["MAX_TEXTURE_SIZE", SMALLER],
  fragment_uniform_vectors: ["MAX_FRAGMENT_UNIFORM_VECTORS", "export the model with --weights baked"],
  varying_vectors: ["MAX_VARYING_VECTORS", OTHER_GPU],
  vertex_attributes: ["MAX_VERTEX_ATTRIBS", OTHER_GPU],
};

/**
 * Refuse a driver with smaller limits than a bundle needs.
 *
 * @throws LimitError with all limits that are too small.
 */
export function requireLimits(needed: Limits, gl: WebGLRenderingContext): void {
  const problems: string[] = [];
  const advice = new Set<string>();
  for (const field of Object.keys(LIMITS) as (keyof Limits)[]) {
    const [name, help] = LIMITS[field];
    const offered = gl.getParameter(gl[name]) as number;
    if (offered >= needed[field]) continue;
    problems.push(`${name} is ${offered}, the model needs ${needed[field]}`);
    advice.add(help);
  }
  if (!problems.length) return;
  throw new LimitError(
    `this GPU (${renderer(gl)}) is too small for the model: ${problems.join("; ")}; ${[...advice].join(", and ")}`,
  );
}

/**
 * Refuse a GPU without 32-bit floats in fragment shaders, because stored values would be wrong by several steps.
 *
 * @throws ContextError with the precision of the GPU.
 */
export function requirePrecision(gl: WebGLRenderingContext): void {
  const format = gl.getShaderPrecisionFormat(gl.FRAGMENT_SHADER, gl.HIGH_FLOAT);
  if (format && format.precision >= 23) return;
  const has = format?.precision ? `only ${format.precision} bits` : "none";
  throw new ContextError(
    `this GPU (${renderer(gl)}) cannot run models: it has no highp floats of 23 bits in fragment shaders (${has}); ` +
      "use another device",
  );
}

/** Return the name of the GPU, if the browser reveals it. */
export function renderer(gl: WebGLRenderingContext): string {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}
