/** The container of a bundle: which members a zip file may have, and how large they may be. */

import { BundleError } from "./errors.ts";
import {
  FILE_PATTERN,
  MAX_BYTES,
  MAX_GRAPH_BYTES,
  MAX_LABELS_BYTES,
  MAX_MANIFEST_BYTES,
  MAX_TABLE_BYTES,
} from "./formatConstants.ts";
import { sum } from "./lists.ts";
import { refuse, short, under } from "./refusal.ts";
import { checkLayout, directory, unpack, type Entry } from "./zip.ts";

export const MANIFEST = "manifest.json";

/** The most that some members may unpack to, in bytes. */
const MOST: Record<string, number> = {
  "manifest.json": MAX_MANIFEST_BYTES,
  "graph.json": MAX_GRAPH_BYTES,
  "passes.bin": MAX_TABLE_BYTES,
  "labels.txt": MAX_LABELS_BYTES,
};
const GIVE = "; give a *.glslnn file that 'glsl-infer export' wrote";
/** What to do about a file that is not as it was written. */
export const AGAIN = "; export or copy the file again";

/** Bytes of members by name. */
export type Members = ReadonlyMap<string, Uint8Array>;

/** A zip file whose members are unpacked when they are asked for. */
export interface Container {
  /** Return the bytes of manifest.json alone: what it says of the version is looked at before all else. */
  manifest(): Uint8Array;
  /** Return the bytes of all other members, if every one belongs into a bundle. */
  members(): Members;
}

/** Open a zip file; this and every method of what it returns throws BundleError. */
export function open(file: Uint8Array): Container {
  const entries = under("container", () => entriesOf(file));

  function bytesOf(entry: Entry): Uint8Array {
    try {
      return unpack(file, entry);
    } catch (error) {
      return refuse(`damaged or not readable (${(error as Error).message})${AGAIN}`);
    }
  }

  return {
    manifest: () => under("container", () => {
      const entry = entries.find(({ name }) => name === MANIFEST);
      if (!entry) refuse(`a zip file, but not a glsl-infer model (it has no manifest.json)${GIVE}`);
      checkEntries([entry]);
      checkLayout(file, entries);
      return bytesOf(entry);
    }),
    members: () => under("container", () => {
      checkEntries(entries);
      return new Map(entries.filter(({ name }) => name !== MANIFEST).map((entry) => [entry.name, bytesOf(entry)]));
    }),
  };
}

function entriesOf(file: Uint8Array): Entry[] {
  try {
    return directory(file);
  } catch (error) {
    if (error instanceof BundleError) throw error;
    return refuse(`not a glsl-infer model, or cut off before its end${AGAIN}`);
  }
}

function checkEntries(entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const { name, method, packed, size } of entries) {
    if (!FILE_PATTERN.test(name) || seen.has(name)) {
      refuse(`not allowed in a model: member '${short(name)}'${GIVE}`);
    }
    if ((method || packed !== size) && method !== 8) {
      refuse(`member '${name}' is compressed in a way that is not supported`);
    }
    if (size > (MOST[name] ?? size)) refuse(`${name} unpacks to more than ${MOST[name]! / 2 ** 20} MiB`);
    seen.add(name);
  }
  if (sum(entries, ({ size }) => size) > MAX_BYTES) {
    refuse(`unpacks to more than ${MAX_BYTES / 2 ** 20} MiB`);
  }
}
