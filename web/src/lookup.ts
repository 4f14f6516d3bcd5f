/** What a manifest names, looked up. */

import type { Members } from "./container.ts";
import type { Texture } from "./manifest.ts";
import { refuse, short, type Refuse } from "./refusal.ts";

export type ByName<T> = ReadonlyMap<string, T>;

/** Return an entry by its name. */
export function find<T>(entries: ByName<T>, name: string, kind: string, fail: Refuse): T {
  return entries.get(name) ?? fail(`no ${kind} is called '${name}'`);
}

type Size = Pick<Texture, "width" | "height">;

/** Return whether a rectangle of that size at that place lies in a texture, and there is that texture. */
export function isInside(place: { readonly x: number; readonly y: number }, size: Size, texture: Size | undefined): boolean {
  return !!texture && place.x + size.width <= texture.width && place.y + size.height <= texture.height;
}

/** Return the size of a member. */
export function member(name: string, members: Members): number {
  return (members.get(name) ?? refuse(`member '${short(name)}' is missing`)).length;
}
