/**
 * Preprocessing in two draws, from an image of any size to an input's texels: docs/reference/bundle-format.md,
 * "preprocessing".
 *
 * The region of the image is scaled by the exact area average (shrinking) or bilinearly (enlarging), along one axis
 * after the other, shrinking first. Between the draws, pixels are rounded to bytes, unlike in the definition if both
 * axes shrink: the result differs by at most one step.
 */

import { ImageError } from "./errors.ts";
import { fitted } from "./fits.ts";
import { drawWholeViewport } from "./frame.ts";
import type { Objects } from "./gl/objects.ts";
import FRAGMENT from "./glsl/preprocess.frag";
import VERTEX from "./glsl/viewport.vert";
import type { FeatureMap } from "./layout.ts";
import type { Fit } from "./manifest.ts";

/** Types of images: a video, an image, a canvas, or pixels. */
export type PictureSource = TexImageSource;

const UNIFORMS = ["source", "texel", "origin", "axis", "side", "size", "keep", "extent"] as const;

type Pair = readonly [number, number];

interface Scaler {
  readonly program: WebGLProgram;
  readonly at: Readonly<Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>>;
}

/** Scales an image into an input of the network. */
export type Preprocessor = (picture: PictureSource) => void;

/**
 * Return a function that draws images into an input of a session; it needs that session's vertex arrays and fixed
 * state.
 *
 * It throws ImageError if an image has no pixels yet, or is larger than a texture can be.
 *
 * @param framebuffer framebuffer of the input's texture.
 * @param value layout of the image in it.
 */
export function preprocessorOf(
  gl: WebGLRenderingContext,
  objects: Objects,
  prelude: string,
  fit: Fit,
  framebuffer: WebGLFramebuffer,
  value: FeatureMap,
): Preprocessor {
  const { channels } = value;
  const { x, y } = value.views[0]!;
  const source = objects.texture(1, 1);
  const between = objects.texture(1, 1);
  const betweenFramebuffer = objects.framebuffer(between);
  const scalers = new Map<string, Scaler>();
  let allocated = "";

  /** Return the program that scales `side` texels to `size` pixels; loops in GLSL ES 1.00 have a constant length. */
  function scalerFor(side: number, size: number): Scaler {
    const enlarge = side < size;
    const taps = enlarge ? 2 : Math.ceil(side / size) + 1;
    const lines = `${enlarge ? "#define ENLARGE\n" : ""}#define TAPS ${taps}\n#define CHANNELS ${channels}\n`;
    const cached = scalers.get(lines);
    if (cached) return cached;
    const program = objects.program(VERTEX, prelude + lines + FRAGMENT, "preprocessing");
    objects.dropShaders();
    const at = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
    const scaler = { program, at: at as Scaler["at"] };
    scalers.set(lines, scaler);
    return scaler;
  }

  /**
   * Scale along one axis (0: rows, 1: columns) into the viewport, which has the size `to`.
   *
   * @param texture of the size `texels`; the region of size `from` at `origin` is used.
   * @param channelCount number of channels of the result; 3 between the draws.
   */
  function scale(axis: 0 | 1, texture: WebGLTexture, texels: Pair, origin: Pair, from: Pair, to: Pair, channelCount: number): void {
    const { program, at } = scalerFor(from[axis], to[axis]);
    gl.useProgram(program);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.uniform1i(at.source, 0);
    gl.uniform1f(at.side, from[axis]);
    gl.uniform1f(at.size, to[axis]);
    gl.uniform2f(at.texel, 1 / texels[0], 1 / texels[1]);
    gl.uniform2f(at.origin, ...origin);
    gl.uniform2f(at.axis, 1 - axis, axis);
    gl.uniform3f(at.keep, 1, channelCount > 1 ? 1 : 0, channelCount > 1 ? 1 : 0);
    gl.uniform2f(at.extent, ...to);
    drawWholeViewport(gl);
  }

  return (picture) => {
    const [width, height] = sizeOf(picture);
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (!width || !height) throw new ImageError("the image has no pixels (yet): wait until it is loaded or plays");
    if (width > most || height > most) {
      throw new ImageError(`the image has ${width} x ${height} pixels, this GPU takes ${most} a side; shrink it first`);
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, source);
    try {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
    } catch {
      throw new ImageError("the browser does not give this image's pixels away: it comes from another site without CORS");
    }
    const { from, to } = fitted(fit, { width, height }, value);
    const begin: Pair = [from.width, from.height];
    const end: Pair = [to.width, to.height];
    const first = end[0] > begin[0] && end[1] < begin[1] ? 1 : 0;
    const middle: Pair = first ? [begin[0], end[1]] : [end[0], begin[1]];

    gl.bindFramebuffer(gl.FRAMEBUFFER, betweenFramebuffer);
    if (allocated !== String(middle)) {
      gl.bindTexture(gl.TEXTURE_2D, between);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, ...middle, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      allocated = String(middle);
    }
    gl.viewport(0, 0, ...middle);
    scale(first, source, [width, height], [from.x, from.y], begin, middle, 3);

    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    if (to.width < value.width || to.height < value.height) {
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(x, y, value.width, value.height);
      gl.clearColor(0, 0, 0, 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.disable(gl.SCISSOR_TEST);
    }
    gl.viewport(x + to.x, y + to.y, ...end);
    scale(first ? 0 : 1, between, middle, [0, 0], middle, end, channels);
  };
}

/** Return width and height of an image in pixels; 0 if it has none yet. */
function sizeOf(picture: PictureSource): [number, number] {
  if ("videoWidth" in picture) return [picture.videoWidth, picture.videoHeight];
  if ("naturalWidth" in picture) return [picture.naturalWidth, picture.naturalHeight];
  if ("displayWidth" in picture) return [picture.displayWidth, picture.displayHeight];
  return [picture.width, picture.height];
}
