/** GL objects, all deleted on close. */

import { GlError, ShaderError } from "../errors.ts";
import type { Texels } from "../texels.ts";

/** Textures, framebuffers, buffers and programs of one user of a context. */
export type Objects = ReturnType<typeof objectsOf>;

/** Return functions that create objects of a context, and a function that deletes them. */
export function objectsOf(gl: WebGLRenderingContext) {
  const shaders = new Map<string, WebGLShader>();
  /** Functions that delete the objects. */
  const deleters: (() => void)[] = [];

  function keep<T>(handle: T | null, kind: string, remove: (handle: T) => void): T {
    if (!handle) throw new GlError(`WebGL cannot create a ${kind}`);
    deleters.push(() => remove(handle));
    return handle;
  }

  /** Disable features that change stored values (dithering is on by default) or uploaded pixels. */
  function setFixedState(): void {
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

  /** Create and bind an RGBA8 texture, with nearest filtering, clamped to its edge, and zero without texels. */
  function texture(width: number, height: number, texels: Uint8Array | null = null): WebGLTexture {
    const created = keep(gl.createTexture(), "texture", (object) => gl.deleteTexture(object));
    gl.bindTexture(gl.TEXTURE_2D, created);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ] as const) {
      gl.texParameteri(gl.TEXTURE_2D, name, value);
    }
    return created;
  }

  /**
   * Create and bind a framebuffer that renders into `target`.
   *
   * @throws GlError the driver cannot render into it.
   */
  function framebuffer(target: WebGLTexture): WebGLFramebuffer {
    const created = keep(gl.createFramebuffer(), "framebuffer", (object) => gl.deleteFramebuffer(object));
    gl.bindFramebuffer(gl.FRAMEBUFFER, created);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
    const status = gl.checkFramebufferStatus(gl.FRAMEBUFFER);
    if (status !== gl.FRAMEBUFFER_COMPLETE && !gl.isContextLost()) {
      throw new GlError(`the driver cannot render into an RGBA8 texture (framebuffer status 0x${status.toString(16)})`);
    }
    return created;
  }

  /** Create and bind a vertex buffer. */
  function buffer(data: Float32Array): WebGLBuffer {
    const created = keep(gl.createBuffer(), "buffer", (object) => gl.deleteBuffer(object));
    gl.bindBuffer(gl.ARRAY_BUFFER, created);
    gl.bufferData(gl.ARRAY_BUFFER, data as Float32Array<ArrayBuffer>, gl.STATIC_DRAW);
    return created;
  }

  function shader(kind: number, source: string): WebGLShader {
    const key = `${kind}\n${source}`;
    const cached = shaders.get(key);
    if (cached) return cached;
    const created = keep(gl.createShader(kind), "shader", (object) => gl.deleteShader(object));
    shaders.set(key, created);
    gl.shaderSource(created, source);
    gl.compileShader(created);
    return created;
  }

  /** Compile, link and check a program whose only attribute is a position; see `startProgram` and `checkProgram`. */
  function program(vertex: string, fragment: string, where: string): WebGLProgram {
    const started = startProgram(vertex, fragment, ["position"]);
    checkProgram(started, vertex, fragment, where);
    return started;
  }

  /** Start to compile and link; the k-th attribute has location k. No status is queried, so nothing waits. */
  function startProgram(vertex: string, fragment: string, attributes: readonly string[]): WebGLProgram {
    const created = keep(gl.createProgram(), "program", (object) => gl.deleteProgram(object));
    gl.attachShader(created, shader(gl.VERTEX_SHADER, vertex));
    gl.attachShader(created, shader(gl.FRAGMENT_SHADER, fragment));
    attributes.forEach((name, location) => gl.bindAttribLocation(created, location, name));
    gl.linkProgram(created);
    return created;
  }

  /**
   * Throw ShaderError with the driver's log if the program did not compile and link; `where` is its name in messages.
   */
  function checkProgram(started: WebGLProgram, vertex: string, fragment: string, where: string): void {
    // Linked implies compiled, and a single query waits for less time than three.
    if (gl.getProgramParameter(started, gl.LINK_STATUS) || gl.isContextLost()) {
      // A driver keeps attached shaders, with their text and compiled form.
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

  /** Delete the shader objects, which linked programs do not need. The deletion on close has no effect on them. */
  function dropShaders(): void {
    for (const shader of shaders.values()) gl.deleteShader(shader);
    shaders.clear();
  }

  /** Return a rectangle of the bound framebuffer, starting with row y. */
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
    for (const remove of deleters.splice(0)) remove();
  }

  return { setFixedState, texture, framebuffer, buffer, program, startProgram, checkProgram, dropShaders, read, close };
}

function log(text: string | null): string {
  return text?.replace(/\0/g, "").trim() || "(the driver gives no reason)";
}
