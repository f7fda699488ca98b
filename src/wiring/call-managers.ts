import { createClusterReaderThread } from "../call-manager/cluster-reader-thread.ts";
import { createPhoneCache, type PhoneCache, type ScheduleCron } from "../call-manager/phone-cache.ts";
import {
  createPhoneConfigurations,
  type PhoneConfigurations,
} from "../call-manager/phone-configuration/phone-configurations.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { ownAddresses } from "../lib/network-route.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { DeviceDiagnosis } from "../ops/health/quiet-tests.ts";
import devices from "../resources/devices/devices.ts";
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

/** URL of the phones' plugin at which phones ask whether a push is allowed. */
const AUTHENTICATION_URL = "ip-phones/auth";

/** Reads phones' configurations, for the API and for the silent tests of phones. */
export function createPhoneChecks({
  store,
  clock,
  log,
  policy,
  urls,
}: Pick<CallManagerDeps, "store" | "clock" | "log"> & {
  policy: SsrfGuard;
  /** URLs of the plugins. */
  urls(): Readonly<Record<string, string>>;
}): { configurations: PhoneConfigurations; diagnose(deviceId: string): Promise<DeviceDiagnosis | null> } {
  const configurations = createPhoneConfigurations({
    ...{ reader: store, clock, policy },
    authenticationUrl: () => urls()[AUTHENTICATION_URL],
    ownAddresses: () => ownAddresses().map(({ address }) => address),
  });
  return {
    configurations,
    async diagnose(deviceId) {
      const device = store.get(devices, deviceId);
      if (!device) return null;
      try {
        const problem = await configurations.diagnose(device);
        return problem && { reason: problem.words, refuses: problem.severity === "refuses" };
      } catch (error) {
        log.warn({ event: "phone.configuration_check_failed", err: error }, "failed to check a phone's configuration");
        return null;
      }
    },
  };
}
