/** Runs a bundle on the GPU. */

import type { Bundle } from "./bundle.ts";
import { GlError, ImageError, InputError, RunError, SelfCheckError } from "./errors.ts";
import { Context, type Canvas } from "./gl/context.ts";
import { require } from "./gl/limits.ts";
import { areaOf, isFixed, shapeOf, sizeOfFixed, texturesOf, type Value } from "./layout.ts";
import { most } from "./lists.ts";
import { byName, pictureOf, type ProbeLayer, type Texture } from "./manifest.ts";
import { prepare, type Prepared } from "./prepared.ts";
import type { PictureSource } from "./preprocess.ts";
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

/** A bundle, compiled and ready on a WebGL 1 context; `close` it when it is no longer needed. */
export class Session {
  readonly context: Context;
  private readonly _textures: ReadonlyMap<string, Texture>;
  private _prepared: Prepared | undefined;
  private _closed = false;
  private _checked = false;

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
    this._textures = byName(manifest.textures);
    this.context = Context.of(canvas);
    try {
      this.context.requireUsable();
      require(manifest.limits, this.context.gl);
      this._enter();
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
    if (!this._closed) await this.context.whenUsable();
    this._requireOpen();
  }

  /** Side of the picture that the model reads, in pixels. */
  get size(): number {
    return pictureOf(this.bundle.manifest).size;
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
    const { frame } = this._begin(picture);
    for (const call of frame) call();
    const result = this._read(this.bundle.manifest.outputs[0]!.value);
    this.context.requireUsable(); // what a lost context returned is no result
    if (!this._checked) this._checkErrors("in the first frame");
    this._checked = true;
    return result;
  }

  /**
   * Yield every layer that draws, with its output, in order; each is drawn when it is asked for.
   *
   * Finish the loop before you run anything else on this canvas.
   */
  *layers(picture: Picture): Generator<{ readonly layer: string; readonly output: Tensor }> {
    const { layerCalls } = this._begin(picture);
    const layers = this._probeLayers();
    for (const [layer, calls] of layerCalls) {
      for (const call of calls) call();
      yield { layer, output: this._read(layers.get(layer)!.value) };
      this._enter();
    }
  }

  /**
   * Run the probe through all layers and return every layer's error, then a whole frame of it.
   *
   * @throws SelfCheckError naming the first layer that is further off than its tolerance.
   */
  selfcheck(): probe.LayerError[] {
    const { manifest, members } = this.bundle;
    const allowed = this._probeLayers();
    const member = members.get(manifest.probe.member)!;
    const { layerCalls } = this._begin(probe.picture(this.size));
    const errors: probe.LayerError[] = [];
    for (const [name, calls] of layerCalls) {
      for (const call of calls) call();
      const layer = allowed.get(name)!;
      errors.push(probe.compare(layer, member, this._texelsOf(layer.value)));
    }
    const last = this._read(manifest.outputs[0]!.value);
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
    this._checkWholeFrame(last);
    return errors;
  }

  /** Return what one frame takes. */
  statistics(): Statistics {
    const { manifest, passes } = this.bundle;
    return {
      passes: passes.length,
      jobs: passes.filter((one) => one.clear).length,
      programs: manifest.programs.length,
      calls: this._enter().frame.length,
      textureBytes: 4 * areaOf(manifest.textures),
    };
  }

  /** Return a rectangle of the picture's texture or a target, as it is now. */
  readTexture(name: string, x: number, y: number, width: number, height: number): Texels {
    const { objects, handles } = this._enter();
    const { gl } = this.context;
    const framebuffer = handles.framebuffers.get(name);
    if (!framebuffer) throw new InputError(`no texture '${name}' is rendered into`);
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    return objects.read(x, y, width, height);
  }

  /** Delete every GL object; further calls do nothing. */
  close(): void {
    if (this._closed) return;
    this._closed = true;
    this._prepared?.objects.close();
    if (this.context.owner === this) this.context.owner = null;
    this.context.close();
  }

  /** Make the context's vertex arrays and fixed state this session's, and everything anew where it was lost. */
  private _enter(): Prepared {
    this._requireOpen();
    const { context } = this;
    context.requireUsable();
    if (this._prepared?.generation !== context.generation) {
      context.owner = null;
      this._checked = false;
      this._prepared = prepare(this.bundle, context);
      this._checkErrors("after preparing the model");
    }
    if (context.owner !== this) {
      context.owner = this;
      this._prepared.activate();
    }
    return this._prepared;
  }

  private _requireOpen(): void {
    if (this._closed) throw new RunError("the session is closed");
  }

  private _begin(picture: Picture): Prepared {
    const prepared = this._enter();
    if (!(picture instanceof Uint8Array || picture instanceof Uint8ClampedArray)) {
      prepared.preprocess(picture);
      return prepared;
    }
    const { gl } = this.context;
    const { texture, size, x, y } = pictureOf(this.bundle.manifest);
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

  private _probeLayers(): Map<string, ProbeLayer> {
    return new Map(this.bundle.manifest.probe.layers.map((layer) => [layer.layer, layer]));
  }

  private _read(value: Value): Tensor {
    return { shape: shapeOf(value), data: unpack(value, this._texelsOf(value)) };
  }

  /** Read back the textures of a value: of a vector just its texels, of a map all. */
  private _texelsOf(value: Value): Map<string, Texels> {
    const one = (name: string): Texels => {
      const { width, height } = this._textures.get(name)!;
      const [w, h] = isFixed(value) ? sizeOfFixed(value) : [width, height];
      return this.readTexture(name, 0, 0, w, h);
    };
    return new Map(texturesOf(value).map((name) => [name, one(name)]));
  }

  private _checkWholeFrame(last: Tensor): void {
    const { logits, max_error } = this.bundle.manifest.probe;
    const { data } = this.run(probe.picture(this.size));
    const wanted = logits.length ? logits : last.data;
    const off = most(data.keys(), (i) => Math.abs(data[i]! - wanted[i]!));
    if (off <= max_error) return;
    throw new SelfCheckError(
      `every layer comes out right, but the output of a whole frame is off by ${off}, where ${max_error} is tolerated; ` +
        `please report it with the name of this GPU (${this.context.renderer})`,
    );
  }

  private _checkErrors(when: string): void {
    const { gl } = this.context;
    const error = gl.getError();
    if (error === gl.NO_ERROR || error === gl.CONTEXT_LOST_WEBGL) return;
    const out = error === gl.OUT_OF_MEMORY ? ": the GPU has too little memory; close other pages or use a smaller model" : "";
    throw new GlError(`WebGL error 0x${error.toString(16)} ${when}${out}`);
  }
}
