/** Text of members. */

import type { Members } from "./container.ts";

/** Return a member's text, which is ASCII; members with other bytes have no valid text. */
export function textOf(name: string, members: Members): string {
  return new TextDecoder("latin1").decode(members.get(name));
}
