import type { Clock } from "#plugin-api";
import type { PushOutcome } from "./pusher.ts";

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
  const none = Symbol("no response");
  let cancel = (): void => {};
  const late = new Promise<typeof none>((resolve) => {
    const timer = clock.after(afterMs, () => resolve(none));
    cancel = () => timer.cancel();
  });
  const early = await Promise.race([first, late]);
  cancel();
  if (early !== none) return early;
  const helped = second().then((error): PushOutcome | null =>
    error === null ? { kind: "accepted", reason: "accepted by the media API only; the text may be missing" } : null,
  );
  const sooner = await Promise.race([helped, first]);
  if (sooner?.kind === "accepted") return sooner;
  const [firstResult, other] = await Promise.all([first, helped]);
  return firstResult.kind === "accepted" ? firstResult : (other ?? firstResult);
}
