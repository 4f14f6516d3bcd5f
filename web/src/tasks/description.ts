/** What a task is, as data: which bundle, what its numbers mean, and what is drawn. task-files.md explains every key. */

import type { Level } from "./anchors.ts";
import type { Activation, Code } from "./boxes.ts";

export type Lines = readonly (readonly number[])[];

/** How boxes come out of a bundle. */
export interface DetectionRules extends Code {
  readonly task: "detection";
  readonly boxes: readonly string[];
  readonly scores: readonly string[];
  readonly anchors: readonly Level[];
  readonly labels: readonly string[];
  readonly background: boolean;
  readonly activation: Activation;
  readonly threshold: number;
  readonly overlap: number;
  readonly merge: "weighted" | "best";
  readonly exclusive: boolean;
  readonly most: number;
  readonly points: readonly string[];
  readonly lines: Lines;
  /** The middle of a circle and a point on it: its square is the box then. */
  readonly body?: readonly number[];
}

/** Which cut belongs to points that are known. */
export interface Region {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly direction: number;
  readonly points: readonly number[];
  readonly scale: number;
  readonly shift: readonly [number, number];
  readonly square: boolean;
}

/** How points come out of a bundle that reads a cut. */
export interface LandmarkRules {
  readonly task: "landmarks";
  readonly detector: string;
  readonly cut: Region;
  readonly follow?: Region;
  readonly points: string;
  readonly dimensions: number;
  readonly unit?: number;
  readonly presence?: string;
  readonly activation: Activation;
  readonly threshold: number;
  readonly most: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly lines: Lines;
  readonly fine: Lines;
}

/** How a mask comes out of a bundle. */
export interface SegmentationRules {
  readonly task: "segmentation";
  readonly mask: string;
  readonly activation: Activation;
  readonly channel: number;
  readonly edge: readonly [number, number];
}

/** How many labels of a picture are told. */
export interface ClassificationRules {
  readonly task: "classification";
  readonly top: number;
}

export type Rules = DetectionRules | LandmarkRules | SegmentationRules | ClassificationRules;

/** A task. */
export interface Description {
  /** Of the file, without suffix. */
  readonly name: string;
  /** What it finds, in a few words. */
  readonly what: string;
  /** A bundle beside the file (`*.glslnn`), or the name of one that `glsl-infer get` fetched. */
  readonly model: string;
  readonly rules: Rules;
}
