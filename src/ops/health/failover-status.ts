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

/** A status in API form. */
export function presentFailoverStatus(status: FailoverStatus): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...status, lastHeartbeatAt: iso(status.lastHeartbeatAt), since: iso(status.since) };
}
