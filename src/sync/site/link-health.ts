import type { HealthReason } from "../../ops/health/health.ts";
import { linkCertificateHealthReasons, type LocalIdentity } from "../identity/local-identity.ts";
import type { DialerState } from "../transport/dialer.ts";

/** A link that is down for so long is told. own choice: what a restart of the cloud takes, and more */
const REPORT_AFTER_MS = 120_000;

/** How an enrolled appliance's link is; `state` is null before the cloud is called. */
export interface LinkStatus {
  identity: LocalIdentity;
  state: DialerState | null;
  /** Its rows are being brought into the organisation, or that failed. */
  initialSync: "done" | "open" | "broken";
  now: number;
}

/** What of a link is not as it should be. */
export function linkHealthReasons({ identity, state, initialSync, now }: LinkStatus): HealthReason[] {
  if (!state && initialSync === "broken") return [INITIAL_SYNC_FAILED];
  if (!state && initialSync === "open") return [];
  if (!state) return [{ level: "red", code: "link", reason: "The enrolment was cut off. Enrol the appliance again." }];
  const faults: HealthReason[] = linkCertificateHealthReasons(identity.facts, now);
  const isLong = state.state === "refused" || now - state.since > REPORT_AFTER_MS;
  if (state.state === "connected" || !isLong) return faults;
  const reason = `There is no link to the cloud. ${state.reason ?? ""}`.trim();
  return [...faults, { level: "yellow", code: "link", reason }];
}

const INITIAL_SYNC_FAILED: HealthReason = {
  level: "red",
  code: "link",
  reason:
    "The appliance's rows could not be brought into the organisation: see its log. It is tried again with the next start.",
};
