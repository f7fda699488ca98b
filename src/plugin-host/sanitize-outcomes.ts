import type { OutcomeDetails } from "../plugin-api/index.ts";
import type { OutcomeReport } from "./plugin-protocol.ts";
import type { Redact } from "./redaction.ts";

const MAX_MODEL_LENGTH = 60;
const MAX_REASON_LENGTH = 500;
const LEVELS = new Set(["sent", "accepted", "playing", "heard", "confirmed", "failed", "skipped", "expired"]);

const FLAGS = [
  "retryable",
  "passing",
  "last",
  "afterwards",
  "gone",
  "returned",
  "textOnly",
  "unsupported",
  "inconclusive",
  "noNetwork",
  "channelDown",
] as const satisfies readonly (keyof OutcomeDetails)[];
type Flag = (typeof FLAGS)[number];

/** The flags of an outcome that are set. */
export function pickOutcomeFlags(flags: Pick<OutcomeDetails, Flag>): Pick<OutcomeDetails, Flag> {
  return Object.fromEntries(FLAGS.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name] === true]])));
}

/** Filters a plugin's outcomes: drops invalid ones, limits and redacts reasons. */
export function sanitizeOutcomes(notes: readonly OutcomeReport[], redact: Redact): OutcomeReport[] {
  return notes
    .filter(({ deliveryId, level }) => Number.isSafeInteger(deliveryId) && LEVELS.has(level))
    .map(({ deliveryId, level, details: { reason, retryAfterMs, started, match, askedAgain, ...flags }, at }) => {
      const details = {
        ...(reason !== undefined && { reason: redact(String(reason)).slice(0, MAX_REASON_LENGTH) }),
        ...(Number.isFinite(retryAfterMs) && { retryAfterMs }),
        ...pickOutcomeFlags(flags),
        ...(Number.isFinite(started?.at) && {
          started: {
            at: Number(started?.at),
            model: String(started?.model).slice(0, MAX_MODEL_LENGTH),
            ...(Number.isFinite(started?.heldMs) && { heldMs: Number(started?.heldMs) }),
          },
        }),
        ...(match &&
          isMatch(match) && {
            match: { pValue: match.pValue, delayMs: match.delayMs, levelDb: match.levelDb },
          }),
        ...(Number.isSafeInteger(askedAgain) && { askedAgain }),
      };
      return { deliveryId, level, details, at };
    });
}

function isMatch({ pValue, delayMs, levelDb }: NonNullable<OutcomeDetails["match"]>): boolean {
  return pValue >= 0 && pValue <= 1 && Number.isFinite(delayMs) && Number.isFinite(levelDb);
}
