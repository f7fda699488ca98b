import type { HealthReason } from "../../health/health.ts";
import { identityFaults, type OwnIdentity } from "../identity/own-identity.ts";
import type { LinkState } from "./dialer.ts";

/** A link that is down for so long is told. own choice: what a restart of the cloud takes, and more */
const TOLD_AFTER_MS = 120_000;

/** How an enrolled appliance's link is; `state` is null before the cloud is called. */
export interface LinkNow {
  identity: OwnIdentity;
  state: LinkState | null;
  /** Its rows are being brought into the organisation, or that failed. */
  grounding: "done" | "open" | "broken";
  now: number;
}

/** What of a link is not as it should be. */
export function linkFaults({ identity, state, grounding, now }: LinkNow): HealthReason[] {
  if (!state && grounding === "broken") return [NOT_BROUGHT_IN];
  if (!state && grounding === "open") return [];
  if (!state) return [{ level: "red", code: "link", reason: "The enrolment was cut off. Enrol the appliance again." }];
  const faults: HealthReason[] = identityFaults(identity.facts, now);
  const isLong = state.state === "refused" || now - state.since > TOLD_AFTER_MS;
  if (state.state === "connected" || !isLong) return faults;
  const reason = `There is no link to the cloud. ${state.reason ?? ""}`.trim();
  return [...faults, { level: "yellow", code: "link", reason }];
}

const NOT_BROUGHT_IN: HealthReason = {
  level: "red",
  code: "link",
  reason:
    "The appliance's rows could not be brought into the organisation: see its log. It is tried again with the next start.",
};
