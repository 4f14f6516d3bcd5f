// Builds web/dist: the library (glsl-infer.js with its types), the demo page and the models that it offers.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const LIMIT = 56_000; // bytes of the library, minified, with its dependency

const web = dirname(fileURLToPath(import.meta.url));
const dist = join(web, "dist");
const models = join(web, "..", "models");

const common = { bundle: true, format: "esm", minify: true, target: "es2020", sourcemap: true, logLevel: "warning" };

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "models"), { recursive: true });
await build({ ...common, entryPoints: [join(web, "src/index.ts")], outfile: join(dist, "glsl-infer.js") });

// The page uses the library as everyone does: from its one file.
if (existsSync(join(web, "page"))) {
  await build({
    ...common,
    entryPoints: [join(web, "page/page.ts")],
    outfile: join(dist, "page.js"),
    plugins: [{ name: "library", setup: (b) => b.onResolve({ filter: /^glsl-infer$/ }, () => ({ path: "./glsl-infer.js", external: true })) }],
  });
  cpSync(join(web, "page/static"), dist, { recursive: true });
}
const names = readdirSync(models).filter((name) => name.endsWith(".glslnn"));
for (const name of names) copyFileSync(join(models, name), join(dist, "models", name));
writeFileSync(join(dist, "models", "index.json"), JSON.stringify(names.sort()));

if (process.argv.includes("--types")) {
  execFileSync(process.execPath, [join(web, "node_modules/typescript/bin/tsc"), "-p", join(web, "tsconfig.types.json")], { stdio: "inherit" });
}

const library = join(dist, "glsl-infer.js");
const size = statSync(library).size;
console.log(`web/dist/glsl-infer.js: ${size} bytes, ${gzipSync(readFileSync(library)).length} compressed`);
if (size > LIMIT) throw new Error(`the library has more than ${LIMIT} bytes`);
