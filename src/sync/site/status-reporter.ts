import type { Clock } from "../../lib/clock.ts";
import type { HealthReport } from "../../ops/health/health.ts";
import type { ReportedStatus, SiteControlMessage } from "../protocol/control-messages.ts";
import type { SiteQueueStatus } from "./queue-status.ts";

export interface StatusReporterDeps {
  clock: Pick<Clock, "every">;
  health(): Pick<HealthReport, "status" | "reasons" | "since">;
  queue(): SiteQueueStatus | null;
  /** Drops the message if there is no link. */
  say(message: SiteControlMessage): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const REPORT_INTERVAL_MS = 15_000;
const MAX_REASONS = 100;
const MAX_REASON_LENGTH = 10_000;

/** Reports the health of the appliance to the cloud at intervals; `report` does so at once. */
export function createStatusReporter({ clock, health, queue, say }: StatusReporterDeps): {
  report(): void;
  stop(): void;
} {
  const readStatus = (): ReportedStatus => {
    const { status, reasons, since } = health();
    const { unsent = 0, unsentSince = null } = queue() ?? {};
    const texts = reasons.slice(0, MAX_REASONS).map(({ reason }) => reason.slice(0, MAX_REASON_LENGTH));
    return { health: status, reasons: texts, since, unsent, unsentSince };
  };
  const report = (): void => say({ t: "status", ...readStatus() });
  const timer = clock.every(REPORT_INTERVAL_MS, report);
  return { report, stop: () => timer.cancel() };
}
