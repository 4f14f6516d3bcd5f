/**
 * Descriptions of tasks, as data: the bundle, the meaning of its outputs, and drawing. task-files.md explains all keys.
 */

import type { Level } from "./anchors.ts";
import type { Activation, Code } from "./boxes.ts";

export type Lines = readonly (readonly number[])[];

/** Decoding of a bundle's outputs to boxes. */
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
  /** Indices of the centre of a circle and of a point on it, whose square replaces the box. */
  readonly body?: readonly number[];
}

/** The cut for known points. */
export interface Region {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly direction: number;
  readonly points: readonly number[];
  readonly scale: number;
  readonly shift: readonly [number, number];
  readonly square: boolean;
}

/** Decoding of the outputs for a cut to points. */
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

/** Decoding of an output to a mask. */
export interface SegmentationRules {
  readonly task: "segmentation";
  readonly mask: string;
  readonly activation: Activation;
  readonly channel: number;
  readonly edge: readonly [number, number];
}

/** Number of labels returned for an image. */
export interface ClassificationRules {
  readonly task: "classification";
  readonly top: number;
}

export type Rules = DetectionRules | LandmarkRules | SegmentationRules | ClassificationRules;

/** A task. */
export interface Description {
  /** Name of the file, without suffix. */
  readonly name: string;
  /** Short description of the objects that it finds. */
  readonly what: string;
  /** A bundle in the folder of the file (`*.glslnn`), or the name of a bundle fetched by `glsl-infer get`. */
  readonly model: string;
  readonly rules: Rules;
}
