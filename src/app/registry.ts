import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { type Activations, countActivated, createActivations, rankOf } from "../devices/activation-groups.ts";
import { createGroupCounts, type GroupCounts } from "../devices/group-counts.ts";
import { createMemberships, type Memberships } from "../devices/memberships.ts";
import { ACTIVATION_GROUPS, DEVICE_GROUPS } from "../devices/stored-groups.ts";
import type { Reader } from "../store/store.ts";

/** Which devices groups have, and who activates them. */
export interface Registry {
  memberships: Memberships;
  activations: Activations;
  groupCounts: GroupCounts;
  activationCounts: GroupCounts;
  /** Stops following changes. */
  stop(): void;
}

/** What the registry is made of. */
export interface RegistryNeeds {
  store: Reader;
  clock: Clock;
  events: Events;
  log: Log;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
  /** This appliance. */
  ownId(): string;
  /** Who acts for an activation group or a pair now, as `ActivationNeeds` says. */
  shareOut(messageId: string, groupId: string): { holder: string; like: string };
}

/** Makes it; nothing is read before somebody asks. */
export function createRegistry({ store: reader, clock, events, log, ...of }: RegistryNeeds): Registry {
  const onError = (error: unknown): void => log.error({ err: error }, "members of groups were not found");
  const memberships = createMemberships({ reader, clock, events, source: DEVICE_GROUPS, onError });
  const described = createMemberships({ reader, clock, events, source: ACTIVATION_GROUPS, onError });
  const all = (): string[] => rankOf(reader);
  return {
    memberships,
    activations: createActivations({ reader, clock, described, ...of }),
    groupCounts: createGroupCounts({ memberships, clock, onError }),
    activationCounts: createGroupCounts({
      ...{ memberships: described, clock, onError },
      ...{ counting: all, count: countActivated(reader) },
    }),
    stop() {
      memberships.stop();
      described.stop();
    },
  };
}
