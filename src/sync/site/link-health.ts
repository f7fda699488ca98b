import type { HealthReason } from "../../ops/health/health.ts";
import { linkCertificateHealthReasons, type LocalIdentity } from "../identity/local-identity.ts";
import type { DialerState } from "../transport/dialer.ts";

/** How long a link may be down before that is a health problem: longer than a restart of the cloud. @source docs/decisions/0300-sync-limits.md */
const REPORT_AFTER_MS = 120_000;

/** Link status of an enrolled appliance; `state` is null before the first dial. */
export interface LinkStatus {
  identity: LocalIdentity;
  state: DialerState | null;
  /** State of the initial sync: done, running (`open`) or failed (`broken`). */
  initialSync: "done" | "open" | "broken";
  now: number;
}

/** Health problems of the link. */
export function linkHealthReasons({ identity, state, initialSync, now }: LinkStatus): HealthReason[] {
  if (!state && initialSync === "broken") return [INITIAL_SYNC_FAILED];
  if (!state && initialSync === "open") return [];
  if (!state) return [{ level: "red", code: "link", reason: "The enrolment was not completed. Enrol the appliance again." }];
  const problems: HealthReason[] = linkCertificateHealthReasons(identity.facts, now);
  const isLong = state.state === "refused" || now - state.since > REPORT_AFTER_MS;
  if (state.state === "connected" || !isLong) return problems;
  const reason = `Not connected to the cloud. ${state.reason ?? ""}`.trim();
  return [...problems, { level: "yellow", code: "link", reason }];
}

const INITIAL_SYNC_FAILED: HealthReason = {
  level: "red",
  code: "link",
  reason:
    "The initial sync with the organisation failed; see the log. It is retried at the next start.",
};
