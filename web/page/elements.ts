/** The page's elements, by the names that index.html gives them. */

/** Return an element of the page; index.html has them all. */
function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export const page = {
  about: element("about"),
  activations: element("activations"),
  activationsTitle: element("activations-title"),
  bench: element<HTMLButtonElement>("bench"),
  benchmark: element("benchmark"),
  benchmarkTitle: element("benchmark-title"),
  camera: element<HTMLButtonElement>("camera"),
  check: element<HTMLButtonElement>("check"),
  compare: element<HTMLButtonElement>("compare"),
  comparison: element("comparison"),
  comparisonTitle: element("comparison-title"),
  file: element<HTMLInputElement>("file"),
  frames: element<HTMLOutputElement>("frames"),
  hint: element("hint"),
  labels: element<HTMLOListElement>("labels"),
  layerList: element("layer-list"),
  layers: element<HTMLButtonElement>("layers"),
  look: element<HTMLSelectElement>("look"),
  lookChoice: element("look-choice"),
  model: element<HTMLSelectElement>("model"),
  modelChoice: element("model-choice"),
  nothing: element("nothing"),
  output: element<HTMLCanvasElement>("output"),
  picture: element<HTMLCanvasElement>("picture"),
  rate: element<HTMLOutputElement>("rate"),
  runner: element<HTMLTemplateElement>("runner"),
  runners: element("runners"),
  samples: element("samples"),
  stage: element("stage"),
  status: element("status"),
  task: element<HTMLSelectElement>("task"),
  test: element<HTMLTemplateElement>("test"),
  tests: element("tests"),
  time: element<HTMLOutputElement>("time"),
  video: element<HTMLVideoElement>("video"),
};

/** Say something under the picture; screen readers read it out. */
export function say(text: string): void {
  page.status.classList.remove("wrong");
  page.status.textContent = text;
}

/** Say what went wrong: the message of an error is for the person. */
export function complain(error: unknown): void {
  page.status.classList.add("wrong");
  page.status.textContent = error instanceof Error ? sentence(error.message) : String(error);
}

/** Begin a message with a capital letter, unless with the name of a file. */
function sentence(message: string): string {
  return /^\S+: /.test(message) ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
