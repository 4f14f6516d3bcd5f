// Copies models and tasks to the page: those of the project, of `glsl-infer get`, and the user's own. `node tasks.mjs
// DIST FOLDER...` repeats it for a finished page.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const SHIPPED = join(here, "../models");
const PACKAGE = join(here, "../glsl_infer/tasks/data");
const DEFAULT = { default: "models/grocery-x22-257.glslnn" }; // name of the package's model
const KINDS = ["detection", "landmarks", "segmentation"]; // classification works with any model

/**
 * Copy models and tasks to `dist`, and write `models/index.json` with their list for the page.
 *
 * @param {string} dist folder of the page.
 * @param {string[]} folders folders of `*.glslnn` and of other tasks (`*.json`).
 * @returns {string[]} the files of the project's models.
 */
export function offerModels(dist, folders) {
  for (const folder of folders) {
    if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new Error(`--models ${folder}: there is no such folder`);
  }
  const shipped = endingIn(SHIPPED, ".glslnn");
  for (const name of shipped) copy(SHIPPED, dist, "models", name);

  const tasks = new Map(); // later folders replace tasks of the package
  for (const folder of [PACKAGE, ...folders]) {
    for (const file of endingIn(folder, ".json")) {
      const task = taskOf(join(folder, file));
      if (task) tasks.set(file.replace(/\.json$/, ""), { ...task, folder, file });
    }
  }
  const taskModels = { ...DEFAULT };
  const used = new Set();
  for (const { model, folder, file } of tasks.values()) {
    copy(folder, dist, "tasks", file);
    if (model in taskModels) continue;
    const beside = model.endsWith(".glslnn"); // otherwise it is a name for `glsl-infer get`
    const name = beside ? model : `${model}.glslnn`;
    const where = (beside ? [folder] : folders).find((one) => existsSync(join(one, name)));
    if (where === undefined) continue;
    used.add(join(where, name));
    taskModels[model] = `${beside ? "tasks" : "models"}/${name}`;
    copy(where, dist, beside ? "tasks" : "models", name);
    const licence = `${model}.licence.txt`;
    if (existsSync(join(where, licence))) copy(where, dist, "models", licence);
  }
  const others = folders.flatMap((folder) => endingIn(folder, ".glslnn").map((name) => [folder, name]));
  const own = others.filter(([folder, name]) => !used.has(join(folder, name)));
  for (const [folder, name] of own) copy(folder, dist, "models", name);
  const pictures = own.map(([folder, name]) => [folder, name.replace(/glslnn$/, "png")]).filter(([folder, name]) => existsSync(join(folder, name)));
  for (const [folder, name] of pictures) copy(folder, dist, "models", name); // input image of an AI Benchmark test

  /** Return the models of a task and of its detector. */
  function needs({ model, detector }) {
    const of = detector === undefined ? undefined : tasks.get(detector.replace(/\.json$/, ""));
    return [model, ...(of ? needs({ model: of.model }) : [])];
  }
  const models = [...new Set([...shipped, ...own.map(([, name]) => name)])].sort();
  const offered = {
    models,
    bytes: Object.fromEntries(models.map((name) => [name, statSync(join(dist, "models", name)).size])),
    tasks: [...tasks]
      .filter(([, { task }]) => KINDS.includes(task))
      .map(([name, task]) => ({ name, kind: task.task, missing: needs(task).filter((model) => !(model in taskModels)) })),
    taskModels,
    pictures: pictures.map(([, name]) => name),
  };
  writeFileSync(join(dist, "models", "index.json"), JSON.stringify(offered));
  return shipped;
}

function copy(from, dist, folder, name) {
  const target = join(dist, folder, name);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(from, name), target);
}

function endingIn(folder, suffix) {
  return readdirSync(folder).filter((name) => name.endsWith(suffix)).sort();
}

/** Return the content of a task file; undefined for other JSON. */
function taskOf(path) {
  try {
    const task = JSON.parse(readFileSync(path, "utf8"));
    return typeof task?.task === "string" && typeof task.model === "string" ? task : undefined;
  } catch {
    return undefined;
  }
}

if (process.argv[1] && fileURLToPath(import.meta.url) === resolve(process.argv[1])) {
  const [dist, ...folders] = process.argv.slice(2);
  offerModels(dist, folders);
}
