/** Failover role and state of an appliance. Times are epoch ms. @source docs/decisions/0012-extensions-and-endpoints.md */
export interface FailoverStatus {
  endpointId: string;
  role: "primary" | "backup" | "standalone";
  state: "active" | "standby" | "takeover" | "unreachable";
  partnerEndpointId: string | null;
  lastHeartbeatAt: number | null;
  activationGroupIds: string[];
  /** Where the appliance gets its leases from: the cloud, its peers on the LAN, or neither. */
  mode: "cloud" | "lan" | "solo";
  /** Number of the current election term. */
  term: number;
  /** Start of the state, as far as known to this appliance. */
  since: number | null;
  peers: string[];
}

/** Status in API format. */
export function presentFailoverStatus(status: FailoverStatus): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { ...status, lastHeartbeatAt: iso(status.lastHeartbeatAt), since: iso(status.since) };
}
