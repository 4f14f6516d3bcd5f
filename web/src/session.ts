/** Runs a bundle on the GPU. */

import { layersOf, valuesOf, type Bundle } from "./bundle.ts";
import { GlError, ImageError, InputError, RunError, SelfCheckError } from "./errors.ts";
import { Recorder, vertices, type Call, type Handles, type Linked } from "./frame.ts";
import { Context, type Canvas } from "./gl/context.ts";
import { require, requireMemory } from "./gl/limits.ts";
import { Objects } from "./gl/objects.ts";
import { shapeOf, sizeOfFixed, texturesOf, type Value } from "./layout.ts";
import { PRELUDE, type Layer, type Pass, type Texture } from "./manifest.ts";
import { Preprocessor, type PictureSource } from "./preprocess.ts";
import * as probe from "./probe.ts";
import { unpack, type Texels } from "./texels.ts";

/** Numbers and their shape, in row-major order: (classes,) of logits, (height, width, channels) of a feature map. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** RGBA bytes at the model's size, or anything that a texture can be made of. */
export type Picture = Uint8Array | Uint8ClampedArray | PictureSource;

/** What one frame takes: exact counts. */
export interface Statistics {
  /** Draws. */
  readonly passes: number;
  /** Changes of render target. */
  readonly jobs: number;
  readonly programs: number;
  /** GL calls or pairs of calls between upload and read-back. */
  readonly calls: number;
  /** Bytes of all the model's textures, 4 a texel. */
  readonly textureBytes: number;
}

/** Everything that lives in the GPU, and is gone when the context was lost. */
interface Prepared {
  readonly generation: number;
  readonly objects: Objects;
  readonly handles: Handles;
  readonly vertexBuffer: WebGLBuffer;
  readonly frame: readonly Call[];
  readonly layerCalls: ReadonlyMap<string, readonly Call[]>;
  readonly preprocessor: Preprocessor;
}

/** A bundle, compiled and ready on a WebGL 1 context; `close` it when it is no longer needed. */
export class Session {
  readonly context: Context;
  private readonly textures: ReadonlyMap<string, Texture>;
  private readonly values: ReadonlyMap<string, Value>;
  private readonly varyings: number;
  private prepared: Prepared | undefined;
  private closed = false;
  private checked = false;

  /**
   * @param bundle what `read` or `fetchBundle` returned.
   * @param canvas whose context to use; by default one that nobody sees.
   * @throws ContextError, LimitError this browser or this GPU will not do.
   * @throws ShaderError the driver refuses a shader; names the layer and quotes the driver.
   */
  constructor(
    readonly bundle: Bundle,
    canvas?: Canvas,
  ) {
    const { manifest } = bundle;
    this.textures = new Map(manifest.textures.map((texture) => [texture.name, texture]));
    this.values = valuesOf(manifest);
    this.varyings = manifest.limits.varying_vectors;
    this.context = Context.of(canvas);
    try {
      this.context.requireUsable();
      require(manifest.limits, this.context.gl);
      requireMemory(manifest.textures);
      this.enter();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Wait until the model can run: its context may be lost for a while.
   *
   * @throws RunError the session is closed.
   * @throws ContextLostError the context did not come back within 10 seconds.
   */
  async whenUsable(): Promise<void> {
    if (!this.closed) await this.context.whenUsable();
    if (this.closed) throw new RunError("the session is closed");
  }

  /** Side of the picture that the model reads, in pixels. */
  get size(): number {
    return this.bundle.manifest.input.size;
  }

  /**
   * Return the output for a picture.
   *
   * @param picture RGBA bytes of size x size pixels, which are uploaded as they are; or a video, an image, a canvas,
   *     pixels of any size, of which the centred square is scaled by the one definition of preprocessing.
   * @throws ImageError the picture cannot be used.
   * @throws ContextLostError the context is lost: wait for `whenUsable()`.
   * @throws GlError the driver reports an error in the first frame.
   */
  run(picture: Picture): Tensor {
    const { frame } = this.begin(picture);
    for (const call of frame) call();
    const result = this.read(this.bundle.manifest.outputs[0]!.value);
    this.context.requireUsable(); // what a lost context returned is no result
    if (!this.checked) this.checkErrors("in the first frame");
    this.checked = true;
    return result;
  }

  /**
   * Yield every layer that draws, with its output, in order; each is drawn when it is asked for.
   *
   * Finish the loop before you run anything else on this canvas.
   */
  *layers(picture: Picture): Generator<{ readonly layer: Layer; readonly output: Tensor }> {
    const { layerCalls } = this.begin(picture);
    const layers = layersOf(this.bundle.manifest);
    for (const [name, calls] of layerCalls) {
      for (const call of calls) call();
      const layer = layers.get(name)!;
      yield { layer, output: this.read(layer.output) };
      this.enter();
    }
  }

  /**
   * Run the probe through all layers and return every layer's error, then a whole frame of it.
   *
   * @throws SelfCheckError naming the first layer that is further off than its tolerance.
   */
  selfcheck(): probe.LayerError[] {
    const { manifest, members } = this.bundle;
    const allowed = new Map(manifest.probe.layers.map((layer) => [layer.layer, layer]));
    const member = members.get(manifest.probe.member)!;
    const { layerCalls } = this.begin(probe.picture(this.size));
    const errors: probe.LayerError[] = [];
    for (const [name, calls] of layerCalls) {
      for (const call of calls) call();
      const value = this.values.get(name)!;
      errors.push(probe.compare(allowed.get(name)!, member, value, this.texelsOf(value)));
    }
    const last = this.read(manifest.outputs[0]!.value);
    this.context.requireUsable();
    for (const error of errors) {
      if (!probe.passed(error)) {
        throw new SelfCheckError(
          `layer '${error.layer}' comes out wrong on this driver (${this.context.renderer}): off by up to ${error.worst} ` +
            `(${error.mean.toFixed(2)} in the mean), where ${error.allowed.max_error} ` +
            `(${error.allowed.mean_error.toFixed(2)} in the mean) is tolerated; please report it with these numbers`,
        );
      }
    }
    this.checkWholeFrame(last);
    return errors;
  }

  /** Return what one frame takes. */
  statistics(): Statistics {
    const { manifest } = this.bundle;
    return {
      passes: manifest.passes.length,
      jobs: manifest.passes.filter((one) => one.clear).length,
      programs: manifest.programs.length,
      calls: this.enter().frame.length,
      textureBytes: manifest.textures.reduce((sum, texture) => sum + 4 * texture.width * texture.height, 0),
    };
  }

  /** Return a rectangle of the picture's texture or a target, as it is now. */
  readTexture(name: string, x: number, y: number, width: number, height: number): Texels {
    const { objects, handles } = this.enter();
    const { gl } = this.context;
    const framebuffer = handles.framebuffers.get(name);
    if (!framebuffer) throw new InputError(`no texture '${name}' is rendered into`);
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    return objects.read(x, y, width, height);
  }

  /** Delete every GL object; further calls do nothing. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.prepared?.objects.close();
    if (this.context.owner === this) this.context.owner = null;
    this.context.close();
  }

  // Preparing ------------------------------------------------------------------------------------------------------

  private prepare(): Prepared {
    const { gl, generation } = this.context;
    const { manifest, members } = this.bundle;
    const objects = new Objects(gl);
    try {
      const prelude = ascii(members.get(PRELUDE)!) + this.context.deviceLines;
      objects.fixedState();
      const programs = this.compile(objects, prelude);
      const handles = this.allocate(objects, programs);
      const { data, first } = vertices(manifest, this.varyings);
      const vertexBuffer = objects.buffer(data);
      const recorder = new Recorder(gl, handles, manifest, members, first);
      recorder.setConstantUniforms();
      const byLayer = new Map<string, Pass[]>();
      for (const one of manifest.passes) byLayer.set(one.layer, [...(byLayer.get(one.layer) ?? []), one]);
      const { texture, x, y, size } = manifest.input;
      const place = { framebuffer: handles.framebuffers.get(texture)!, x, y, size };
      return {
        generation,
        objects,
        handles,
        vertexBuffer,
        frame: recorder.record(manifest.passes),
        layerCalls: new Map([...byLayer].map(([name, passes]) => [name, recorder.record(passes)])),
        preprocessor: new Preprocessor(gl, objects, prelude, place),
      };
    } catch (error) {
      objects.close();
      throw error;
    }
  }

  private compile(objects: Objects, prelude: string): Map<string, Linked> {
    const { gl } = this.context;
    const { manifest, members } = this.bundle;
    const attributes = ["position", ...Array.from({ length: this.varyings }, (_, index) => `corner${index}`)];
    const started = manifest.programs.map((entry) => {
      const vertex = ascii(members.get(entry.vertex)!);
      const fragment = prelude + ascii(members.get(entry.fragment)!);
      return { entry, vertex, fragment, program: objects.startProgram(vertex, fragment, attributes) };
    });
    const users = new Map([...manifest.passes].reverse().map((one) => [one.program, one.layer]));
    const linked = new Map<string, Linked>();
    for (const { entry, vertex, fragment, program } of started) {
      const where = `layer '${users.get(entry.name) ?? entry.name}' on ${this.context.renderer}`;
      objects.checkProgram(program, vertex, fragment, where);
      gl.useProgram(program);
      entry.samplers.forEach((sampler, unit) => gl.uniform1i(gl.getUniformLocation(program, sampler), unit));
      const locations = new Map([...entry.uniforms.keys()].map((name) => [name, gl.getUniformLocation(program, name)]));
      linked.set(entry.name, { program, locations });
    }
    objects.dropShaders();
    return linked;
  }

  /** Make textures, and framebuffers of all that are drawn into; a target is filled with its `clear`. */
  private allocate(objects: Objects, programs: Map<string, Linked>): Handles {
    const { gl } = this.context;
    const textures = new Map<string, WebGLTexture>();
    const framebuffers = new Map<string, WebGLFramebuffer>();
    for (const { name, width, height, kind, member, clear } of this.textures.values()) {
      const texels = member === undefined ? null : this.bundle.members.get(member)!;
      const texture = objects.texture(width, height, texels);
      textures.set(name, texture);
      if (kind === "constant") continue;
      framebuffers.set(name, objects.framebuffer(texture));
      gl.clearColor(clear[0] / 255, clear[1] / 255, clear[2] / 255, clear[3] / 255);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    return { programs, textures, framebuffers };
  }

  // The state of the context ---------------------------------------------------------------------------------------

  /** Make the context's vertex arrays and fixed state this session's, and everything anew where it was lost. */
  private enter(): Prepared {
    if (this.closed) throw new RunError("the session is closed");
    const { context } = this;
    context.requireUsable();
    if (this.prepared?.generation !== context.generation) {
      context.owner = null;
      this.checked = false;
      this.prepared = this.prepare();
      this.checkErrors("after preparing the model");
    }
    const { prepared } = this;
    if (context.owner === this) return prepared;
    context.owner = this;
    const { gl } = context;
    prepared.objects.fixedState();
    gl.bindBuffer(gl.ARRAY_BUFFER, prepared.vertexBuffer);
    const stride = 4 * (2 + 4 * this.varyings);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, stride, 0);
    gl.enableVertexAttribArray(0);
    const attributes = gl.getParameter(gl.MAX_VERTEX_ATTRIBS) as number;
    for (let index = 1; index < attributes; index++) {
      if (index > this.varyings) {
        gl.disableVertexAttribArray(index); // another session's, whose buffer may be gone
        continue;
      }
      gl.vertexAttribPointer(index, 4, gl.FLOAT, false, stride, 4 * (2 + 4 * (index - 1)));
      gl.enableVertexAttribArray(index);
    }
    return prepared;
  }

  private begin(picture: Picture): Prepared {
    const prepared = this.enter();
    if (!(picture instanceof Uint8Array || picture instanceof Uint8ClampedArray)) {
      prepared.preprocessor.draw(picture);
      return prepared;
    }
    const { gl } = this.context;
    const { texture, size, x, y } = this.bundle.manifest.input;
    if (picture.length !== 4 * size * size) {
      throw new ImageError(
        `${picture.length} bytes were given; the model reads ${4 * size * size}: RGBA of ${size} x ${size} pixels ` +
          "(a video, an image or a canvas may have any size)",
      );
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, prepared.handles.textures.get(texture)!);
    const bytes = new Uint8Array(picture.buffer, picture.byteOffset, picture.length); // WebGL 1 takes no clamped ones
    gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, size, size, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    return prepared;
  }

  private read(value: Value): Tensor {
    return { shape: shapeOf(value), data: unpack(value, this.texelsOf(value)) };
  }

  /** Read back the textures of a value: of a vector just its texels, of a map all. */
  private texelsOf(value: Value): Map<string, Texels> {
    const one = (name: string): Texels => {
      const { width, height } = this.textures.get(name)!;
      const [w, h] = value.kind === "fixed" ? sizeOfFixed(value) : [width, height];
      return this.readTexture(name, 0, 0, w, h);
    };
    return new Map(texturesOf(value).map((name) => [name, one(name)]));
  }

  private checkWholeFrame(last: Tensor): void {
    const { logits, max_error } = this.bundle.manifest.probe;
    const { data } = this.run(probe.picture(this.size));
    const wanted = logits.length ? logits : last.data;
    const off = data.reduce((worst, number, i) => Math.max(worst, Math.abs(number - wanted[i]!)), 0);
    if (off <= max_error) return;
    throw new SelfCheckError(
      `every layer comes out right, but the output of a whole frame is off by ${off}, where ${max_error} is tolerated; ` +
        `please report it with the name of this GPU (${this.context.renderer})`,
    );
  }

  private checkErrors(when: string): void {
    const { gl } = this.context;
    const error = gl.getError();
    if (error === gl.NO_ERROR || error === gl.CONTEXT_LOST_WEBGL) return;
    const out = error === gl.OUT_OF_MEMORY ? ": the GPU has too little memory; close other pages or use a smaller model" : "";
    throw new GlError(`WebGL error 0x${error.toString(16)} ${when}${out}`);
  }
}

function ascii(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
