import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";

/** How long the rest of a body may go on arriving after the answer. own choice */
const LINGER_MS = 10_000;

/**
 * Many clients read the answer only when they have sent everything, so what nobody reads is thrown away as it arrives,
 * for a while.
 */
export function drainRequest(request: IncomingMessage, clock: Clock): void {
  if (request.complete) return;
  request.resume();
  const timer = clock.after(LINGER_MS, () => request.destroy(), { background: true });
  request.once("close", () => timer.cancel());
}
