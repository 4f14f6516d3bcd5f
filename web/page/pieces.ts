/**
 * Frames computed in pieces, so that a network of several seconds blocks neither the page nor the browser's watchdog.
 *
 * WebGL 1 has no GPU timer, so the first frames wait after each layer to measure it. These times determine where later
 * frames wait. A layer is not divided.
 */

import { ContextLostError, type GlslInfer, type Picture, type Result, type Results } from "glsl-infer";
import { shownOf } from "./results.ts";

/** Milliseconds of GPU work before the page gets a turn. Chromium ends a GPU process that is busy for ten seconds. */
const BUDGET = 100;

/** Number of measured frames; drivers compile in the first. */
const MEASURED = 2;

/** Runs the frames of a model in exclusive use. */
export class Pieces {
  private readonly costs: number[] = [];
  private frames = 0;

  constructor(private readonly model: GlslInfer) {}

  /**
   * Run the model on an image and return the shown output. As in `GlslInfer.run`, repeated once after a lost context.
   */
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
    const inputs = { [session.picture.name]: picture };
    const measured = ++this.frames <= MEASURED;
    const { target } = session.bundle.passes[0]!;
    const wait = () => session.readTexture(target, 0, 0, 1, 1);
    if (!measured && this.costs.reduce((sum, cost) => sum + cost, 0) <= BUDGET) return shownOf(session.run(inputs));
    const layers = session.layers(inputs);
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
