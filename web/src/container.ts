/** The container of a bundle: allowed members of the zip file, and their largest sizes. */

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

/** Largest unpacked size of some members, in bytes. */
const MAX_SIZES: Record<string, number> = {
  "manifest.json": MAX_MANIFEST_BYTES,
  "graph.json": MAX_GRAPH_BYTES,
  "passes.bin": MAX_TABLE_BYTES,
  "labels.txt": MAX_LABELS_BYTES,
};
/** Remedy for a file that is not a bundle, as the end of a message. */
const GIVE_EXPORTED = "; give a *.glslnn file that 'glsl-infer export' wrote";
/** Remedy for a damaged file, as the end of a message. */
export const EXPORT_AGAIN = "; export or copy the file again";

/** Bytes of members by name. */
export type Members = ReadonlyMap<string, Uint8Array>;

/** A zip file whose members are unpacked on request. */
export interface Container {
  /** Return the bytes of manifest.json alone, whose version is checked first. */
  manifest(): Uint8Array;
  /** Return the bytes of all other members, if all are allowed in a bundle. */
  members(): Members;
}

/** Open a zip file. This function and all methods of the result throw BundleError. */
export function open(file: Uint8Array): Container {
  const entries = under("container", () => entriesOf(file));

  function bytesOf(entry: Entry): Uint8Array {
    try {
      return unpack(file, entry);
    } catch (error) {
      return refuse(`damaged or not readable (${(error as Error).message})${EXPORT_AGAIN}`);
    }
  }

  return {
    manifest: () => under("container", () => {
      const entry = entries.find(({ name }) => name === MANIFEST);
      if (!entry) refuse(`a zip file, but not a glsl-infer model (it has no manifest.json)${GIVE_EXPORTED}`);
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
    return refuse(`not a glsl-infer model, or cut off before its end${EXPORT_AGAIN}`);
  }
}

function checkEntries(entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const { name, method, packed, size } of entries) {
    if (!FILE_PATTERN.test(name) || seen.has(name)) {
      refuse(`not allowed in a model: member '${short(name)}'${GIVE_EXPORTED}`);
    }
    if ((method || packed !== size) && method !== 8) {
      refuse(`member '${name}' is compressed in a way that is not supported`);
    }
    if (size > (MAX_SIZES[name] ?? size)) refuse(`${name} unpacks to more than ${MAX_SIZES[name]! / 2 ** 20} MiB`);
    seen.add(name);
  }
  if (sum(entries, ({ size }) => size) > MAX_BYTES) {
    refuse(`unpacks to more than ${MAX_BYTES / 2 ** 20} MiB`);
  }
}

/** Return the size of a member in bytes. Throw BundleError if it is missing. */
export function memberSize(name: string, members: Members): number {
  return (members.get(name) ?? refuse(`member '${short(name)}' is missing`, "members")).length;
}

/** Return a member's text, which is ASCII; members with other bytes have no valid text. */
export function textOf(name: string, members: Members): string {
  return new TextDecoder("latin1").decode(members.get(name));
}
