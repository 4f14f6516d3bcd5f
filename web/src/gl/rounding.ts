/**
 * Rounding of stores to RGBA8, measured because drivers differ and no query reports it.
 *
 * Rounding to nearest changes at half a step; on other drivers the shaders round values themselves.
 */

import FRAGMENT from "../glsl/rounding.frag";
import VERTEX from "../glsl/viewport.vert";
import { objectsOf } from "./objects.ts";

const STEPS = 200;
/** Bytes above which the threshold is measured, up to the next byte. */
const LEVELS = [2, 60, 100, 130, 200, 250];
/** Largest difference from 0.5 at which a driver counts as rounding to nearest; the measurement has half that error. */
const TOLERANCE = 0.01;

const ROUND_STORES = "#define ROUND_STORES\n";

/**
 * Return the fraction of a step from which a store rounds up: of all levels, that farthest from 0.5.
 *
 * 0.5 is rounding to nearest, 1.0 is truncation. Changes the context's vertex arrays and fixed state.
 */
export function storeThreshold(gl: WebGLRenderingContext): number {
  const objects = objectsOf(gl);
  try {
    objects.framebuffer(objects.texture(STEPS, LEVELS.length));
    const program = objects.program(VERTEX, FRAGMENT, "rounding test");
    objects.buffer(new Float32Array([-1, -1, 3, -1, -1, 3]));
    objects.setFixedState();
    gl.useProgram(program);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.enableVertexAttribArray(0);
    gl.uniform2f(gl.getUniformLocation(program, "extent"), 1, 1);
    const location = gl.getUniformLocation(program, "level");
    LEVELS.forEach((level, row) => {
      gl.viewport(0, row, STEPS, 1);
      gl.uniform1f(location, level);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    });
    const { data } = objects.read(0, 0, STEPS, LEVELS.length);
    const turns = LEVELS.map((level, row) => {
      let below = 0;
      for (let x = 0; x < STEPS; x++) if (data[4 * (row * STEPS + x)]! <= level) below += 1;
      return below / STEPS;
    });
    return turns.reduce((far, turn) => (Math.abs(turn - 0.5) > Math.abs(far - 0.5) ? turn : far), 0.5);
  } finally {
    objects.close();
  }
}

/** Return the `#define` lines after the prelude of shaders, for a device with that `storeThreshold`. */
export function deviceLines(threshold: number): string {
  return Math.abs(threshold - 0.5) <= TOLERANCE ? "" : ROUND_STORES;
}
