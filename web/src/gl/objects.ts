/** GL objects and their end: whatever is made here is deleted on close. */

import { GlError, ShaderError } from "../errors.ts";
import type { Texels } from "../texels.ts";

/** Textures, framebuffers, buffers and programs of one user of a context. */
export type Objects = ReturnType<typeof objectsOf>;

/** Return functions that make objects of a context, and delete all that they have made. */
export function objectsOf(gl: WebGLRenderingContext) {
  const shaders = new Map<string, WebGLShader>();
  /** What deletes each object. */
  const ends: (() => void)[] = [];

  function keep<T>(made: T | null, what: string, end: (made: T) => void): T {
    if (!made) throw new GlError(`the browser makes no ${what}`);
    ends.push(() => end(made));
    return made;
  }

  /** Switch off what would change stored values (dithering is on by default), and whatever changes uploaded pixels. */
  function fixedState(): void {
    for (const name of [gl.DITHER, gl.BLEND, gl.SCISSOR_TEST, gl.DEPTH_TEST, gl.STENCIL_TEST, gl.CULL_FACE]) {
      gl.disable(name);
    }
    gl.colorMask(true, true, true, true);
    for (const [name, value] of [
      [gl.UNPACK_ALIGNMENT, 4],
      [gl.PACK_ALIGNMENT, 4],
      [gl.UNPACK_FLIP_Y_WEBGL, 0],
      [gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, 0],
      [gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE],
    ] as const) {
      gl.pixelStorei(name, value);
    }
  }

  /** Make an RGBA8 texture (zeros unless given 4 * width * height bytes): nearest, clamped to the edge; bind it. */
  function texture(width: number, height: number, texels: Uint8Array | null = null): WebGLTexture {
    const made = keep(gl.createTexture(), "texture", (object) => gl.deleteTexture(object));
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ] as const) {
      gl.texParameteri(gl.TEXTURE_2D, name, value);
    }
    return made;
  }

  /**
   * Make a framebuffer that renders into `target`, and bind it.
   *
   * @throws GlError the driver cannot render into it.
   */
  function framebuffer(target: WebGLTexture): WebGLFramebuffer {
    const made = keep(gl.createFramebuffer(), "framebuffer", (object) => gl.deleteFramebuffer(object));
    gl.bindFramebuffer(gl.FRAMEBUFFER, made);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
    const status = gl.checkFramebufferStatus(gl.FRAMEBUFFER);
    if (status !== gl.FRAMEBUFFER_COMPLETE && !gl.isContextLost()) {
      throw new GlError(`the driver cannot render into an RGBA8 texture (framebuffer status 0x${status.toString(16)})`);
    }
    return made;
  }

  /** Make a vertex buffer, and bind it. */
  function buffer(data: Float32Array): WebGLBuffer {
    const made = keep(gl.createBuffer(), "buffer", (object) => gl.deleteBuffer(object));
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, data as Float32Array<ArrayBuffer>, gl.STATIC_DRAW);
    return made;
  }

  function shader(kind: number, source: string): WebGLShader {
    const key = `${kind}\n${source}`;
    const known = shaders.get(key);
    if (known) return known;
    const made = keep(gl.createShader(kind), "shader", (object) => gl.deleteShader(object));
    shaders.set(key, made);
    gl.shaderSource(made, source);
    gl.compileShader(made);
    return made;
  }

  /** Compile, link and check one program that has a position alone; see `startProgram` and `checkProgram`. */
  function program(vertex: string, fragment: string, where: string): WebGLProgram {
    const started = startProgram(vertex, fragment, ["position"]);
    checkProgram(started, vertex, fragment, where);
    return started;
  }

  /** Begin to compile and link; the k-th attribute gets location k. Asks for no status, so nothing waits. */
  function startProgram(vertex: string, fragment: string, attributes: readonly string[]): WebGLProgram {
    const made = keep(gl.createProgram(), "program", (object) => gl.deleteProgram(object));
    gl.attachShader(made, shader(gl.VERTEX_SHADER, vertex));
    gl.attachShader(made, shader(gl.FRAGMENT_SHADER, fragment));
    attributes.forEach((name, location) => gl.bindAttribLocation(made, location, name));
    gl.linkProgram(made);
    return made;
  }

  /** Throw ShaderError with the driver's log unless the program compiled and linked; `where` names it. */
  function checkProgram(started: WebGLProgram, vertex: string, fragment: string, where: string): void {
    // Linked means compiled; and one question waits for less than three do.
    if (gl.getProgramParameter(started, gl.LINK_STATUS) || gl.isContextLost()) {
      // A driver keeps shaders as long as they are attached, with their text and what it made of that.
      for (const attached of gl.getAttachedShaders(started) ?? []) gl.detachShader(started, attached);
      return;
    }
    for (const [kind, label, source] of [
      [gl.VERTEX_SHADER, "vertex", vertex],
      [gl.FRAGMENT_SHADER, "fragment", fragment],
    ] as const) {
      const compiled = shader(kind, source);
      if (!gl.getShaderParameter(compiled, gl.COMPILE_STATUS)) {
        throw new ShaderError(`${where}: the driver refuses the ${label} shader:\n${log(gl.getShaderInfoLog(compiled))}`);
      }
    }
    throw new ShaderError(`${where}: the driver cannot link the shaders:\n${log(gl.getProgramInfoLog(started))}`);
  }

  /** Delete the shader objects; linked programs keep what they need, and deleting once more on close does nothing. */
  function dropShaders(): void {
    for (const shader of shaders.values()) gl.deleteShader(shader);
    shaders.clear();
  }

  /** Return a rectangle of the bound framebuffer, row y first. */
  function read(x: number, y: number, width: number, height: number): Texels {
    const data = new Uint8Array(4 * width * height);
    gl.readPixels(x, y, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
    return { width, height, data };
  }

  /** Delete everything. */
  function close(): void {
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.useProgram(null);
    dropShaders();
    for (const end of ends.splice(0)) end();
  }

  return { fixedState, texture, framebuffer, buffer, program, startProgram, checkProgram, dropShaders, read, close };
}

function log(text: string | null): string {
  return text?.replace(/\0/g, "").trim() || "(the driver gives no reason)";
}
