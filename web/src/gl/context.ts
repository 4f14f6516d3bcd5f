/** WebGL 1 contexts: the only place that makes one, and that knows whether the browser has taken it away. */

import { ContextError, ContextLostError } from "../errors.ts";
import { renderer, requirePrecision } from "./limits.ts";
import { deviceLines, storeThreshold } from "./rounding.ts";

export type Canvas = HTMLCanvasElement | OffscreenCanvas;

/** How long `whenUsable` waits for the browser to give a lost context back, in milliseconds. */
const RESTORE_TIMEOUT = 10_000;

const contexts = new WeakMap<Canvas, Context>();

/**
 * A WebGL 1 context of a canvas; sessions on the same canvas share it.
 *
 * `generation` counts how often it was given back: what was made in an earlier one is gone.
 */
export class Context {
  /** Whose vertex arrays and fixed state the context has, if any. @internal */
  owner: object | null = null;
  /** How often it was given back. @internal */
  generation = 0;
  private _lines: string | undefined;
  private _users = 0;
  private _lost = false;

  private constructor(
    private readonly _canvas: Canvas,
    readonly gl: WebGLRenderingContext,
    private readonly _own: boolean,
  ) {
    _canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // without this the browser never gives it back
      this._lost = true;
    });
    _canvas.addEventListener("webglcontextrestored", () => {
      this._lost = false;
      this.generation += 1;
      this.owner = null;
      this._lines = undefined;
    });
  }

  /**
   * Return the context of a canvas, or of one that nobody sees.
   *
   * @throws ContextError the browser gives none, the canvas has one of another kind, or it is not exact enough.
   */
  static of(canvas?: Canvas): Context {
    const context = (canvas && contexts.get(canvas)) ?? Context._make(canvas);
    context._users += 1;
    return context;
  }

  private static _make(canvas?: Canvas): Context {
    const where = canvas ?? hiddenCanvas();
    const gl = where.getContext("webgl", {
      alpha: false,
      antialias: false,
      depth: false,
      stencil: false,
      powerPreference: "high-performance",
    }) as WebGLRenderingContext | null;
    if (!gl) {
      const other = canvas ? ", or give a canvas that has no context of another kind" : "";
      throw new ContextError(
        `this browser gives no WebGL 1 context; switch on hardware acceleration in its settings, or use another browser${other}`,
      );
    }
    requirePrecision(gl);
    const context = new Context(where, gl, canvas === undefined);
    contexts.set(where, context);
    return context;
  }

  /** What the GPU is called, as far as the browser tells. */
  get renderer(): string {
    return renderer(this.gl);
  }

  /** Whether the browser has taken the context away, for now or for good. */
  get isLost(): boolean {
    return this._lost || this.gl.isContextLost();
  }

  /** The `#define` lines that shaders need on this device, measured once; see `rounding.ts`. @internal */
  get deviceLines(): string {
    if (this._lines === undefined) {
      this.owner = null; // whoever set the context's state has to do so again
      this._lines = deviceLines(storeThreshold(this.gl));
    }
    return this._lines;
  }

  /**
   * Wait until the context is there.
   *
   * @throws ContextLostError the browser has not given it back within `RESTORE_TIMEOUT`.
   */
  async whenUsable(): Promise<void> {
    const end = performance.now() + RESTORE_TIMEOUT;
    while (this.isLost) {
      if (performance.now() > end) this.requireUsable();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Throw ContextLostError where the context is lost, or what was in it: `whole` is false. @internal */
  requireUsable(whole = true): void {
    if (whole && !this.isLost) return;
    throw new ContextLostError(
      "the browser has taken the graphics context away; wait for it to come back, or reload the page",
    );
  }

  /**
   * Throw ContextLostError where a GPU that has just been read from does not answer: bytes of 0 are no result then.
   *
   * When a browser's GPU process ends, pages hear of it in a later task, and all calls until then do nothing. Only a
   * question that waits for an answer tells. @internal
   */
  requireAnswer(): void {
    const { gl } = this;
    this._lost ||= gl.checkFramebufferStatus(gl.FRAMEBUFFER) !== gl.FRAMEBUFFER_COMPLETE;
    this.requireUsable();
  }

  /** Give the context up; call it once for each `of`. One that nobody else uses and nobody sees is freed. */
  close(): void {
    this._users -= 1;
    if (this._users > 0 || !this._own) return;
    contexts.delete(this._canvas);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Return a canvas that nobody sees: one of the page's, which every browser draws on with WebGL, or a worker's. */
function hiddenCanvas(): Canvas {
  if (typeof document !== "undefined") {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    return canvas;
  }
  if (typeof OffscreenCanvas !== "undefined") return new OffscreenCanvas(1, 1);
  throw new ContextError("this worker has no OffscreenCanvas; use the model in the page itself, or another browser");
}
