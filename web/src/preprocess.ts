/**
 * From any picture to the texels that a network reads, in two draws: docs/bundle-format.md, "preprocessing".
 *
 * The centred square is scaled by exact area average (shrinking) or bilinearly (enlarging), first along rows, then along
 * columns. Between the two a pixel is rounded to bytes, which the definition does not do when it shrinks: the result is
 * within one step of it.
 */

import { ImageError } from "./errors.ts";
import { WHOLE_VIEWPORT } from "./frame.ts";
import type { Objects } from "./gl/objects.ts";
import FRAGMENT from "./glsl/preprocess.frag";
import VERTEX from "./glsl/preprocess.vert";

/** What a picture may be: a video, an image, a canvas, or pixels. */
export type PictureSource = TexImageSource;

const UNIFORMS = ["source", "texel", "origin", "axis", "side", "size", "extent"] as const;

interface Scaler {
  readonly program: WebGLProgram;
  readonly at: Readonly<Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>>;
}

/** Where the network's picture lies: framebuffer of the input's texture, and the rectangle in it. */
export interface Place {
  readonly framebuffer: WebGLFramebuffer;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

/** Scales a picture into the network's input. */
export type Preprocessor = (picture: PictureSource) => void;

/**
 * Return what draws pictures into the input of one session; it needs that session's vertex arrays and fixed state.
 *
 * It throws ImageError where a picture has no pixels yet, or more than a texture holds.
 */
export function preprocessorOf(gl: WebGLRenderingContext, objects: Objects, prelude: string, place: Place): Preprocessor {
  const { size } = place;
  const source = objects.texture(1, 1);
  const rows = objects.texture(1, 1);
  const rowsFramebuffer = objects.framebuffer(rows);
  const scalers = new Map<string, Scaler>();
  let rowsSide = 0;

  /** Return the program for a square of `side` texels: loops of GLSL ES 1.00 have a constant length. */
  function scalerFor(side: number): Scaler {
    const enlarge = side < size;
    const taps = enlarge ? 2 : Math.ceil(side / size) + 1;
    const lines = `${enlarge ? "#define ENLARGE\n" : ""}#define TAPS ${taps}\n`;
    const known = scalers.get(lines);
    if (known) return known;
    const program = objects.program(VERTEX, prelude + lines + FRAGMENT, ["position"], "preprocessing");
    objects.dropShaders();
    const at = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
    const scaler = { program, at: at as Scaler["at"] };
    scalers.set(lines, scaler);
    return scaler;
  }

  return (picture) => {
    const [width, height] = sizeOf(picture);
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (!width || !height) throw new ImageError("the picture has no pixels (yet): wait until it is loaded or plays");
    if (width > most || height > most) {
      throw new ImageError(`the picture has ${width} x ${height} pixels, this GPU takes ${most} a side; shrink it first`);
    }
    const side = Math.min(width, height);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, source);
    try {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
    } catch {
      throw new ImageError("the browser does not give this picture's pixels away: it comes from another site without CORS");
    }
    const { program, at } = scalerFor(side);
    gl.useProgram(program);
    gl.uniform1i(at.source, 0);
    gl.uniform1f(at.side, side);
    gl.uniform1f(at.size, size);

    gl.bindFramebuffer(gl.FRAMEBUFFER, rowsFramebuffer);
    if (side !== rowsSide) {
      gl.bindTexture(gl.TEXTURE_2D, rows);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, size, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      rowsSide = side;
    }
    gl.bindTexture(gl.TEXTURE_2D, source);
    gl.viewport(0, 0, size, side);
    gl.uniform2f(at.extent, size, side);
    gl.uniform2f(at.texel, 1 / width, 1 / height);
    gl.uniform2f(at.origin, Math.floor((width - side) / 2), Math.floor((height - side) / 2));
    gl.uniform2f(at.axis, 1, 0);
    gl.drawArrays(gl.TRIANGLES, WHOLE_VIEWPORT.first, WHOLE_VIEWPORT.count);

    gl.bindFramebuffer(gl.FRAMEBUFFER, place.framebuffer);
    gl.bindTexture(gl.TEXTURE_2D, rows);
    gl.viewport(place.x, place.y, size, size);
    gl.uniform2f(at.extent, size, size);
    gl.uniform2f(at.texel, 1 / size, 1 / side);
    gl.uniform2f(at.origin, 0, 0);
    gl.uniform2f(at.axis, 0, 1);
    gl.drawArrays(gl.TRIANGLES, WHOLE_VIEWPORT.first, WHOLE_VIEWPORT.count);
  };
}

/** Return width and height of a picture's pixels; 0 where there are none yet. */
export function sizeOf(picture: PictureSource): [number, number] {
  if ("videoWidth" in picture) return [picture.videoWidth, picture.videoHeight];
  if ("naturalWidth" in picture) return [picture.naturalWidth, picture.naturalHeight];
  if ("displayWidth" in picture) return [picture.displayWidth, picture.displayHeight];
  return [picture.width, picture.height];
}
