// Builds web/dist: the library (glsl-infer.js), the demo page and the models that it offers; --types adds the library's
// types. --library DIR builds the library and its types alone, and leaves what else is in DIR.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";
import { buildTfjs } from "./tfjs/build.mjs";

const LIMIT = 62_500; // bytes of the library, minified; a fifth of them understand GLSL
const KEPT_AT_ONCE = 1_000_000; // bytes of a file that the installed page keeps before it is used

const web = dirname(fileURLToPath(import.meta.url));
const alone = process.argv.indexOf("--library") + 1;
const dist = alone ? resolve(process.argv[alone]) : join(web, "dist");
const models = join(web, "..", "models");

// Shaders are text; comments, spaces and zeros like that of 1.0 are for people.
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

// The constants of WebGL are the same numbers everywhere; the compiler's own types say which.
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

// Properties that never leave the library: private ones, and those of its inner parts. None may be the browser's own.
const inner = [
  ...["dropShaders", "fixedState", "startProgram", "checkProgram"], // gl/objects.ts
  ...["activate", "framebuffers", "generation", "handles", "layerCalls", "locations", "objects", "preprocess"], // prepared.ts
  ...["deviceLines", "owner", "requireUsable"], // gl/context.ts, beside what its users need
  ...["packed", "told"], // zip.ts
  ...["texelsOf", "numbersOf", "resultOf"], // frameReader.ts
  ...["kinds", "certain", "loose", "params"], // shaderLines.ts, shaderGrammar.ts
  ...["onlyInput", "onlyOutput"], // session.ts, for classifier.ts
];
const taken = inner.filter((name) => new RegExp(`^    (readonly )?${name}[?(:]`, "m").test(declarations));
if (taken.length) throw new Error(`${taken.join(", ")}: browsers have properties of this name, which cannot be shortened`);
const shortened = new RegExp(`^(_.*|${inner.join("|")})$`);

const common = { bundle: true, format: "esm", minify: true, target: "es2022", sourcemap: true, logLevel: "warning" };

if (!alone) rmSync(dist, { recursive: true, force: true });
await build({
  ...common,
  plugins: [glsl, numbers],
  mangleProps: shortened,
  entryPoints: [join(web, "src/index.ts")],
  outfile: join(dist, "glsl-infer.js"),
});

// A second pass over what is one file now: it inlines and reorders more than esbuild does.
const bundled = join(dist, "glsl-infer.js");
const { code, map } = await minify(readFileSync(bundled, "utf8"), {
  module: true,
  compress: { passes: 3, ecma: 2020, unsafe_arrows: true },
  sourceMap: { content: readFileSync(`${bundled}.map`, "utf8"), url: "glsl-infer.js.map" },
});
writeFileSync(bundled, code);
writeFileSync(`${bundled}.map`, map);

// The page uses the library as everyone does: from its one file.
async function buildPage() {
  const library = {
    name: "library",
    setup: (build) => build.onResolve({ filter: /^glsl-infer$/ }, () => ({ path: "./glsl-infer.js", external: true })),
  };
  const scripts = ["page", "runnerWorker"].map((name) => join(web, `page/${name}.ts`));
  await build({ ...common, plugins: [library], entryPoints: scripts, outdir: dist });
  mkdirSync(join(dist, "models"), { recursive: true });
  cpSync(join(web, "page/static"), dist, { recursive: true });
  copySamples();
  const names = readdirSync(models).filter((name) => name.endsWith(".glslnn"));
  for (const name of names) copyFileSync(join(models, name), join(dist, "models", name));
  writeFileSync(join(dist, "models", "index.json"), JSON.stringify(names.sort()));
  await buildTfjs(dist, names);
  await buildServiceWorker();
}
if (!alone) await buildPage();

if (alone || process.argv.includes("--types")) {
  const compiler = join(web, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", join(web, "tsconfig.types.json"), "--outDir", join(dist, "types")], { stdio: "inherit" });
}

const made = join(dist, "glsl-infer.js");
const size = statSync(made).size;
console.log(`${made}: ${size} bytes, ${gzipSync(readFileSync(made)).length} compressed`);
if (size > LIMIT) throw new Error(`the library has more than ${LIMIT} bytes`);

/** Copy the pictures that the page offers, wherever the project has them. */
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

/** Build what keeps the page's files for times without a network: small ones at once, others when they are used. */
async function buildServiceWorker() {
  const files = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dist, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"))
    .filter((name) => !/\.map$|\.d\.ts$|\.md$/.test(name))
    .sort();
  const hash = createHash("sha256");
  for (const name of files) hash.update(name).update(readFileSync(join(dist, name)));
  const isFirst = (name) => !name.startsWith("tfjs") && statSync(join(dist, name)).size <= KEPT_AT_ONCE;
  const made = {
    version: hash.digest("hex").slice(0, 16),
    first: files.filter(isFirst),
    later: files.filter((name) => !isFirst(name)),
  };
  await build({
    ...common,
    bundle: false,
    format: "iife",
    sourcemap: false,
    define: { GLSL_INFER_BUILD: JSON.stringify(made) },
    entryPoints: [join(web, "page/serviceWorker.js")],
    outfile: join(dist, "sw.js"),
  });
}
