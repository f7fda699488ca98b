import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";

/** Help text of password options. */
export const PASSWORD_HELP = "at least 12 characters, such as a sentence; default: prompt at the terminal";

/**
 * The password in the environment variable `variable`, else prompts twice. Throws CallerError when the two entries differ,
 * or when there is no terminal to prompt at; that error names `option`.
 */
export async function readNewPassword(
  terminal: Terminal,
  { whose, option, variable }: { whose: string; option: string; variable: string },
): Promise<string> {
  const kept = terminal.env[variable];
  if (kept) return kept;
  const first = await terminal.askSecret(`New password of ${whose}: `);
  if (!first) throw new CallerError("required", `Password missing: add ${option}, or set ${variable}.`);
  if ((await terminal.askSecret("Repeat the password: ")) === first) return first;
  throw new CallerError("invalid-value", "The two passwords differ; nothing was changed. Try again.");
}
