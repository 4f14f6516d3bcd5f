/**
 * A frame in pieces, so that neither the page nor the browser's watchdog waits for seconds of a network's work.
 *
 * WebGL 1 has no clock on the GPU: what each layer takes is measured in the first frames, which wait after each.
 * From then on that decides where to wait. A layer is never divided.
 */

import { ContextLostError, type GlslInfer, type Picture, type Result, type Results } from "glsl-infer";
import { shownOf } from "./results.ts";

/** Milliseconds after which the page goes on. Chromium ends a GPU process that is busy for ten seconds. */
const BUDGET = 100;

/** Frames that are measured: drivers compile in the first. */
const MEASURED = 2;

/** Runs the frames of a model that nothing else uses. */
export class Pieces {
  private readonly costs: number[] = [];
  private frames = 0;

  constructor(private readonly model: GlslInfer) {}

  /** Run on a picture; return what the page shows of it. As `GlslInfer.run`, once more where the context was lost. */
  async run(picture: Picture): Promise<Result> {
    for (;;) {
      await this.model.session.whenUsable();
      try {
        return await this.frame(picture);
      } catch (error) {
        if (!(error instanceof ContextLostError)) throw error;
      }
    }
  }

  private async frame(picture: Picture): Promise<Result> {
    const { session } = this.model;
    const given = { [session.picture.name]: picture };
    const measured = ++this.frames <= MEASURED;
    const { target } = session.bundle.passes[0]!;
    const wait = () => session.readTexture(target, 0, 0, 1, 1);
    if (!measured && this.costs.reduce((sum, cost) => sum + cost, 0) <= BUDGET) return shownOf(session.run(given));
    const layers = session.layers(given);
    let spent = 0;
    for (let at = 0; ; at++) {
      const started = performance.now();
      const next: IteratorResult<unknown, Results> = layers.next();
      if (next.done) return shownOf(next.value);
      if (measured) {
        wait();
        this.costs[at] = performance.now() - started;
      }
      spent += this.costs[at]!;
      if (spent + (measured ? 0 : (this.costs[at + 1] ?? 0)) < BUDGET) continue;
      if (!measured) wait();
      await new Promise((resolve) => setTimeout(resolve));
      spent = 0;
    }
  }
}
