/**
 * Tasks: find objects, points or masks in images, with results that can be drawn.
 *
 *     import { draw, openTask } from "glsl-infer/tasks";
 *     const faces = await openTask("tasks/faces.json");
 *     draw(canvas, video, await faces.follow(video));
 *
 * A task is the same JSON file as in Python: docs/reference/task-files.md. `glsl-infer get` fetches its models.
 */

export type { Extent } from "./anchors.ts";
export { Cut, pixelsOf, type Pixels, type Point } from "./cuts.ts";
export type { Description, Rules } from "./description.ts";
export { colour, draw } from "./drawing.ts";
export { Mask, type Seen } from "./masks.ts";
export { Network, type Source } from "./picture.ts";
export { readTask } from "./reading.ts";
export type { Detection, Found, Landmarks } from "./results.ts";
export { Studio, type MaskLook } from "./studio.ts";
export { fetchTask, openTask, Task, type TaskOptions } from "./task.ts";
