/** What the driver offers: limits and precision. */

import { ContextError, LimitError } from "../errors.ts";
import type { Limits } from "../manifest.ts";

const SMALLER = "use a model of smaller pictures or fewer channels";
const OTHER_GPU = "use another browser or device (WebGL promises 8)";

const NAMES: Record<keyof Limits, readonly [keyof WebGLRenderingContext & `MAX_${string}`, string]> = {
  texture_units: ["MAX_TEXTURE_IMAGE_UNITS", OTHER_GPU],
  texture_size: ["MAX_TEXTURE_SIZE", SMALLER],
  fragment_uniform_vectors: ["MAX_FRAGMENT_UNIFORM_VECTORS", "export the model with --weights baked"],
  varying_vectors: ["MAX_VARYING_VECTORS", OTHER_GPU],
  vertex_attributes: ["MAX_VERTEX_ATTRIBS", OTHER_GPU],
};

/**
 * Refuse a driver that offers less than a bundle needs.
 *
 * @throws LimitError naming every limit that is too small.
 */
export function require(needed: Limits, gl: WebGLRenderingContext): void {
  const lacks: string[] = [];
  const advice = new Set<string>();
  for (const field of Object.keys(NAMES) as (keyof Limits)[]) {
    const [name, help] = NAMES[field];
    const offered = gl.getParameter(gl[name]) as number;
    if (offered >= needed[field]) continue;
    lacks.push(`${name} is ${offered}, the model needs ${needed[field]}`);
    advice.add(help);
  }
  if (!lacks.length) return;
  throw new LimitError(
    `this GPU (${renderer(gl)}) is too small for the model: ${lacks.join("; ")}; ${[...advice].join(", and ")}`,
  );
}

/**
 * Refuse a GPU whose fragment shaders have no 32-bit floats: stored values would be off by steps.
 *
 * @throws ContextError saying what it has.
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

/** Return what the GPU is called, as far as the browser tells. */
export function renderer(gl: WebGLRenderingContext): string {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}
