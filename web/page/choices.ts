/** What the person can choose: a task, and a model where the task is to show what a model says. */

import { page } from "./elements.ts";

const DEFAULT_MODEL = "grocery-x22-257.glslnn";

/** What the tasks of the package are called here; others are called as their files are. */
const TITLES: Readonly<Record<string, string>> = {
  faces: "Faces",
  "faces-far": "Faces, far away",
  "face-mesh": "Face mesh",
  hands: "Palms",
  hand: "Hands",
  people: "People",
  selfie: "Cut out a person",
  "selfie-landscape": "Cut out a person, wide",
};

/** What the page's build says of a task. */
interface TaskEntry {
  readonly name: string;
  readonly kind: string;
  /** Models that it needs and that the build was not given. */
  readonly missing: readonly string[];
}

/** What the page's build has: files of models, tasks, and the files of the tasks' models by their names. */
interface Lists {
  readonly models: readonly string[];
  readonly tasks: readonly TaskEntry[];
  readonly taskModels: Readonly<Record<string, string>>;
  /** Pictures beside models: those that tests of the AI Benchmark begin with. */
  readonly pictures: readonly string[];
}

let lists: Lists = { models: [], tasks: [], taskModels: {}, pictures: [] };
/** The entry of the list that a model of the person's own has, while it is used. */
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

/** The task that is chosen; nothing where a model is to be shown. */
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

/** The addresses of the tasks' models, by their names. */
export function taskModels(): Readonly<Record<string, string>> {
  return lists.taskModels;
}

/** The files of pictures that lie beside models. */
export function pictures(): readonly string[] {
  return lists.pictures;
}

/** Let the lists show what is used: a task by its name, a model of the list, or one of the person's own. */
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

/** Show the choices that belong to the task that is chosen. */
export function arrange(): void {
  const { value } = page.task;
  page.modelChoice.hidden = value !== "";
  page.lookChoice.hidden = lists.tasks.find(({ name }) => name === value)?.kind !== "segmentation";
}
