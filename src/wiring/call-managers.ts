import { readFileSync } from "node:fs";
import { createClusterReaderThread } from "../call-manager/cluster-reader-thread.ts";
import { createPhoneCache, type PhoneCache, type ScheduleCron } from "../call-manager/phone-cache.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** What the phones of call managers are read with. */
export interface CallManagerDeps {
  store: Store;
  clock: Clock;
  log: Log;
  events: Events;
  settings: Settings;
  schedule: ScheduleCron;
  by: ActorContext;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** Makes the phones' cache and the thread that reads clusters. Throws CallerError when the file of authorities can't be read. */
export function createCallManagers(needs: CallManagerDeps): PhoneCache {
  const { callManagers, network } = needs.settings;
  const { full, delta, partial, snmpPort, allowDes } = callManagers;
  const authorities = readAuthorities(callManagers.authorities);
  const settings = { allowedTargets: network.allowedTargets, authorities, snmpPort, allowDes };
  // Set below: nothing is read before it is made.
  let cache: PhoneCache;
  const reader = createClusterReaderThread(settings, (clusterId, progress) =>
    cache.reportProgress(clusterId, progress),
  );
  cache = createPhoneCache({ ...needs, reader, times: { full, delta, partial } });
  return cache;
}

function readAuthorities(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw invalidValue("callManagers.authorities", `The file ${file} can't be read.`);
  }
}
