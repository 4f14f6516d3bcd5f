/** The container of a bundle: which members a zip file may have, and how large they may be. */

import { MAX_MANIFEST_BYTES } from "./caps.ts";
import { BundleError } from "./errors.ts";
import { short } from "./strict.ts";
import { directory, unpack, type Entry } from "./zip.ts";

export const MANIFEST = "manifest.json";

/** Most bytes that all members may unpack to. */
export const MAX_BYTES = 256 * 2 ** 20;

const MEMBER_NAME = /^(manifest\.json|labels\.txt|(shaders|weights)\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)$/;
const GIVE = "give a *.glslnn file that 'glsl-infer export' wrote";
const AGAIN = "export or copy the file again";

/** Bytes of members by name. */
export type Members = ReadonlyMap<string, Uint8Array>;

/** A zip file whose members are unpacked when they are asked for. Every method throws BundleError. */
export class Container {
  private readonly entries: readonly Entry[];

  constructor(private readonly file: Uint8Array) {
    try {
      this.entries = directory(file);
    } catch {
      throw new BundleError(`not a glsl-infer model, or cut off before its end; ${AGAIN}`);
    }
  }

  /** Return the bytes of manifest.json alone: what it says of the version is looked at before all else. */
  manifest(): Uint8Array {
    const entry = this.entries.find((one) => one.name === MANIFEST);
    if (!entry) throw new BundleError(`a zip file, but not a glsl-infer model (it has no manifest.json); ${GIVE}`);
    checkEntries([entry]);
    if (entry.size > MAX_MANIFEST_BYTES) throw new BundleError("manifest.json unpacks to more than 16 MiB");
    return this.unpack(entry);
  }

  /** Return the bytes of all other members, if every one belongs into a bundle. */
  members(): Members {
    checkEntries(this.entries);
    return new Map(this.entries.filter((one) => one.name !== MANIFEST).map((one) => [one.name, this.unpack(one)]));
  }

  private unpack(entry: Entry): Uint8Array {
    try {
      return unpack(this.file, entry);
    } catch (error) {
      throw new BundleError(`damaged or not readable (${(error as Error).message}); ${AGAIN}`);
    }
  }
}

function checkEntries(entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const { name, method, encrypted } of entries) {
    if (!MEMBER_NAME.test(name) || seen.has(name)) {
      throw new BundleError(`not allowed in a model: member '${short(name)}'; ${GIVE}`);
    }
    if (encrypted || (method !== 0 && method !== 8)) {
      throw new BundleError(`member '${name}' is compressed or encrypted in a way that is not supported`);
    }
    seen.add(name);
  }
  if (entries.reduce((sum, one) => sum + one.size, 0) > MAX_BYTES) {
    throw new BundleError(`unpacks to more than ${MAX_BYTES / 2 ** 20} MiB`);
  }
}
