/** Refusals of model files: messages with the violated rule, and with short excerpts of the file. */

import { BundleError } from "./errors.ts";
import type { RULES } from "./formatConstants.ts";

/** A rule of the format; docs/reference/bundle-format.md lists them. */
export type Rule = (typeof RULES)[number];

/** Refuse a file. The rule is that of the innermost `under` by default. */
export function refuse(message: string, rule?: Rule): never {
  throw new BundleError(message, rule);
}

export type Refuse = (message: string) => never;

/** Return a function that refuses a part of a file; messages start with its name. */
export function refusalOf(part: string): Refuse {
  return (message) => refuse(`${part}: ${message}`);
}

/** Call a function. Its refusals without a rule have this rule, if any. */
export function under<T>(rule: Rule | undefined, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BundleError && !error.rule) refuse(error.message, rule);
    throw error;
  }
}

/** Return the first 60 characters of a file's text. */
export function short(text: string): string {
  return text.slice(0, 60);
}
