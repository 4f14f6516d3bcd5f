/** What a manifest names, looked up. */

import type { Members } from "./container.ts";
import { refuse, short, type Refuse } from "./refusal.ts";

export type ByName<T> = ReadonlyMap<string, T>;

/** Return an entry by its name. */
export function find<T>(entries: ByName<T>, name: string, kind: string, fail: Refuse): T {
  return entries.get(name) ?? fail(`no ${kind} is called '${name}'`);
}

/** Return the size of a member. */
export function member(name: string, members: Members): number {
  return (members.get(name) ?? refuse(`member '${short(name)}' is missing`)).length;
}
