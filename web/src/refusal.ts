/** How a model file is refused: in words, with the rule that it breaks and no more of its text than fits into a message. */

import { BundleError } from "./errors.ts";
import type { RULES } from "./formatConstants.ts";

/** A part of the format; docs/reference/bundle-format.md lists them. */
export type Rule = (typeof RULES)[number];

/** Refuse what a file gave; the rule is that of the innermost `under`, unless it is given. */
export function refuse(message: string, rule?: Rule): never {
  throw new BundleError(message, rule);
}

export type Refuse = (message: string) => never;

/** Return what refuses a part of a file, which every message then begins with. */
export function refusalOf(part: string): Refuse {
  return (message) => refuse(`${part}: ${message}`);
}

/** Do a part of the reader's work: what is refused there, and has no rule yet, breaks this one. */
export function under<T>(rule: Rule, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BundleError && !error.rule) refuse(error.message, rule);
    throw error;
  }
}

/** Return the first 60 characters of a text that a file gave. */
export function short(given: string): string {
  return given.slice(0, 60);
}
