import type { Health } from "./health.ts";

/** How an appliance stands to the one that would take its place. Times are epoch ms. @source decisions.md 12 */
export interface FailoverStatus {
  endpointId: string;
  role: "primary" | "backup" | "standalone";
  state: "active" | "standby" | "takeover" | "unreachable";
  partnerEndpointId: string | null;
  lastHeartbeatAt: number | null;
  activationGroupIds: string[];
  /** Where the appliance takes its orders from: the cloud, its neighbours, or nobody else. */
  mode: "cloud" | "lan" | "solo";
  /** Number of the last change of roles. */
  term: number;
  /** When the state began, as far as this appliance knows. */
  since: number | null;
  peers: string[];
}

/**
 * What this appliance knows of an endpoint. It has no partner and hears from no other appliance, so that it alone is
 * active and others are out of reach.
 */
export function failoverStatus(
  endpointId: string,
  { ownId, health }: { ownId(): string; health: Pick<Health, "startedAt"> },
): FailoverStatus {
  const own = endpointId === ownId();
  return {
    endpointId,
    role: "standalone",
    state: own ? "active" : "unreachable",
    partnerEndpointId: null,
    lastHeartbeatAt: null,
    activationGroupIds: [],
    mode: "solo",
    term: 0,
    since: own ? health.startedAt : null,
    peers: [],
  };
}

/** A status in API form. */
export function shownFailover(status: FailoverStatus): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...status, lastHeartbeatAt: iso(status.lastHeartbeatAt), since: iso(status.since) };
}
