import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { type CallerError, invalidValue, requiredValue, UpstreamError } from "../lib/errors.ts";
import { createIdleWorker } from "../lib/idle-worker.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { findContainedName, type PasswordNames, wordsOfNames } from "./password-names.ts";
import type { PasswordPattern, PasswordStrength, PasswordStrengthRequest } from "./password-strength.ts";
import { hashPassword } from "./passwords.ts";

/** Maximum length of new passwords, characters; bounds the work of the check. */
export const PASSWORD_MAX_LENGTH = 256;

/** The first check takes a second; a loaded machine is much slower. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Passwords are set rarely; the dictionaries take 60 MB. */
const IDLE_TIMEOUT_MS = 60_000;
const MEMORY_MB = 256;
const MAX_QUEUED = 50;
/** The guesses that a password needs, as the share of the guesses for as many random digits as the minimum length (log). */
const STRENGTH_PER_CHARACTER = 0.75;

/** Checks new passwords against the rules and hashes them. Existing passwords are never checked. */
export interface NewPasswords {
  /** Minimum length, characters. */
  readonly minLength: number;
  /**
   * Returns the hash. Throws `required` or `invalid-value` on `field` (default `password`), TooManyRequestsError when
   * too many wait.
   */
  hash(password: string, names: PasswordNames, field?: string): Promise<string>;
  /** Ends the worker thread. */
  close(): Promise<void>;
}

/**
 * Creates the check; `minLength` is that of the settings. No rule asks for digits or other kinds of characters; what counts is the number of guesses.
 * @source docs/decisions/0482-passwords-and-tokens.md; NIST SP 800-63B §3.1.1.2
 */
export function createNewPasswords(clock: Clock, minLength: number, spawn: () => Worker = spawnWorker): NewPasswords {
  const worker = createIdleWorker<PasswordStrengthRequest, PasswordStrength>({
    ...{ clock, spawn, requestTimeoutMs: REQUEST_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS, maxQueued: MAX_QUEUED },
    endedError: () =>
      new UpstreamError("upstream", sentence("auth.the-password-could-not-be-checked-nothing-was-changed-try")),
  });
  const hashInTurn = createSemaphore(1, MAX_QUEUED);
  return {
    minLength,
    async hash(password, names, field = "password") {
      if (password === "") throw requiredValue(field);
      const text = password.normalize("NFKC");
      const { length } = [...text];
      if (length < minLength)
        throw invalidValue(
          field,
          sentence("field.must-have-at-least-min-characters-such-as-a-sentence", { min: minLength }),
          {
            code: "password-too-short",
            params: { min: minLength },
          },
        );
      if (length > PASSWORD_MAX_LENGTH)
        throw invalidValue(
          field,
          sentence("field.must-have-at-most-limit-characters", { limit: PASSWORD_MAX_LENGTH }),
          {
            code: "password-too-long",
            params: { max: PASSWORD_MAX_LENGTH },
          },
        );
      const contained = findContainedName(text, names);
      if (contained) throw containedNameError(field, contained);
      const strength = await worker.request({ password: text, names: wordsOfNames(names) });
      if (strength.guessesLog10 < minLength * STRENGTH_PER_CHARACTER) throw weaknessError(field, strength.patterns);
      return hashInTurn(() => hashPassword(password));
    },
    close: worker.close,
  };
}

function containedNameError(
  field: string,
  { name, of }: NonNullable<ReturnType<typeof findContainedName>>,
): CallerError {
  const whose = of === "account" ? "of this account" : "of the organisation";
  return invalidValue(field, `Must not contain “${name}”, a name ${whose}. Choose several unrelated words.`, {
    code: `password-name-of-${of}`,
    params: { name },
  });
}

/** No part of the password appears in it: errors are shown on screens and logged by clients. */
const PATTERN_NAMES: Readonly<Record<PasswordPattern, string>> = {
  "common-password": "a common password",
  word: "a common word",
  name: "a common name",
  "own-name": "a name of the account or organisation",
  keyboard: "neighbouring keys",
  repeat: "repetitions",
  sequence: "a sequence",
  date: "a date",
  year: "a year",
};

function weaknessError(field: string, patterns: readonly PasswordPattern[]): CallerError {
  const parts = patterns.map((pattern) => PATTERN_NAMES[pattern]);
  const why = parts.length > 0 ? `It contains ${new Intl.ListFormat("en").format(parts)} and little else. ` : "";
  return invalidValue(field, `Is too easy to guess. ${why}Choose several unrelated words, or more characters.`, {
    code: parts.length > 0 ? "password-weak-parts" : "password-weak",
    params: { parts: patterns },
  });
}

/** Unread output would accumulate. */
function spawnWorker(): Worker {
  const thread = new Worker(workerEntry(import.meta.url, "./password-worker"), {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    name: "passwords",
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  return thread;
}
