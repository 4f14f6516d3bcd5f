// Builds web/dist: the library (glsl-infer.js), the demo page and its models; with --types also the library's types.
// --library DIR builds the library and its types only, and keeps other files in DIR. --models DIR, also repeated:
// folders of other bundles for the page, such as that of `glsl-infer get` for its tasks.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";
import { offerModels } from "./tasks.mjs";
import { buildTfjs } from "./tfjs/build.mjs";

const LIMIT = 74_500; // limit of the minified library, in bytes; a quarter of it checks GLSL
const KEPT_AT_ONCE = 1_000_000; // largest file, in bytes, that the installed page caches before its first use

const web = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: { types: { type: "boolean" }, library: { type: "string" }, models: { type: "string", multiple: true, default: [] } },
});
const dist = options.library ? resolve(options.library) : join(web, "dist");

// Shaders are text; remove comments, spaces and zeros such as that of 1.0.
const withoutSpaces = (line) => line.replace(/ *([^\w. ]) */g, "$1").replace(/(\d\.)0\b/g, "$1").replace(/\b0(?=\.\d)/g, "");
const glsl = {
  name: "glsl",
  setup: (build) =>
    build.onLoad({ filter: /\.(frag|vert)$/ }, ({ path }) => {
      const lines = readFileSync(path, "utf8").split("\n").map((line) => line.replace(/\/\/.*/, "").trim());
      const tight = lines.filter(Boolean).map((line) => (line[0] === "#" ? line : withoutSpaces(line)));
      return { contents: (tight.join("\n") + "\n").replace(/([;{}])\n(?!#|$)/g, "$1"), loader: "text" };
    }),
};

// The constants of WebGL have fixed values; read them from the compiler's own types.
const declarations = readFileSync(join(web, "node_modules/typescript/lib/lib.dom.d.ts"), "utf8");
const [, context] = declarations.match(/^interface WebGLRenderingContextBase \{(.*?)^\}/ms);
const declared = context.matchAll(/readonly ([A-Z]\w*): (0x[0-9A-F]+|\d+);/g);
const constants = new Map(Array.from(declared, ([, name, value]) => [name, Number(value)]));
const numbers = {
  name: "numbers",
  setup: (build) =>
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      const number = (found, name) => String(constants.get(name) ?? found);
      return { contents: readFileSync(path, "utf8").replace(/(?<!\.)\bgl\.([A-Z]\w*)/g, number), loader: "ts" };
    }),
};

// Properties used only inside the library: private ones, and those of internal modules. Names of browser properties are
// not allowed.
const inner = [
  ...["dropShaders", "setFixedState", "startProgram", "checkProgram"], // gl/objects.ts
  ...["activate", "framebuffers", "generation", "handles", "layerCalls", "locations", "objects", "preprocess"], // prepared.ts
  ...["deviceLines", "owner", "requireAnswer", "requireUsable"], // gl/context.ts, internal use only
  ...["packed", "entryOffset"], // zip.ts
  ...["texelsOf", "numbersOf", "resultOf"], // frameReader.ts
  ...["listOf", "atLeast", "atMost", "capped", "tupleOf", "mapOf", "choiceOf", "onlyIf", "thenType"], // described.ts
  ...["onlyInput", "onlyOutput"], // session.ts, for classifier.ts
];
const taken = inner.filter((name) => new RegExp(`^    (readonly )?${name}[?(:]`, "m").test(declarations));
if (taken.length) throw new Error(`${taken.join(", ")}: browsers have properties of this name, which cannot be shortened`);
const shortened = new RegExp(`^(_.*|${inner.join("|")})$`);

const common = { bundle: true, format: "esm", minify: true, target: "es2022", sourcemap: true, logLevel: "warning" };

if (!options.library) rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  ...common,
  plugins: [glsl, numbers],
  mangleProps: shortened,
  entryPoints: [join(web, "src/index.ts")],
  outfile: join(dist, "glsl-infer.js"),
});

// The page and the tasks import the library's single file, as other users do.
const library = {
  name: "library",
  setup: (build) => {
    for (const [filter, path] of [[/^glsl-infer$/, "./glsl-infer.js"], [/^glsl-infer\/tasks$/, "./glsl-infer-tasks.js"]]) {
      build.onResolve({ filter }, () => ({ path, external: true }));
    }
  },
};
await build({ ...common, plugins: [library, glsl], entryPoints: [join(web, "src/tasks/index.ts")], outfile: join(dist, "glsl-infer-tasks.js") });

// A second pass over the single file: it inlines and reorders more than esbuild does.
const bundled = join(dist, "glsl-infer.js");
const { code, map } = await minify(readFileSync(bundled, "utf8"), {
  module: true,
  compress: { passes: 3, ecma: 2020, unsafe_arrows: true },
  sourceMap: { content: readFileSync(`${bundled}.map`, "utf8"), url: "glsl-infer.js.map" },
});
writeFileSync(bundled, code);
writeFileSync(`${bundled}.map`, map);

async function buildPage() {
  const scripts = ["page", "runnerWorker"].map((name) => join(web, `page/${name}.ts`));
  await build({ ...common, plugins: [library], entryPoints: scripts, outdir: dist, loader: { ".csv": "text" } });
  cpSync(join(web, "page/static"), dist, { recursive: true });
  copySamples();
  await buildTfjs(dist, offerModels(dist, options.models));
  await buildServiceWorker();
}
if (!options.library) await buildPage();

if (options.library || options.types) {
  const compiler = join(web, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", join(web, "tsconfig.types.json"), "--outDir", join(dist, "types")], { stdio: "inherit" });
}

const libraryFile = join(dist, "glsl-infer.js");
const size = statSync(libraryFile).size;
console.log(`${libraryFile}: ${size} bytes, ${gzipSync(readFileSync(libraryFile)).length} compressed`);
if (size > LIMIT) throw new Error(`the library has more than ${LIMIT} bytes`);

/** Copy the page's sample images from other folders of the project. */
function copySamples() {
  mkdirSync(join(dist, "samples"));
  const folders = ["docs/images", "glsl_infer/tools/get"].map((name) => join(web, "..", name));
  for (const [, name] of readFileSync(join(dist, "index.html"), "utf8").matchAll(/src="samples\/([^"]+)"/g)) {
    const folder = folders.find((folder) => existsSync(join(folder, name)));
    if (!folder) throw new Error(`index.html: there is no picture ${name} in ${folders.join(" or ")}`);
    copyFileSync(join(folder, name), join(dist, "samples", name));
  }
  copyFileSync(join(folders[0], "ATTRIBUTION.md"), join(dist, "samples", "ATTRIBUTION.md"));
}

/** Build the service worker that caches the page's files: small ones at once, others on first use. */
async function buildServiceWorker() {
  const files = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dist, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"))
    .filter((name) => !/\.map$|\.d\.ts$|\.md$/.test(name))
    .sort();
  const hash = createHash("sha256");
  for (const name of files) hash.update(name).update(readFileSync(join(dist, name)));
  const isFirst = (name) => !name.startsWith("tfjs") && statSync(join(dist, name)).size <= KEPT_AT_ONCE;
  const cachedFiles = {
    version: hash.digest("hex").slice(0, 16),
    first: files.filter(isFirst),
    later: files.filter((name) => !isFirst(name)),
  };
  await build({
    ...common,
    bundle: false,
    format: "iife",
    sourcemap: false,
    define: { GLSL_INFER_BUILD: JSON.stringify(cachedFiles) },
    entryPoints: [join(web, "page/serviceWorker.js")],
    outfile: join(dist, "sw.js"),
  });
}
