/** Elements of the page, by their names in index.html. */

/** Return an element of the page, which index.html always has. */
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
  smaller: element<HTMLButtonElement>("smaller"),
  stage: element("stage"),
  status: element("status"),
  task: element<HTMLSelectElement>("task"),
  test: element<HTMLTemplateElement>("test"),
  tests: element("tests"),
  time: element<HTMLOutputElement>("time"),
  video: element<HTMLVideoElement>("video"),
};

/** Show a message below the image; screen readers read it aloud. */
export function say(text: string): void {
  page.status.classList.remove("wrong");
  page.smaller.hidden = true;
  page.status.textContent = text;
}

/** Show an error's message, which is written for users. */
export function complain(error: unknown): void {
  page.status.classList.add("wrong");
  page.status.textContent = error instanceof Error ? sentence(error.message) : String(error);
}

/** Capitalise a message, unless it starts with a file name. */
function sentence(message: string): string {
  return /^\S+: /.test(message) ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
