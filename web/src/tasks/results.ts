/** Results of tasks, in pixels of the image, with scores. */

import type { Prediction } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import type { Cut, Point } from "./cuts.ts";
import type { DetectionRules, LandmarkRules } from "./description.ts";
import type { Mask } from "./masks.ts";

/** An object with its box. */
export interface Detection {
  /** Left, top, right and bottom in pixels; it can extend beyond the image. */
  readonly box: readonly [number, number, number, number];
  /** Confidence of the network, 0 to 1. */
  readonly score: number;
  /** Label of its class; empty with a single class. */
  readonly label: string;
  /** Index of its class. */
  readonly index: number;
  /** Points of the object, such as eyes, in pixels; empty if the network has none. */
  readonly points: readonly Point[];
}

/** Points of an object. */
export interface Landmarks {
  /** x and y in pixels, and further coordinates of each point, also in pixels. */
  readonly points: readonly (readonly number[])[];
  /** Confidence of the network that the object is present; 1 if it has no such output. */
  readonly score: number;
  /** Further outputs of the network for the object. */
  readonly attributes: Readonly<Record<string, number>>;
  /** The cut read by the network. */
  readonly cut: Cut;
}

/** Result of a task: objects in an image, their points, its mask, or its labels, best first; with its size in pixels. */
export type Found =
  | { readonly kind: "detection"; readonly size: Extent; readonly things: readonly Detection[]; readonly rules: DetectionRules }
  | { readonly kind: "landmarks"; readonly size: Extent; readonly things: readonly Landmarks[]; readonly rules: LandmarkRules }
  | { readonly kind: "segmentation"; readonly size: Extent; readonly mask: Mask }
  | { readonly kind: "classification"; readonly size: Extent; readonly labels: readonly Prediction[] };

/** Result of a detector. */
export type FoundDetections = Extract<Found, { kind: "detection" }>;
/** Result of a network of landmarks. */
export type FoundLandmarks = Extract<Found, { kind: "landmarks" }>;
