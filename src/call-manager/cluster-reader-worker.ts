import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";
import { toClusterError } from "./cluster-error.ts";
import { createClusterReader } from "./cluster-reader.ts";
import type { ClusterReaderCall, ClusterReaderReply, ClusterReaderSettings } from "./cluster-reader-messages.ts";
import { enableSingleDes } from "./snmp/single-des.ts";

/** Worker thread that reads clusters, because parsing responses of many megabytes blocks. */
const port = parentPort;
if (!port) throw new BugError("cluster-reader-worker must run as a worker thread");
const { allowedTargets, ...settings } = workerData as ClusterReaderSettings;
if (settings.allowDes) enableSingleDes();
const reply = (message: ClusterReaderReply): void => port.postMessage(message);
const reader = createClusterReader({
  ...settings,
  policy: createSsrfGuard({ allowedTargets }),
  clock: systemClock,
  onProgress: (clusterId, progress) => reply({ clusterId, progress }),
});

port.on("message", ({ id, method, args }: ClusterReaderCall) => {
  const work = (reader[method] as (...given: unknown[]) => Promise<unknown>)(...args);
  work.then(
    (value) => reply({ id, value }),
    (error: unknown) => {
      const { code, message } = toClusterError(error, "Reading");
      reply({ id, fault: { code, message } });
    },
  );
});
