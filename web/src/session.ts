/** Runs a bundle on the GPU. */

import type { Bundle } from "./bundle.ts";
import { GlError, InputError, RunError, SelfCheckError } from "./errors.ts";
import { readerOf, rounded, type FrameReader, type Result, type Tensor } from "./frameReader.ts";
import { isNamed, listed, matched, probeOf, uploadOf, type Given, type Inputs, type Upload } from "./inputs.ts";
import { Context, type Canvas } from "./gl/context.ts";
import { requireLimits } from "./gl/limits.ts";
import { areaOf, type FeatureMap } from "./layout.ts";
import { most } from "./lists.ts";
import { byName, type Input, type Output, type ProbeLayer, type Texture } from "./manifest.ts";
import { prepare, type Prepared } from "./prepared.ts";
import type { PictureSource } from "./preprocess.ts";
import * as probe from "./probe.ts";
import type { Texels } from "./texels.ts";

/** Results of all outputs, by name. */
export type Results = Readonly<Record<string, Result>>;

/** Exact costs of a frame. */
export interface Statistics {
  /** Number of draws. */
  readonly passes: number;
  /** Number of changes of the render target. */
  readonly jobs: number;
  readonly programs: number;
  /** GL calls, or pairs of calls, between upload and read-back. */
  readonly calls: number;
  /** Bytes of all textures of the model, 4 for each texel. */
  readonly textureBytes: number;
}

/** A compiled bundle, ready to run on a WebGL 1 context; `close` it when it is no longer needed. */
export class Session {
  readonly context: Context;
  private readonly _textures: ReadonlyMap<string, Texture>;
  private _prepared: Prepared | undefined;
  private _closed = false;
  private _checked = false;

  /**
   * @param bundle result of `read` or `fetchBundle`.
   * @param canvas its context is used; by default that of a hidden canvas.
   * @throws ContextError, LimitError the browser or GPU does not meet the requirements.
   * @throws ShaderError the driver refuses a shader; with the layer and the driver's log.
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
      requireLimits(manifest.limits, this.context.gl);
      this._enter();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Wait until the model can run, because its context can be temporarily lost.
   *
   * @throws RunError the session is closed.
   * @throws ContextLostError the context was not restored within 10 seconds.
   */
  async whenUsable(): Promise<void> {
    if (!this._closed) await this.context.whenUsable();
    this._requireOpen();
  }

  /** Inputs of the model: name, kind, and the value with height, width and channels (or length). */
  get inputs(): readonly Input[] {
    return this.bundle.manifest.inputs;
  }

  /** Outputs of the model: name, purpose, values and host steps. */
  get outputs(): readonly Output[] {
    return this.bundle.manifest.outputs;
  }

  /**
   * The model's image input: name, fit and size.
   *
   * @throws InputError it has another input, or several.
   */
  get picture(): Input & { readonly kind: "picture"; readonly value: FeatureMap } {
    const [input] = this.inputs;
    if (this.inputs.length === 1 && input?.kind === "picture") return input;
    throw new InputError(`the model reads ${listed(this.inputs)}, not one image; give an object with these names`);
  }

  /** The only input. Throws InputError if there are several. @internal */
  onlyInput(): Input {
    if (this.inputs.length === 1) return this.inputs[0]!;
    throw new InputError(`the model has the inputs ${listed(this.inputs)}; give an object with these names`);
  }

  /** The only output. Throws InputError if there are several. @internal */
  onlyOutput(): Output {
    if (this.outputs.length === 1) return this.outputs[0]!;
    throw new InputError(
      `the model has the outputs ${listed(this.outputs)}; give an object of inputs by name to get them all`,
    );
  }

  /**
   * Return the output for a single input, or all outputs by name for an object of inputs by name.
   *
   * @param input an image: bytes in its own size, RGBA or with the input's channels, or a video, an image, a canvas or
   *     pixels of any size, which preprocessing fits to the input. For other inputs as many values as the input has;
   *     each is rounded to the nearest stored value.
   * @throws InputError an input is missing, unknown, of the wrong kind, or contains NaN; or the model has several
   *     inputs or outputs, and no object was given.
   * @throws ImageError the image is unusable.
   * @throws ContextLostError the context is lost: wait for `whenUsable()`.
   * @throws GlError the driver reports an error in the first frame.
   */
  run(inputs: Inputs): Results;
  run(input: Given): Tensor;
  run(input: Given | Inputs): Tensor | Results;
  run(input: Given | Inputs): Tensor | Results {
    const named = isNamed(input);
    if (!named) this.onlyOutput();
    const { frame } = this._begin(input);
    for (const call of frame) call();
    const results = this._results();
    return named ? results : Object.values(results)[0]!;
  }

  /**
   * Yield all drawing layers in order, with their outputs; return all outputs of the model, by name.
   *
   * Each layer is drawn on request; read its `output` before the next. Complete the iteration before other draws on the
   * canvas.
   */
  *layers(input: Given | Inputs): Generator<{ readonly layer: string; readonly output: Tensor }, Results> {
    const prepared = this._begin(input);
    const layers = this._probeLayers();
    for (const [layer, calls] of prepared.layerCalls) {
      for (const call of calls) call();
      const read = () => rounded(this._reader().numbersOf(layers.get(layer)!.value));
      yield { layer, get output() { return read(); } }; // prettier-ignore
      this.context.requireUsable(this._enter() === prepared);
    }
    return this._results();
  }

  /**
   * Compare all layers with the probe, return their errors, and then compare a complete frame.
   *
   * @throws SelfCheckError with the first layer whose error exceeds its tolerance.
   */
  selfcheck(): probe.LayerError[] {
    const { manifest, members } = this.bundle;
    const layers = this._probeLayers();
    const member = members.get(manifest.probe.member)!;
    const { layerCalls } = this._beginProbe();
    const errors: probe.LayerError[] = [];
    for (const [name, calls] of layerCalls) {
      for (const call of calls) call();
      const layer = layers.get(name)!;
      errors.push(probe.compare(layer, member, this._reader().texelsOf(layer.value)));
    }
    const afterLayers = this._outputNumbers();
    probe.requirePassed(errors, this.context.renderer);
    this._checkWholeFrame(afterLayers);
    return errors;
  }

  /** Return the costs of a frame. */
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

  /** Return the current content of a rectangle of a texture. */
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

  /** Delete all GL objects; further calls have no effect. */
  close(): void {
    if (this._closed) return;
    this._closed = true;
    this._prepared?.objects.close();
    if (this.context.owner === this) this.context.owner = null;
    this.context.close();
  }

  /** Set the context's vertex arrays and fixed state for this session, and create lost objects again. */
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

  /** Upload the inputs. */
  private _begin(input: Given | Inputs): Prepared {
    const pairs = matched(this.inputs, isNamed(input) ? input : { [this.onlyInput().name]: input });
    const uploads = pairs.map(([entry, data]) => uploadOf(entry, data)); // all inputs are checked before any is drawn
    const prepared = this._enter();
    uploads.forEach((upload, index) => {
      if (Array.isArray(upload)) this._put(prepared, upload as readonly Upload[]);
      else prepared.preprocess.get(this.inputs[index]!.name)!(upload as PictureSource);
    });
    return prepared;
  }

  /** Upload the probe. */
  private _beginProbe(): Prepared {
    const prepared = this._enter();
    this.inputs.forEach((input, index) => this._put(prepared, probeOf(input, index)));
    return prepared;
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

  /** Read all outputs of the last frame. */
  private _results(): Results {
    const results = this.outputs.map(this._reader().resultOf);
    if (!this._checked) this._checkErrors("in the first frame");
    this._checked = true;
    return Object.fromEntries(results.map((result) => [result.name, result]));
  }

  /** Return the values of all outputs before host steps. */
  private _outputNumbers(): number[][] {
    const reader = this._reader();
    return this.outputs.map(({ values }) => values.flatMap((value) => Array.from(reader.numbersOf(value).data)));
  }

  /** Compare a complete frame with the probe's outputs, or with the outputs after the layers if it has none. */
  private _checkWholeFrame(afterLayers: readonly number[][]): void {
    for (const call of this._beginProbe().frame) call();
    const drawn = this._outputNumbers();
    this.bundle.manifest.probe.outputs.forEach(({ numbers, max_error }, k) => {
      const expected = numbers.length ? numbers : afterLayers[k]!;
      const error = most(drawn[k]!.keys(), (i) => Math.abs(drawn[k]![i]! - expected[i]!));
      if (error <= max_error) return;
      throw new SelfCheckError(
        `every layer comes out right, but output '${this.outputs[k]!.name}' of a whole frame is off by ${error}, where ` +
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
