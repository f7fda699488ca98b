import type { Clock } from "#plugin-api";
import type { PushOutcome } from "./pusher.ts";

/**
 * What became of a push, helped by a `second` way of asking when no answer has come after `afterMs`; that one gives null
 * when the phone took it, else why not. A phone that took both plays one stream: it is the same, and it plays one at a time.
 */
export async function hedgedRequest(
  first: Promise<PushOutcome>,
  second: () => Promise<string | null>,
  { clock, afterMs }: { clock: Clock; afterMs: number },
): Promise<PushOutcome> {
  const none = Symbol("no answer");
  let cancel = (): void => {};
  const late = new Promise<typeof none>((resolve) => {
    const timer = clock.after(afterMs, () => resolve(none));
    cancel = () => timer.cancel();
  });
  const early = await Promise.race([first, late]);
  cancel();
  if (early !== none) return early;
  const helped = second().then((fault): PushOutcome | null =>
    fault === null
      ? { kind: "accepted", reason: "it answered to the second way of asking: the text may be missing" }
      : null,
  );
  const sooner = await Promise.race([helped, first]);
  if (sooner?.kind === "accepted") return sooner;
  const [said, other] = await Promise.all([first, helped]);
  return said.kind === "accepted" ? said : (other ?? said);
}
