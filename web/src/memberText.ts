/** The text of a member. */

import type { Members } from "./container.ts";

/** Return a member's text, which is ASCII; what has other bytes is no text that anything is compared with. */
export function textOf(name: string, members: Members): string {
  return new TextDecoder("latin1").decode(members.get(name));
}
