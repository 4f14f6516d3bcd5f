// Makes the page installable, and usable offline: loaded files are cached, and used if the server does not respond. The
// server has priority, so that an old version of the page is not shown, nor this page after another one has taken its
// address.

/* global GLSL_INFER_BUILD: build.mjs puts it in: a version, the files to keep at once, and those to keep when they are used. */
const { version, first, later } = GLSL_INFER_BUILD;
const NAME = "glsl-infer";
const CACHE = `${NAME} ${version}`;
const known = new Set([...first, ...later, ""].map((name) => new URL(name, registration.scope).href));

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(keepFirst());
});

addEventListener("activate", (event) => event.waitUntil(Promise.all([forgetOthers(), clients.claim()])));

addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  address.search = address.hash = "";
  if (event.request.method === "GET" && known.has(address.href)) event.respondWith(answer(event.request, address.href));
});

async function keepFirst() {
  const cache = await caches.open(CACHE);
  await cache.addAll(["", ...first].map((name) => new Request(new URL(name, registration.scope), { cache: "no-cache" })));
}

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(`${NAME} `) && name !== CACHE).map((name) => caches.delete(name)));
}

async function answer(request, address) {
  const cache = await caches.open(CACHE);
  let response;
  try {
    response = await fetch(request, { cache: "no-cache" });
  } catch (error) {
    const kept = await cache.match(address);
    if (kept) return kept;
    throw error;
  }
  // A file that does not fit the cache is fetched from the server again.
  if (response.status === 200) cache.put(address, response.clone()).catch(() => {});
  return response;
}
