import { hostname } from "node:os";
import { join } from "node:path";
import { createLogInProofs } from "../cloud-link/log-in-proofs.ts";
import { createAuditNotes, createHeldAuditNotes } from "../ops/audit-notes.ts";
import { createAuditStream } from "../ops/audit-stream.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import { createCloudLink } from "./cloud-link.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import { createDeviceGroupRegistry } from "./device-group-registry.ts";
import { createFailoverCoordinator } from "./failover-coordinator.ts";
import type { Foundation } from "./foundation.ts";
import { readAuthorities } from "./read-authorities.ts";

/**
 * What connects this machine with others: the cloud link, failover, and the ends of audits that they keep for each other.
 * Sends nothing before the modules start.
 */
export function createReplication(base: Foundation, options: DaemonOptions) {
  const { dataDir, data, settings, clock, events, log, endpointId } = base;
  const { store, access } = data;
  const auditNotes = createAuditNotes({
    ...{ store, clock, log, dataDir },
    backupFolder: settings.backups.folder ?? join(dataDir, "backups"),
  });
  const heldAuditNotes = createHeldAuditNotes(store, clock);
  const { audit } = settings;
  const auditStream = createAuditStream({
    ...{ store, clock, log, hostName: hostname(), settings: audit },
    target: audit.syslog === null ? null : parseListenAddress(audit.syslog),
    authority: readAuthorities("audit.authority", audit.authority),
  });
  const link = createCloudLink({ ...options, ...base, auditNotes, heldAuditNotes });
  const failover = createFailoverCoordinator({
    ...{ store, settings, clock, events, log, endpointId },
    ...{ hasCloud: link.isConnected, link: link.site, audits: { ...auditNotes, held: heldAuditNotes } },
    by: access.systemContext("failover"),
  });
  const { hub } = link;
  // A cloud gets no heartbeats; an appliance is reachable while it is linked.
  const isReachable = hub
    ? (id: string): boolean => id === endpointId() || hub.connected().includes(id)
    : failover.isReachable;
  const registry = createDeviceGroupRegistry({
    ...{ store, clock, events, log, isReachable, ownId: endpointId },
    shareOut: failover.assignDuty,
  });
  return {
    ...{ auditNotes, auditStream, link, failover, registry, isReachable },
    /** Log-ins at appliances that the cloud has verified. */
    proofs: createLogInProofs(store, clock),
    /** The rows of the organisation belong to a cloud. */
    isCloudManaged: (): boolean => link.site !== null && data.recording.recorder !== null,
  };
}
