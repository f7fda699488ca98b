import { sentence } from "../../lib/sentences/sentences.ts";
import type { HealthReason } from "../../ops/health/health.ts";
import { type LocalIdentity, linkCertificateHealthReasons } from "../identity/local-identity.ts";
import type { DialerState } from "../transport/dialer.ts";
import type { InitialSyncReport } from "./initial-sync-report.ts";

/**
 * How long a link may be down before that is a health problem: longer than a restart of the cloud.
 * @source docs/decisions/0300-sync-limits.md
 */
const REPORT_AFTER_MS = 120_000;

/** Link status of an enrolled appliance; `state` is null before the first dial. */
export interface LinkStatus {
  identity: LocalIdentity;
  state: DialerState | null;
  /** State of the initial sync: done, running (`open`) or failed (`broken`). */
  initialSync: "done" | "open" | "broken";
  /** What was compared after the first sync; null if it was not. */
  report: InitialSyncReport | null;
  now: number;
}

/** Health problems of the link. */
export function linkHealthReasons({ identity, state, initialSync, report, now }: LinkStatus): HealthReason[] {
  if (!state && initialSync === "broken") return [INITIAL_SYNC_FAILED];
  if (!state && initialSync === "open") return [];
  if (!state) return [{ level: "red", code: "link", reason: sentence("health.enrolment-incomplete") }];
  const problems: HealthReason[] = [
    ...linkCertificateHealthReasons(identity.facts, now),
    ...initialSyncReasons(report, now),
  ];
  const isLong = state.state === "refused" || now - state.since > REPORT_AFTER_MS;
  if (state.state === "connected" || !isLong) return problems;
  const reason = state.reason
    ? sentence("health.link-down-because", { reason: state.reason })
    : sentence("health.link-down");
  return [...problems, { level: "yellow", code: "link", reason }];
}

/** How long the first sync may take before that is a problem. @source docs/decisions/0651-proof-of-the-initial-sync.md */
const SLOW_AFTER_MS = 600_000;

function initialSyncReasons(report: InitialSyncReport | null, now: number): HealthReason[] {
  if (report?.state === "differs") {
    const count = report.differences.length + report.more;
    return [{ level: "red", code: "link:initial-sync", reason: sentence("health.initial-sync-differs", { count }) }];
  }
  if (report?.state !== "running" || now - report.startedAt < SLOW_AFTER_MS) return [];
  const reason =
    report.waitsFor === null
      ? sentence("health.initial-sync-slow")
      : sentence("health.initial-sync-waits", { for: report.waitsFor });
  return [{ level: "yellow", code: "link:initial-sync", reason }];
}

const INITIAL_SYNC_FAILED: HealthReason = {
  level: "red",
  code: "link",
  reason: sentence("health.initial-sync-failed"),
};
