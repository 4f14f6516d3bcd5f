// Builds web/dist/tfjs if npm has fetched tfjs: its code, and the page's models in its format. `node build.mjs FOLDER
// FILE...` converts models of FOLDER/models only, into FOLDER/tfjs, and prints a list of the converted ones.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "node_modules/@tensorflow");
const binaries = join(packages, "tfjs-backend-wasm/wasm-out");

/**
 * Write `dist/tfjs`, and `dist/tfjs.json` with a description for the page.
 *
 * @param {string} dist folder of the page, with its models.
 * @param {string[]} names of the models' files.
 */
export async function buildTfjs(dist, names) {
  const there = existsSync(packages);
  const converted = there ? await convertAll(dist, names) : [];
  const version = there ? JSON.parse(readFileSync(join(packages, "tfjs-core/package.json"), "utf8")).version : null;
  writeFileSync(join(dist, "tfjs.json"), JSON.stringify({ version, models: converted }));
  if (!there) {
    console.log("web/dist/tfjs: not made, for npm has not fetched tfjs; without it the page has but our runner to show");
    return;
  }
  await build({
    ...{ bundle: true, format: "esm", minify: true, target: "es2022", logLevel: "warning" },
    entryPoints: ["webgl", "wasm"].map((name) => join(here, `${name}.js`)),
    outdir: join(dist, "tfjs"),
  });
  for (const kind of ["", "-simd", "-threaded-simd"]) {
    const name = `tfjs-backend-wasm${kind}.wasm`;
    copyFileSync(join(binaries, name), join(dist, "tfjs", name));
  }
}

/** Convert the files of `dist/models` that tfjs can represent, into `dist/tfjs`; return their names. */
export async function convertAll(dist, names) {
  const converter = join(dist, "convert.mjs"); // for Node.js, not a browser
  await build({
    ...{ bundle: true, format: "esm", logLevel: "warning", outfile: converter },
    stdin: {
      contents: 'export { read } from "../src/bundle.ts"; export { convert } from "./convert.ts";',
      resolveDir: here,
    },
  });
  const { read, convert } = await import(pathToFileURL(converter).href);
  rmSync(converter);
  const converted = [];
  for (const name of names) {
    const bundle = await read(readFileSync(join(dist, "models", name)), name);
    try {
      const { model, weights } = convert(bundle);
      const folder = join(dist, "tfjs", name.replace(/\.glslnn$/, ""));
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "model.json"), JSON.stringify(model));
      writeFileSync(join(folder, "weights.bin"), weights);
      converted.push(name);
    } catch (error) {
      console.log(`web/dist/tfjs: ${name}: ${error.message}`);
    }
  }
  return converted;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...names] = process.argv.slice(2);
  console.log(JSON.stringify(await convertAll(folder, names)));
}
