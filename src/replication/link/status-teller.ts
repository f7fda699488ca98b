import type { Clock } from "../../base/clock.ts";
import type { HealthReport } from "../../health/health.ts";
import type { SiteTalk, ToldStatus } from "../talk.ts";
import type { SiteQueue } from "../view/site-queue.ts";

/** What telling needs. */
export interface StatusTellerNeeds {
  clock: Pick<Clock, "every">;
  health(): Pick<HealthReport, "status" | "reasons" | "since">;
  queue(): SiteQueue | null;
  /** Nothing is said where there is no link. */
  say(talk: SiteTalk): void;
}

/** own choice: a cloud shows what is no older */
const EVERY_MS = 15_000;
const MOST_REASONS = 100;
const LONGEST_REASON = 10_000;

/** Tells the cloud how the appliance is, again and again; `tell` does at once. */
export function createStatusTeller({ clock, health, queue, say }: StatusTellerNeeds): { tell(): void; stop(): void } {
  const told = (): ToldStatus => {
    const { status, reasons, since } = health();
    const { unsent = 0, unsentSince = null } = queue() ?? {};
    const words = reasons.slice(0, MOST_REASONS).map(({ reason }) => reason.slice(0, LONGEST_REASON));
    return { health: status, reasons: words, since, unsent, unsentSince };
  };
  const tell = (): void => say({ t: "status", ...told() });
  const timer = clock.every(EVERY_MS, tell);
  return { tell, stop: () => timer.cancel() };
}
