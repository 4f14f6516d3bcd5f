/** Lookup of names in a manifest. */

import type { Members } from "./container.ts";
import { refuse, short } from "./refusal.ts";

export type ByName<T> = ReadonlyMap<string, T>;

/** Return the size of a member. */
export function member(name: string, members: Members): number {
  return (members.get(name) ?? refuse(`member '${short(name)}' is missing`, "members")).length;
}
