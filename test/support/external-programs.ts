import { describe, it } from "vitest";
import { peers, present, remedy, strict } from "../../.ci/setup/debian.mjs";

/** `describe` and `it` for tests that talk to a program from outside. */
export interface ExternalProgram {
  readonly available: boolean;
  describe(title: string, body: () => void): void;
  it(title: string, body: () => Promise<void> | void, timeoutMs?: number): void;
}

/**
 * The gate for the program `command`, which .ci/debian-packages.txt must list. Where it is missing, each gated
 * `describe` or `it` becomes one test: a failure under CI, otherwise left out with the reason at the end of the run.
 */
export function externalProgram(command: string): ExternalProgram {
  const known = peers().find((each) => each.command === command);
  if (!known) throw new Error(`${command} is not listed in .ci/debian-packages.txt`);
  if (present(command)) return { available: true, describe, it };
  const reason = `needs ${command} (${remedy([known])})`;
  const missingProgramTest = (title: string): void =>
    it(title, (context) => {
      if (strict()) throw new Error(reason);
      context.skip(reason);
    });
  return { available: false, describe: missingProgramTest, it: missingProgramTest };
}
