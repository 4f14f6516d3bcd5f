/**
 * From any picture to the texels that a network reads, in two draws: docs/bundle-format.md, "preprocessing".
 *
 * The centred square is scaled by exact area average (shrinking) or bilinearly (enlarging), first along rows, then along
 * columns. Between the two a pixel is rounded to bytes, which the definition does not do when it shrinks: the result is
 * within one step of it.
 */

import { ImageError } from "./errors.ts";
import { drawWholeViewport } from "./frame.ts";
import type { Objects } from "./gl/objects.ts";
import FRAGMENT from "./glsl/preprocess.frag";
import VERTEX from "./glsl/viewport.vert";

/** What a picture may be: a video, an image, a canvas, or pixels. */
export type PictureSource = TexImageSource;

const UNIFORMS = ["source", "texel", "origin", "axis", "side", "size", "extent"] as const;

type Pair = readonly [number, number];

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
    const program = objects.program(VERTEX, prelude + lines + FRAGMENT, "preprocessing");
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

    /** Scale along one axis: from a texture of so many texels, from `origin` on, to so many rows of `size` pixels. */
    function scale(texture: WebGLTexture, texels: Pair, origin: Pair, axis: Pair, lines: number): void {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform2f(at.texel, 1 / texels[0], 1 / texels[1]);
      gl.uniform2f(at.origin, ...origin);
      gl.uniform2f(at.axis, ...axis);
      gl.uniform2f(at.extent, size, lines);
      drawWholeViewport(gl);
    }

    gl.bindFramebuffer(gl.FRAMEBUFFER, rowsFramebuffer);
    if (side !== rowsSide) {
      gl.bindTexture(gl.TEXTURE_2D, rows);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, size, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
      rowsSide = side;
    }
    gl.viewport(0, 0, size, side);
    const corner: Pair = [Math.floor((width - side) / 2), Math.floor((height - side) / 2)];
    scale(source, [width, height], corner, [1, 0], side);

    gl.bindFramebuffer(gl.FRAMEBUFFER, place.framebuffer);
    gl.viewport(place.x, place.y, size, size);
    scale(rows, [size, side], [0, 0], [0, 1], size);
  };
}

/** Return width and height of a picture's pixels; 0 where there are none yet. */
function sizeOf(picture: PictureSource): [number, number] {
  if ("videoWidth" in picture) return [picture.videoWidth, picture.videoHeight];
  if ("naturalWidth" in picture) return [picture.naturalWidth, picture.naturalHeight];
  if ("displayWidth" in picture) return [picture.displayWidth, picture.displayHeight];
  return [picture.width, picture.height];
}
