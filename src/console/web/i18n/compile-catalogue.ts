import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import { BugError } from "../../../lib/errors.ts";
import type { Messages } from "./translator.ts";

/** Compiles the ICU messages of a catalogue, as the build does; throws for a malformed one. */
export function compileCatalogue(catalogue: Readonly<Record<string, string>>): Messages {
  return Object.fromEntries(
    Object.entries(catalogue).map(([key, message]) => {
      try {
        return [key, compileMessageOrThrow(message)];
      } catch (cause) {
        throw new BugError(`message ${key}: ${String(cause)}`, { key }, cause);
      }
    }),
  );
}
