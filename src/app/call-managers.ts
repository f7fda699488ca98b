import { readFileSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { createPhoneCache, type PhoneCache, type Schedule } from "../call-manager/phone-cache.ts";
import { createReadingThread } from "../call-manager/reading-thread.ts";
import type { Settings } from "../settings/schema.ts";
import type { By, Store } from "../store/store.ts";

/** What the phones of call managers are read with. */
export interface CallManagerNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  events: Events;
  settings: Settings;
  schedule: Schedule;
  by: By;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** Makes the phones' cache and the thread that reads clusters. Throws CallerError when the file of authorities can't be read. */
export function createCallManagers(needs: CallManagerNeeds): PhoneCache {
  const { callManagers, network } = needs.settings;
  const { full, delta, partial, snmpPort, allowDes } = callManagers;
  const authorities = readAuthorities(callManagers.authorities);
  const settings = { allowedTargets: network.allowedTargets, authorities, snmpPort, allowDes };
  // Set below: nothing is read before it is made.
  let cache: PhoneCache;
  const reader = createReadingThread(settings, (clusterId, progress) => cache.progress(clusterId, progress));
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
