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

/** Draws pictures into the input of one session; needs that session's vertex arrays and fixed state. */
export class Preprocessor {
  private readonly source: WebGLTexture;
  private readonly rows: WebGLTexture;
  private readonly rowsFramebuffer: WebGLFramebuffer;
  private readonly scalers = new Map<string, Scaler>();
  private side = 0;

  constructor(
    private readonly gl: WebGLRenderingContext,
    private readonly objects: Objects,
    private readonly prelude: string,
    private readonly place: Place,
  ) {
    this.source = objects.texture(1, 1);
    this.rows = objects.texture(1, 1);
    this.rowsFramebuffer = objects.framebuffer(this.rows);
  }

  /**
   * Scale a picture into the network's input.
   *
   * @throws ImageError it has no pixels yet, or more than a texture holds.
   */
  draw(picture: PictureSource): void {
    const { gl, place } = this;
    const [width, height] = sizeOf(picture);
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (!width || !height) throw new ImageError("the picture has no pixels (yet): wait until it is loaded or plays");
    if (width > most || height > most) {
      throw new ImageError(`the picture has ${width} x ${height} pixels, this GPU takes ${most} a side; shrink it first`);
    }
    const side = Math.min(width, height);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.source);
    try {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
    } catch {
      throw new ImageError("the browser does not give this picture's pixels away: it comes from another site without CORS");
    }
    const scaler = this.scaler(side);
    gl.useProgram(scaler.program);
    gl.uniform1i(scaler.at.source, 0);
    gl.uniform1f(scaler.at.side, side);
    gl.uniform1f(scaler.at.size, place.size);

    gl.bindFramebuffer(gl.FRAMEBUFFER, this.rowsFramebuffer);
    if (side !== this.side) this.resizeRows(side);
    gl.bindTexture(gl.TEXTURE_2D, this.source);
    gl.viewport(0, 0, place.size, side);
    gl.uniform2f(scaler.at.extent, place.size, side);
    gl.uniform2f(scaler.at.texel, 1 / width, 1 / height);
    gl.uniform2f(scaler.at.origin, Math.floor((width - side) / 2), Math.floor((height - side) / 2));
    gl.uniform2f(scaler.at.axis, 1, 0);
    gl.drawArrays(gl.TRIANGLES, WHOLE_VIEWPORT.first, WHOLE_VIEWPORT.count);

    gl.bindFramebuffer(gl.FRAMEBUFFER, place.framebuffer);
    gl.bindTexture(gl.TEXTURE_2D, this.rows);
    gl.viewport(place.x, place.y, place.size, place.size);
    gl.uniform2f(scaler.at.extent, place.size, place.size);
    gl.uniform2f(scaler.at.texel, 1 / place.size, 1 / side);
    gl.uniform2f(scaler.at.origin, 0, 0);
    gl.uniform2f(scaler.at.axis, 0, 1);
    gl.drawArrays(gl.TRIANGLES, WHOLE_VIEWPORT.first, WHOLE_VIEWPORT.count);
  }

  private resizeRows(side: number): void {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.rows);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, this.place.size, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    this.side = side;
  }

  /** Return the program for a square of `side` texels: loops of GLSL ES 1.00 have a constant length. */
  private scaler(side: number): Scaler {
    const { size } = this.place;
    const enlarge = side < size;
    const taps = enlarge ? 2 : Math.ceil(side / size) + 1;
    const lines = `${enlarge ? "#define ENLARGE\n" : ""}#define TAPS ${taps}\n`;
    const known = this.scalers.get(lines);
    if (known) return known;
    const program = this.objects.program(VERTEX, this.prelude + lines + FRAGMENT, ["position"], "preprocessing");
    this.objects.dropShaders();
    const at = Object.fromEntries(UNIFORMS.map((name) => [name, this.gl.getUniformLocation(program, name)]));
    const scaler = { program, at: at as Scaler["at"] };
    this.scalers.set(lines, scaler);
    return scaler;
  }
}

/** Return width and height of a picture's pixels; 0 where there are none yet. */
export function sizeOf(picture: PictureSource): [number, number] {
  if ("videoWidth" in picture) return [picture.videoWidth, picture.videoHeight];
  if ("naturalWidth" in picture) return [picture.naturalWidth, picture.naturalHeight];
  if ("displayWidth" in picture) return [picture.displayWidth, picture.displayHeight];
  return [picture.width, picture.height];
}
