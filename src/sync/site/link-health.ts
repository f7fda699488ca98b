import { sentence } from "../../lib/sentences/sentences.ts";
import type { HealthReason } from "../../ops/health/health.ts";
import { type LocalIdentity, linkCertificateHealthReasons } from "../identity/local-identity.ts";
import type { DialerState } from "../transport/dialer.ts";

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
  now: number;
}

/** Health problems of the link. */
export function linkHealthReasons({ identity, state, initialSync, now }: LinkStatus): HealthReason[] {
  if (!state && initialSync === "broken") return [INITIAL_SYNC_FAILED];
  if (!state && initialSync === "open") return [];
  if (!state) return [{ level: "red", code: "link", reason: sentence("health.enrolment-incomplete") }];
  const problems: HealthReason[] = linkCertificateHealthReasons(identity.facts, now);
  const isLong = state.state === "refused" || now - state.since > REPORT_AFTER_MS;
  if (state.state === "connected" || !isLong) return problems;
  const reason = state.reason
    ? sentence("health.link-down-because", { reason: state.reason })
    : sentence("health.link-down");
  return [...problems, { level: "yellow", code: "link", reason }];
}

const INITIAL_SYNC_FAILED: HealthReason = {
  level: "red",
  code: "link",
  reason: sentence("health.initial-sync-failed"),
};
