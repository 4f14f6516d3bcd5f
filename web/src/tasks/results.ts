/** What tasks find: pixels of the picture, and scores. */

import type { Prediction } from "glsl-infer";
import type { Extent } from "./anchors.ts";
import type { Cut, Point } from "./cuts.ts";
import type { DetectionRules, LandmarkRules } from "./description.ts";
import type { Mask } from "./masks.ts";

/** A thing with a box around it. */
export interface Detection {
  /** Left, top, right and bottom in pixels; it may reach beyond the picture. */
  readonly box: readonly [number, number, number, number];
  /** How sure the network is, 0 to 1. */
  readonly score: number;
  /** Of its class; empty where there is one class only. */
  readonly label: string;
  /** Of its class. */
  readonly index: number;
  readonly points: readonly Point[];
}

/** Points of a thing. */
export interface Landmarks {
  /** x and y in pixels, and further numbers of each point: in pixels as well. */
  readonly points: readonly (readonly number[])[];
  /** How sure the network is that the thing is there; 1 where it does not say. */
  readonly score: number;
  /** Further numbers that the network has about it. */
  readonly attributes: Readonly<Record<string, number>>;
  /** Where the network looked. */
  readonly cut: Cut;
}

/** What is in a picture of a size in pixels, best first, or its mask. */
export type Found =
  | { readonly kind: "detection"; readonly size: Extent; readonly things: readonly Detection[]; readonly rules: DetectionRules }
  | { readonly kind: "landmarks"; readonly size: Extent; readonly things: readonly Landmarks[]; readonly rules: LandmarkRules }
  | { readonly kind: "segmentation"; readonly size: Extent; readonly mask: Mask }
  | { readonly kind: "classification"; readonly size: Extent; readonly labels: readonly Prediction[] };

export type FoundDetections = Extract<Found, { kind: "detection" }>;
export type FoundLandmarks = Extract<Found, { kind: "landmarks" }>;
