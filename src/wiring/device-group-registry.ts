import {
  type Activations,
  activationGroupOrder,
  countByActivationGroup,
  createActivations,
} from "../devices/activation-groups.ts";
import { createGroupCounts, type GroupCounts } from "../devices/group-counts.ts";
import { createGroupMemberships, type GroupMemberships } from "../devices/group-memberships.ts";
import { ACTIVATION_GROUPS, DEVICE_GROUPS } from "../devices/stored-groups.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { StoreReader } from "../store/store.ts";

/** Members of device groups, and the appliance that activates each device. */
export interface DeviceGroupRegistry {
  memberships: GroupMemberships;
  activations: Activations;
  groupCounts: GroupCounts;
  activationCounts: GroupCounts;
  /** Unsubscribes from changes. */
  stop(): void;
}

export interface DeviceGroupRegistryDeps {
  store: StoreReader;
  clock: Clock;
  events: Events;
  log: Log;
  /** Whether an appliance can activate devices at present. */
  isReachable(endpointId: string): boolean;
  /** Endpoint id of this appliance. */
  ownId(): string;
  /** The appliance on duty for an activation group or failover pair; see `ActivationDeps`. */
  shareOut(messageId: string, groupId: string): { holder: string; equivalenceKey: string };
}

/** Members are read on demand. */
export function createDeviceGroupRegistry({
  store: reader,
  clock,
  events,
  log,
  ...activationDeps
}: DeviceGroupRegistryDeps): DeviceGroupRegistry {
  const onError = (error: unknown): void =>
    log.error({ event: "groups.membership_failed", err: error }, "failed to compute group members");
  const memberships = createGroupMemberships({ reader, clock, events, source: DEVICE_GROUPS, onError });
  const groupMemberships = createGroupMemberships({ reader, clock, events, source: ACTIVATION_GROUPS, onError });
  const all = (): string[] => activationGroupOrder(reader);
  return {
    memberships,
    activations: createActivations({ reader, clock, groupMemberships, ...activationDeps }),
    groupCounts: createGroupCounts({ memberships, clock, onError }),
    activationCounts: createGroupCounts({
      ...{ memberships: groupMemberships, clock, onError },
      ...{ counting: all, count: countByActivationGroup(reader) },
    }),
    stop() {
      memberships.stop();
      groupMemberships.stop();
    },
  };
}
