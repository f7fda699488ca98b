import { createClusterReaderThread } from "../call-manager/cluster-reader-thread.ts";
import { createPhoneCache, type PhoneCache, type ScheduleCron } from "../call-manager/phone-cache.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { readAuthorities } from "./read-authorities.ts";

export interface CallManagerDeps {
  store: Store;
  clock: Clock;
  log: Log;
  events: Events;
  settings: Settings;
  schedule: ScheduleCron;
  by: ActorContext;
  /** Id of this appliance's endpoint. */
  endpointId(): string;
}

/** Creates the phone cache and the thread that reads clusters. Throws CallerError when the CA file can't be read. */
export function createCallManagers(deps: CallManagerDeps): PhoneCache {
  const { callManagers, network } = deps.settings;
  const { full, delta, partial, snmpPort, allowDes } = callManagers;
  const authorities = readAuthorities("callManagers.authorities", callManagers.authorities);
  const settings = { allowedTargets: network.allowedTargets, authorities, snmpPort, allowDes };
  return createPhoneCache({
    ...deps,
    createReader: (onProgress) => createClusterReaderThread(settings, onProgress),
    times: { full, delta, partial },
  });
}
