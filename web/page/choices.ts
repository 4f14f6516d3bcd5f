/** Selection lists of the page: tasks, and models for classification without a task. */

import { page } from "./elements.ts";

const DEFAULT_MODEL = "grocery-x22-257.glslnn";

/** Titles of the package's tasks; other tasks have the name of their file. */
const TITLES: Readonly<Record<string, string>> = {
  faces: "Faces",
  "faces-far": "Faces, far away",
  "face-mesh": "Face mesh",
  palms: "Palms",
  hands: "Hands",
  people: "People",
  selfie: "Cut out a person",
  "selfie-landscape": "Cut out a person, wide",
};

/** A task in the list written by the page's build. */
interface TaskEntry {
  readonly name: string;
  readonly kind: string;
  /** Required models that were missing in the build. */
  readonly missing: readonly string[];
}

/** Content of the page's build: model files, tasks, and the files of the tasks' models by name. */
interface Lists {
  readonly models: readonly string[];
  /** Sizes of these files. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly tasks: readonly TaskEntry[];
  readonly taskModels: Readonly<Record<string, string>>;
  /** Images stored with models: input images of the AI Benchmark's tests. */
  readonly pictures: readonly string[];
}

let lists: Lists = { models: [], bytes: {}, tasks: [], taskModels: {}, pictures: [] };
/** List entry of the user's own model, present while it is in use. */
const own = new Option("", "own");

/** Fill the lists. */
export async function load(): Promise<void> {
  lists = (await (await fetch("models/index.json", { cache: "no-cache" })).json()) as Lists;
  page.model.replaceChildren(...lists.models.map((name) => new Option(name.replace(/\.glslnn$/, ""), `models/${name}`)));
  if (lists.models.includes(DEFAULT_MODEL)) page.model.value = `models/${DEFAULT_MODEL}`;
  const options = lists.tasks.map(({ name, missing }) => {
    return new Option((TITLES[name] ?? name) + (missing.length ? " (not here yet)" : ""), name);
  });
  page.task.replaceChildren(new Option("Labels", ""), ...options);
  page.model.disabled = page.task.disabled = false;
  arrange();
}

/** Return the selected task; undefined if a model is selected. */
export function task(): { readonly name: string; readonly address: string } | undefined {
  const name = page.task.value;
  if (!name) return undefined;
  const { missing } = lists.tasks.find((entry) => entry.name === name)!;
  if (missing.length) {
    throw new Error(
      `This page was built without ${missing.join(" and ")}. Networks of others are no part of this project: ` +
        `fetch what there is, glsl-infer get ${missing.join(" ")}, and build the page with it, make web MODELS=~/.cache/glsl-infer/models.`,
    );
  }
  return { name: TITLES[name] ?? name, address: `tasks/${name}.json` };
}

/** Return the addresses of the tasks' models, by name. */
export function taskModels(): Readonly<Record<string, string>> {
  return lists.taskModels;
}

/** Return the files of images stored with models. */
export function pictures(): readonly string[] {
  return lists.pictures;
}

/** Return the size of a model in the list. */
export function bytesOf(model: string): number {
  return lists.bytes[model]!;
}

/** Return the largest model of the list whose file is smaller than that; undefined if there is none. */
export function smallerThan(bytes: number): string | undefined {
  const smaller = lists.models.filter((name) => bytesOf(name) < bytes);
  return smaller.sort((a, b) => bytesOf(b) - bytesOf(a))[0];
}

/** Select the entry in use: a task by name, a model of the list, or the user's own model. */
export function show(used: { readonly task?: string; readonly listed?: string; readonly own?: string }): void {
  page.task.value = used.task ?? "";
  if (used.own === undefined) own.remove();
  else {
    own.text = `${used.own} (your file)`;
    page.model.add(own);
    page.model.value = own.value;
  }
  if (used.listed !== undefined) page.model.value = `models/${used.listed}`;
  arrange();
}

/** Show the lists that apply to the selected task. */
export function arrange(): void {
  const { value } = page.task;
  page.modelChoice.hidden = value !== "";
  page.lookChoice.hidden = lists.tasks.find(({ name }) => name === value)?.kind !== "segmentation";
}
