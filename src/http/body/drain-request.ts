import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";

/** How long the rest of a body is drained after the response. */
const LINGER_MS = 10_000;

/** Discards the rest of the body for a while: many clients read the response only after sending everything. */
export function drainRequest(request: IncomingMessage, clock: Clock): void {
  if (request.complete) return;
  request.resume();
  const timer = clock.after(LINGER_MS, () => request.destroy(), { background: true });
  request.once("close", () => timer.cancel());
}
