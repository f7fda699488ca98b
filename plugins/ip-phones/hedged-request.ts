import { type Clock, within } from "#plugin-api";
import type { PushOutcome } from "./pusher.ts";
import { sentence } from "./sentences.ts";

/**
 * Result of a push, hedged by a `second` request if no response arrives within `afterMs`; `second` resolves with null
 * if the phone accepted, else with the reason. A phone that accepts both plays one stream, since it plays one at a
 * time.
 */
export async function hedgedRequest(
  first: Promise<PushOutcome>,
  second: () => Promise<string | null>,
  { clock, afterMs }: { clock: Clock; afterMs: number },
): Promise<PushOutcome> {
  const early = await within(clock, first, { timeoutMs: afterMs });
  if (early !== null) return early.value;
  const helped = second().then((error): PushOutcome | null =>
    error === null ? { kind: "accepted", reason: sentence("media-api-only") } : null,
  );
  const sooner = await Promise.race([helped, first]);
  if (sooner?.kind === "accepted") return sooner;
  const [firstResult, other] = await Promise.all([first, helped]);
  return firstResult.kind === "accepted" ? firstResult : (other ?? firstResult);
}
