import { parentPort, workerData } from "node:worker_threads";
import { createAddressPolicy } from "../base/address-policy.ts";
import { systemClock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import { asClusterFault } from "./cluster-fault.ts";
import type { GatherCall, GatherReply, GatherSettings } from "./gather-messages.ts";
import { createGathering } from "./gathering.ts";
import { allowSingleDes } from "./snmp/single-des.ts";

/** Reads clusters in a thread of its own: answers of many megabytes are parsed here. */
const port = parentPort;
if (!port) throw new BugError("gather-worker is the entry of a thread");
const { allowedTargets, ...settings } = workerData as GatherSettings;
if (settings.allowDes) allowSingleDes();
const reply = (message: GatherReply): void => port.postMessage(message);
const reader = createGathering({
  ...settings,
  policy: createAddressPolicy({ allowedTargets }),
  clock: systemClock,
  onProgress: (clusterId, progress) => reply({ clusterId, progress }),
});

port.on("message", ({ id, method, args }: GatherCall) => {
  const work = (reader[method] as (...given: unknown[]) => Promise<unknown>)(...args);
  work.then(
    (value) => reply({ id, value }),
    (error: unknown) => {
      const { code, message } = asClusterFault(error, "Reading");
      reply({ id, fault: { code, message } });
    },
  );
});
