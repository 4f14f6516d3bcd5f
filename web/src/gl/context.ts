/** WebGL 1 contexts: creation, sharing, and loss. */

import { ContextError, ContextLostError } from "../errors.ts";
import { renderer, requirePrecision } from "./limits.ts";
import { deviceLines, storeThreshold } from "./rounding.ts";

export type Canvas = HTMLCanvasElement | OffscreenCanvas;

/** Time that `whenUsable` waits for a lost context, in milliseconds. */
const RESTORE_TIMEOUT = 10_000;

const contexts = new WeakMap<Canvas, Context>();

/**
 * A WebGL 1 context of a canvas; sessions on the same canvas share it.
 *
 * `generation` counts restorations: objects of an earlier generation are lost.
 */
export class Context {
  /** Owner of the context's current vertex arrays and fixed state. @internal */
  owner: object | null = null;
  /** Number of restorations. @internal */
  generation = 0;
  private _lines: string | undefined;
  private _users = 0;
  private _lost = false;

  private constructor(
    private readonly _canvas: Canvas,
    readonly gl: WebGLRenderingContext,
    private readonly _hidden: boolean,
  ) {
    _canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // otherwise the browser never restores it
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
   * Return the context of a canvas, or of a hidden one.
   *
   * @throws ContextError the browser has none, the canvas has another kind of context, or its precision is too low.
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

  /** Name of the GPU, if the browser reveals it. */
  get renderer(): string {
    return renderer(this.gl);
  }

  /** True if the context is currently lost. */
  get isLost(): boolean {
    return this._lost || this.gl.isContextLost();
  }

  /** The `#define` lines for shaders on this device, measured once; see `rounding.ts`. @internal */
  get deviceLines(): string {
    if (this._lines === undefined) {
      this.owner = null; // the state has changed, and its owner must set it again
      this._lines = deviceLines(storeThreshold(this.gl));
    }
    return this._lines;
  }

  /**
   * Wait until the context is usable.
   *
   * @throws ContextLostError the browser has not restored it within `RESTORE_TIMEOUT`.
   */
  async whenUsable(): Promise<void> {
    const end = performance.now() + RESTORE_TIMEOUT;
    while (this.isLost) {
      if (performance.now() > end) this.requireUsable();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /**
   * Throw ContextLostError if the context is lost; also if `objectsValid` is false, because a restoration has lost the
   * objects. @internal
   */
  requireUsable(objectsValid = true): void {
    if (objectsValid && !this.isLost) return;
    throw new ContextLostError(
      "the browser has taken the graphics context away; wait for it to come back, or reload the page",
    );
  }

  /**
   * Throw ContextLostError if the GPU does not respond after a read, whose bytes of 0 are then no result.
   *
   * When a browser's GPU process ends, pages are notified in a later task, and all calls until then have no effect.
   * Only a query that waits for a result detects it. @internal
   */
  requireAnswer(): void {
    const { gl } = this;
    this._lost ||= gl.checkFramebufferStatus(gl.FRAMEBUFFER) !== gl.FRAMEBUFFER_COMPLETE;
    this.requireUsable();
  }

  /** Release the context; call it once for each `of`. An unused context of a hidden canvas is freed. */
  close(): void {
    this._users -= 1;
    if (this._users > 0 || !this._hidden) return;
    contexts.delete(this._canvas);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Return a hidden canvas: one of the page, because every browser supports WebGL on it, or a worker's. */
function hiddenCanvas(): Canvas {
  if (typeof document !== "undefined") {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    return canvas;
  }
  if (typeof OffscreenCanvas !== "undefined") return new OffscreenCanvas(1, 1);
  throw new ContextError("this worker has no OffscreenCanvas; use the model in the page itself, or another browser");
}
