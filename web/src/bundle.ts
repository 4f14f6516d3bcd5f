/**
 * The bundle file, `.glslnn`: a zip with manifest.json, passes.bin, graph.json, labels.txt, shaders/* and weights/*.
 *
 * docs/reference/bundle-format.md specifies it. GLSL is the only executable content.
 */

import { EXPORT_AGAIN, MANIFEST, memberSize, open, type Members } from "./container.ts";
import { BundleError, ContextError } from "./errors.ts";
import { NONE_RULES, type NoneRule } from "./formatConstants.ts";
import { classesOf, shapeOfOutput } from "./hostSteps.ts";
import { GRAPH, LABELS, PASSES, type Manifest, type Pass } from "./manifest.ts";
import { check } from "./manifestCheck.ts";
import { checkVersion, fromJson } from "./manifestJson.ts";
import { checkRecords } from "./probe.ts";
import { refuse, short, under } from "./refusal.ts";
import { parse } from "./strictJson.ts";

/** A bundle in memory: manifest, passes, labels, and the bytes of all members except manifest.json. */
export interface Bundle {
  readonly manifest: Manifest;
  /** Passes of a frame, in order. */
  readonly passes: readonly Pass[];
  readonly members: Members;
  /** Lines of labels.txt; empty without an output for classes. */
  readonly labels: readonly string[];
  /**
   * Rule of the answer "none of these" for a model without a class for it, from the table of the project's own models by
   * the SHA-256 of manifest.json; undefined for others.
   */
  readonly noneRule: NoneRule | undefined;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/**
 * Fetch and verify a bundle.
 *
 * @param url address of a `.glslnn` file, relative to the page.
 * @param progress called with the received bytes and the size (0 if the server does not send it).
 * @throws BundleError the file cannot be fetched, or is not a valid bundle; the message starts with the address.
 */
export async function fetchBundle(url: string, progress?: (received: number, total: number) => void): Promise<Bundle> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch {
    refuse(`${url}: cannot be fetched; check the address and the connection`);
  }
  if (!response.ok) refuse(`${url}: HTTP status ${response.status} ${response.statusText}`.trim());
  let file: Uint8Array;
  try {
    file = await body(response, progress);
  } catch {
    refuse(`${url}: the connection ended early; try again`);
  }
  return read(file, url);
}

/**
 * Verify a bundle: all hashes, all fields, and their consistency.
 *
 * @param file the bytes of a `.glslnn` file.
 * @param name name of the file in messages.
 * @throws BundleError it is truncated, damaged, or of another format or version.
 */
export async function read(file: Uint8Array, name = "model"): Promise<Bundle> {
  try {
    const container = open(file);
    const manifestBytes = container.manifest();
    const data = under("keys", () => parse(utf8(manifestBytes, MANIFEST)));
    checkVersion(data); // first, because another version can have other content
    const members = container.members();
    for (const member of [PASSES, GRAPH, LABELS]) memberSize(member, members); // refuses a missing member
    const manifest = fromJson(data);
    await checkHashes(manifest, members);
    const passes = check(manifest, members);
    under("probe", () => checkRecords(manifest.probe, members.get(manifest.probe.member)!));
    const labels = under("labels", () => labelsOf(manifest, members));
    const noneRule = NONE_RULES[await sha256(manifestBytes)];
    return { manifest, passes, members, labels, noneRule, bytes: file.length };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    // Control characters in a hostile file's names are removed from messages.
    const message = error.message.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");
    refuse(`${name}: ${message}${error.rule ? ` (rule: ${error.rule})` : ""}`, error.rule);
  }
}

/** Return the labels of all classes. */
function labelsOf({ outputs }: Manifest, members: Members): string[] {
  const labels = splitLabels(utf8(members.get(LABELS)!, LABELS));
  const output = classesOf(outputs);
  const [classes = 0] = output ? shapeOfOutput(output) : [];
  if (labels.length !== classes) refuse(`${labels.length} labels for ${classes} classes`);
  return labels;
}

/** Return the lines of a labels file. Only a line feed (or CR LF) ends a line, and the last one can lack it. */
function splitLabels(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

async function body(response: Response, progress?: (received: number, total: number) => void): Promise<Uint8Array> {
  if (!progress || !response.body) return new Uint8Array(await response.arrayBuffer());
  const total = Number(response.headers.get("content-length")) || 0;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
    progress(length, total);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function checkHashes(manifest: Manifest, members: Members): Promise<void> {
  const missing = [...manifest.members.keys()].find((name) => !members.has(name));
  if (missing !== undefined) refuse(`member '${short(missing)}' is missing${EXPORT_AGAIN}`, "container");
  await Promise.all(
    [...members].map(async ([name, bytes]) => {
      const digest = manifest.members.get(name);
      if (digest === undefined) refuse(`member '${name}' is not in the manifest${EXPORT_AGAIN}`, "container");
      if ((await sha256(bytes)) !== digest) refuse(`member '${name}' is damaged (its sha256 differs)${EXPORT_AGAIN}`, "container");
    }),
  );
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new ContextError("browsers check files only in pages over https or on localhost; open it that way");
  const hash = new Uint8Array(await subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    refuse(`damaged ('${name}' in it is not UTF-8)${EXPORT_AGAIN}`);
  }
}
