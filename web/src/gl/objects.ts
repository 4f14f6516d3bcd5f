/** GL objects and their end: whatever is made here is deleted on close. */

import { GlError, ShaderError } from "../errors.ts";
import type { Texels } from "../texels.ts";

type GL = WebGLRenderingContext;

/** Textures, framebuffers, buffers and programs of one user of a context. */
export class Objects {
  private readonly textures: WebGLTexture[] = [];
  private readonly framebuffers: WebGLFramebuffer[] = [];
  private readonly buffers: WebGLBuffer[] = [];
  private readonly shaders = new Map<string, WebGLShader>();
  private readonly programs: WebGLProgram[] = [];

  constructor(private readonly gl: GL) {}

  /** Switch off what would change stored values (dithering is on by default), and whatever changes uploaded pixels. */
  fixedState(): void {
    const { gl } = this;
    for (const name of [gl.DITHER, gl.BLEND, gl.SCISSOR_TEST, gl.DEPTH_TEST, gl.STENCIL_TEST, gl.CULL_FACE]) {
      gl.disable(name);
    }
    gl.colorMask(true, true, true, true);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    gl.pixelStorei(gl.PACK_ALIGNMENT, 4);
    gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  }

  /** Make an RGBA8 texture (zeros unless given 4 * width * height bytes): nearest, clamped to the edge; bind it. */
  texture(width: number, height: number, texels: Uint8Array | null = null): WebGLTexture {
    const { gl } = this;
    const texture = this.keep(gl.createTexture(), this.textures, "texture");
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  /**
   * Make a framebuffer that renders into `texture`, and bind it.
   *
   * @throws GlError the driver cannot render into it.
   */
  framebuffer(texture: WebGLTexture): WebGLFramebuffer {
    const { gl } = this;
    const framebuffer = this.keep(gl.createFramebuffer(), this.framebuffers, "framebuffer");
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    const status = gl.checkFramebufferStatus(gl.FRAMEBUFFER);
    if (status !== gl.FRAMEBUFFER_COMPLETE && !gl.isContextLost()) {
      throw new GlError(`the driver cannot render into an RGBA8 texture (framebuffer status 0x${status.toString(16)})`);
    }
    return framebuffer;
  }

  /** Make a vertex buffer, and bind it. */
  buffer(data: Float32Array): WebGLBuffer {
    const { gl } = this;
    const buffer = this.keep(gl.createBuffer(), this.buffers, "buffer");
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data as Float32Array<ArrayBuffer>, gl.STATIC_DRAW);
    return buffer;
  }

  /** Compile, link and check one program; see `startProgram` and `checkProgram`. */
  program(vertex: string, fragment: string, attributes: readonly string[], where: string): WebGLProgram {
    const program = this.startProgram(vertex, fragment, attributes);
    this.checkProgram(program, vertex, fragment, where);
    return program;
  }

  /** Begin to compile and link; the k-th attribute gets location k. Asks for no status, so nothing waits. */
  startProgram(vertex: string, fragment: string, attributes: readonly string[]): WebGLProgram {
    const { gl } = this;
    const program = this.keep(gl.createProgram(), this.programs, "program");
    gl.attachShader(program, this.shader(gl.VERTEX_SHADER, vertex));
    gl.attachShader(program, this.shader(gl.FRAGMENT_SHADER, fragment));
    attributes.forEach((name, location) => gl.bindAttribLocation(program, location, name));
    gl.linkProgram(program);
    return program;
  }

  /** Throw ShaderError with the driver's log unless the program compiled and linked; `where` names it. */
  checkProgram(program: WebGLProgram, vertex: string, fragment: string, where: string): void {
    const { gl } = this;
    // Linked means compiled; and one question waits for less than three do.
    if (gl.getProgramParameter(program, gl.LINK_STATUS) || gl.isContextLost()) return;
    for (const [kind, label, source] of [
      [gl.VERTEX_SHADER, "vertex", vertex],
      [gl.FRAGMENT_SHADER, "fragment", fragment],
    ] as const) {
      const shader = this.shader(kind, source);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
        throw new ShaderError(`${where}: the driver refuses the ${label} shader:\n${log(gl.getShaderInfoLog(shader))}`);
      }
    }
    throw new ShaderError(`${where}: the driver cannot link the shaders:\n${log(gl.getProgramInfoLog(program))}`);
  }

  /** Delete the shader objects; linked programs keep what they need. */
  dropShaders(): void {
    for (const shader of this.shaders.values()) this.gl.deleteShader(shader);
    this.shaders.clear();
  }

  /** Return a rectangle of the bound framebuffer, row y first. */
  read(x: number, y: number, width: number, height: number): Texels {
    const data = new Uint8Array(4 * width * height);
    this.gl.readPixels(x, y, width, height, this.gl.RGBA, this.gl.UNSIGNED_BYTE, data);
    return { width, height, data };
  }

  /** Delete everything. */
  close(): void {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.useProgram(null);
    this.framebuffers.splice(0).forEach((one) => gl.deleteFramebuffer(one));
    this.textures.splice(0).forEach((one) => gl.deleteTexture(one));
    this.buffers.splice(0).forEach((one) => gl.deleteBuffer(one));
    this.dropShaders();
    this.programs.splice(0).forEach((one) => gl.deleteProgram(one));
  }

  private shader(kind: number, source: string): WebGLShader {
    const { gl } = this;
    const key = `${kind}\n${source}`;
    const known = this.shaders.get(key);
    if (known) return known;
    const shader = gl.createShader(kind);
    if (!shader) throw new GlError("the browser makes no shader");
    this.shaders.set(key, shader);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    return shader;
  }

  private keep<T>(made: T | null, list: T[], what: string): T {
    if (!made) throw new GlError(`the browser makes no ${what}`);
    list.push(made);
    return made;
  }
}

function log(text: string | null): string {
  return text?.replace(/\0/g, "").trim() || "(the driver gives no reason)";
}
