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

/** Which devices groups have, and who activates them. */
export interface DeviceGroupRegistry {
  memberships: GroupMemberships;
  activations: Activations;
  groupCounts: GroupCounts;
  activationCounts: GroupCounts;
  /** Stops following changes. */
  stop(): void;
}

/** What the registry is made of. */
export interface DeviceGroupRegistryDeps {
  store: StoreReader;
  clock: Clock;
  events: Events;
  log: Log;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
  /** This appliance. */
  ownId(): string;
  /** Who acts for an activation group or a pair now, as `ActivationNeeds` says. */
  shareOut(messageId: string, groupId: string): { holder: string; equivalenceKey: string };
}

/** Makes it; nothing is read before somebody asks. */
export function createDeviceGroupRegistry({
  store: reader,
  clock,
  events,
  log,
  ...of
}: DeviceGroupRegistryDeps): DeviceGroupRegistry {
  const onError = (error: unknown): void => log.error({ err: error }, "members of groups were not found");
  const memberships = createGroupMemberships({ reader, clock, events, source: DEVICE_GROUPS, onError });
  const groupMemberships = createGroupMemberships({ reader, clock, events, source: ACTIVATION_GROUPS, onError });
  const all = (): string[] => activationGroupOrder(reader);
  return {
    memberships,
    activations: createActivations({ reader, clock, groupMemberships, ...of }),
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
