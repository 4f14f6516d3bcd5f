/** How a model file is refused: in words, with no more of what it says than fits into a message. */

import { BundleError } from "./errors.ts";

/** Refuse what a file gave. */
export function refuse(message: string): never {
  throw new BundleError(message);
}

export type Refuse = (message: string) => never;

/** Return what refuses a part of a file, which every message then begins with. */
export function refusalOf(part: string): Refuse {
  return (message) => refuse(`${part}: ${message}`);
}

/** Return the first 60 characters of a text that a file gave. */
export function short(given: string): string {
  return given.slice(0, 60);
}
