/** Runs a bundle on the GPU. */

import type { Bundle } from "./bundle.ts";
import type { Upload } from "./encode.ts";
import { GlError, InputError, RunError, SelfCheckError } from "./errors.ts";
import { readerOf, rounded, type FrameReader, type Result, type Tensor } from "./frameReader.ts";
import { isNamed, listed, matched, probeOf, uploadOf, type Given, type Inputs } from "./given.ts";
import { Context, type Canvas } from "./gl/context.ts";
import { require } from "./gl/limits.ts";
import { areaOf, type FeatureMap } from "./layout.ts";
import { most } from "./lists.ts";
import { byName, type Input, type Output, type ProbeLayer, type Texture } from "./manifest.ts";
import { prepare, type Prepared } from "./prepared.ts";
import type { PictureSource } from "./preprocess.ts";
import * as probe from "./probe.ts";
import type { Texels } from "./texels.ts";

/** The result of every output, by name. */
export type Results = Readonly<Record<string, Result>>;

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

  /** What the model takes: name, kind, and the value with height, width and channels (or length). */
  get inputs(): readonly Input[] {
    return this.bundle.manifest.inputs;
  }

  /** What the model returns: name, purpose, values and host steps. */
  get outputs(): readonly Output[] {
    return this.bundle.manifest.outputs;
  }

  /**
   * The picture that the model reads: name, fit and size.
   *
   * @throws InputError it has another input, or several.
   */
  get picture(): Input & { readonly kind: "picture"; readonly value: FeatureMap } {
    const [input] = this.inputs;
    if (this.inputs.length === 1 && input?.kind === "picture") return input;
    throw new InputError(`the model reads ${listed(this.inputs)}, not one picture; give an object with these names`);
  }

  /** The only input. Throws InputError where there are several. @internal */
  onlyInput(): Input {
    if (this.inputs.length === 1) return this.inputs[0]!;
    throw new InputError(`the model has the inputs ${listed(this.inputs)}; give an object with these names`);
  }

  /** The only output. Throws InputError where there are several. @internal */
  onlyOutput(): Output {
    if (this.outputs.length === 1) return this.outputs[0]!;
    throw new InputError(
      `the model has the outputs ${listed(this.outputs)}; give an object of inputs by name to get them all`,
    );
  }

  /**
   * Return the output for one input, or with an object of inputs by name all outputs by name.
   *
   * @param given a picture: bytes of its own size, RGBA or as many a pixel as it has channels; or a video, an image, a
   *     canvas, pixels of any size, which the one definition of preprocessing makes fit. Or numbers, as many as the input
   *     holds; what it cannot store becomes the nearest that it can.
   * @throws InputError an input is missing, unknown or of the wrong kind, or has a NaN in it; or the model has several
   *     inputs or outputs, and no object was given.
   * @throws ImageError the picture cannot be used.
   * @throws ContextLostError the context is lost: wait for `whenUsable()`.
   * @throws GlError the driver reports an error in the first frame.
   */
  run(given: Inputs): Results;
  run(given: Given): Tensor;
  run(given: Given | Inputs): Tensor | Results;
  run(given: Given | Inputs): Tensor | Results {
    const named = isNamed(given);
    if (!named) this.onlyOutput();
    const { frame } = this._begin(given);
    for (const call of frame) call();
    const results = this._results();
    return named ? results : Object.values(results)[0]!;
  }

  /**
   * Yield every layer that draws, in order, with its output; return all outputs of the model, by name.
   *
   * Each is drawn when it is asked for; read its `output` before the next. Finish before anything else draws on the canvas.
   */
  *layers(given: Given | Inputs): Generator<{ readonly layer: string; readonly output: Tensor }, Results> {
    const made = this._begin(given);
    const layers = this._probeLayers();
    for (const [layer, calls] of made.layerCalls) {
      for (const call of calls) call();
      const read = () => rounded(this._reader().numbersOf(layers.get(layer)!.value));
      yield { layer, get output() { return read(); } }; // prettier-ignore
      this.context.requireUsable(this._enter() === made);
    }
    return this._results();
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
    const { layerCalls } = this._beginProbe();
    const errors: probe.LayerError[] = [];
    for (const [name, calls] of layerCalls) {
      for (const call of calls) call();
      const layer = allowed.get(name)!;
      errors.push(probe.compare(layer, member, this._reader().texelsOf(layer.value)));
    }
    const last = this._outputNumbers();
    probe.requirePassed(errors, this.context.renderer);
    this._checkWholeFrame(last);
    return errors;
  }

  /** Return what one frame takes. */
  statistics(): Statistics {
    const { manifest, passes } = this.bundle;
    return {
      passes: passes.length,
      jobs: passes.filter(({ clear }) => clear).length,
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
    const texels = objects.read(x, y, width, height);
    this.context.requireAnswer();
    return texels;
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

  /** Upload what was given. */
  private _begin(given: Given | Inputs): Prepared {
    const pairs = matched(this.inputs, isNamed(given) ? given : { [this.onlyInput().name]: given });
    const uploads = pairs.map(([input, entry]) => uploadOf(input, entry)); // all are looked at before one is drawn
    const made = this._enter();
    uploads.forEach((upload, index) => {
      if (Array.isArray(upload)) this._put(made, upload as readonly Upload[]);
      else made.preprocess.get(this.inputs[index]!.name)!(upload as PictureSource);
    });
    return made;
  }

  /** Upload the probe. */
  private _beginProbe(): Prepared {
    const made = this._enter();
    this.inputs.forEach((input, index) => this._put(made, probeOf(input, index)));
    return made;
  }

  private _put({ handles }: Prepared, uploads: readonly Upload[]): void {
    const { gl } = this.context;
    gl.activeTexture(gl.TEXTURE0);
    for (const { texture, x, y, width, height, data } of uploads) {
      gl.bindTexture(gl.TEXTURE_2D, handles.textures.get(texture)!);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
    }
  }

  private _probeLayers(): Map<string, ProbeLayer> {
    return new Map(this.bundle.manifest.probe.layers.map((layer) => [layer.layer, layer]));
  }

  private _reader(): FrameReader {
    return readerOf(this._textures, (name, width, height) => this.readTexture(name, 0, 0, width, height));
  }

  /** Read every output of the frame that was drawn. */
  private _results(): Results {
    const results = this.outputs.map(this._reader().resultOf);
    if (!this._checked) this._checkErrors("in the first frame");
    this._checked = true;
    return Object.fromEntries(results.map((result) => [result.name, result]));
  }

  /** Return the numbers of every output before host steps. */
  private _outputNumbers(): number[][] {
    const reader = this._reader();
    return this.outputs.map(({ values }) => values.flatMap((value) => Array.from(reader.numbersOf(value).data)));
  }

  private _checkWholeFrame(last: readonly number[][]): void {
    for (const call of this._beginProbe().frame) call();
    const given = this._outputNumbers();
    this.bundle.manifest.probe.outputs.forEach(({ numbers, max_error }, k) => {
      const wanted = numbers.length ? numbers : last[k]!;
      const off = most(given[k]!.keys(), (i) => Math.abs(given[k]![i]! - wanted[i]!));
      if (off <= max_error) return;
      throw new SelfCheckError(
        `every layer comes out right, but output '${this.outputs[k]!.name}' of a whole frame is off by ${off}, where ` +
          `${max_error} is tolerated; please report it with the name of this GPU (${this.context.renderer})`,
      );
    });
  }

  private _checkErrors(when: string): void {
    const { gl } = this.context;
    const error = gl.getError();
    if (error === gl.NO_ERROR || error === gl.CONTEXT_LOST_WEBGL) return;
    const out = error === gl.OUT_OF_MEMORY ? ": the GPU has too little memory; close other pages or use a smaller model" : "";
    throw new GlError(`WebGL error 0x${error.toString(16)} ${when}${out}`);
  }
}
