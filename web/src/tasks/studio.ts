/** A hidden GPU canvas for cuts of an image and masks over it, without transfers of pixels to the CPU. */

import type { PictureSource } from "glsl-infer";
import TURNED from "../../../shaders/turned.frag";
import MASKED from "../glsl/masked.frag";
import WHOLE from "../glsl/whole.vert";
import type { Extent } from "./anchors.ts";
import type { Cut, Point } from "./cuts.ts";
import type { Seen } from "./masks.ts";
import { sizeOf } from "./picture.ts";

/** Style of pixels outside the mask, or for `tint` of those inside it. */
export type MaskLook = "tint" | "cut" | "blur";

/**
 * Largest number of samples averaged for a pixel of a cut along an axis; a cut that shrinks by more skips some texels.
 */
const MOST_TAPS = 8;
/** Radius of the blur, relative to the image's longer side: that of glsl_infer/tasks/masks.py. */
const BLUR_SHARE = 0.02;
const LOOKS: readonly MaskLook[] = ["tint", "cut", "blur"];
const SQUARE = 16;
const STORE = "precision highp float;\nvec4 store(vec4 value) { return floor(value * 255.0 + 0.5) / 255.0; }\n";

type Uniforms = Readonly<Record<string, readonly number[]>>;

/** Draws cuts and masks on its canvas; `close` it when it is no longer needed. */
export class Studio {
  private readonly _programs = new Map<string, WebGLProgram>();
  private readonly _most: number;
  private _picture: Extent = { width: 0, height: 0 };

  private constructor(
    /** Canvas with the last drawing. */
    readonly canvas: HTMLCanvasElement,
    private readonly _gl: WebGLRenderingContext,
  ) {
    this._most = _gl.getParameter(_gl.MAX_TEXTURE_SIZE) as number;
  }

  /** Return a new studio; undefined if the browser has no context for it. */
  static open(): Studio | undefined {
    const canvas = document.createElement("canvas");
    const gl = canvas.getContext("webgl", { alpha: false, antialias: false, depth: false, preserveDrawingBuffer: true });
    if (!gl) return undefined;
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW); // one triangle covers the viewport
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.disable(gl.DITHER);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
    for (const unit of [gl.TEXTURE0, gl.TEXTURE1]) {
      gl.activeTexture(unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    }
    return new Studio(canvas, gl);
  }

  /** True if the context is lost. */
  get isLost(): boolean {
    return this._gl.isContextLost();
  }

  /** Set the next image; return false if it is too large for a texture. */
  take(picture: PictureSource): boolean {
    const { _gl: gl } = this;
    const { width, height } = sizeOf(picture);
    if (!width || !height || Math.max(width, height) > this._most || this.isLost) return false;
    gl.activeTexture(gl.TEXTURE0);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
    this._picture = { width, height };
    return true;
  }

  /** Draw a valid cut of the image, and return the canvas. */
  cut(cut: Cut, width: number, height: number): HTMLCanvasElement {
    const [first, right, , below] = cut.corners as [Point, Point, Point, Point];
    const across = [(right[0] - first[0]) / width, (right[1] - first[1]) / width] as const;
    const down = [(below[0] - first[0]) / height, (below[1] - first[1]) / height] as const;
    const apart = Math.ceil(Math.max(Math.hypot(...across), Math.hypot(...down)) - 1e-6);
    const taps = Math.max(1, Math.min(MOST_TAPS, apart));
    const size = this._picture;
    return this._drawn(width, height, `#define TAPS ${taps}\n${STORE}${TURNED}`, {
      source_texel: [1 / size.width, 1 / size.height],
      last: [size.width - 1, size.height - 1],
      rectangle: [width, height],
      first: [first[0] - 0.5, first[1] - 0.5],
      across,
      down,
    });
  }

  /** Draw the image with a mask, and return the canvas. */
  masked({ numbers, columns, rows, edge, box, inner }: Seen, look: MaskLook, width: number, height: number): HTMLCanvasElement {
    const { _gl: gl, _picture: size } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    const bytes = Uint8Array.from(numbers, (number) => Math.round(255 * number));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.LUMINANCE, columns, rows, 0, gl.LUMINANCE, gl.UNSIGNED_BYTE, bytes);
    const [left, top, right, bottom] = inner;
    const across = (box[2] - box[0]) / (right - left) / columns;
    const down = (box[3] - box[1]) / (bottom - top) / rows;
    const radius = BLUR_SHARE * Math.max(size.width, size.height);
    return this._drawn(width, height, `#define LOOK ${LOOKS.indexOf(look)}\n${MASKED}`, {
      seen: [across * size.width, down * size.height, box[0] / columns - across * left, box[1] / rows - down * top],
      reach: [left / size.width, top / size.height, right / size.width, bottom / size.height],
      edge,
      ink: [0, 200 / 255, 1],
      radius: [radius / size.width, radius / size.height],
      squares: [width / SQUARE, height / SQUARE],
    });
  }

  /** Release the context. */
  close(): void {
    this._gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  private _drawn(width: number, height: number, fragment: string, uniforms: Uniforms): HTMLCanvasElement {
    const { _gl: gl, canvas } = this;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const program = this._program(fragment);
    gl.useProgram(program);
    for (const [name, numbers] of Object.entries(uniforms)) {
      const setter = (["uniform2fv", "uniform3fv", "uniform4fv"] as const)[numbers.length - 2]!;
      gl[setter](gl.getUniformLocation(program, name), numbers);
    }
    gl.viewport(0, 0, width, height);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    return canvas;
  }

  private _program(fragment: string): WebGLProgram {
    const { _gl: gl } = this;
    const cached = this._programs.get(fragment);
    if (cached) return cached;
    const program = gl.createProgram()!;
    for (const [kind, text] of [[gl.VERTEX_SHADER, WHOLE], [gl.FRAGMENT_SHADER, fragment]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      gl.deleteShader(shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`this browser refuses a shader of cuts and masks: ${gl.getProgramInfoLog(program)}`);
    }
    gl.useProgram(program);
    gl.uniform1i(gl.getUniformLocation(program, "source"), 0);
    gl.uniform1i(gl.getUniformLocation(program, "mask"), 1);
    this._programs.set(fragment, program);
    return program;
  }
}
