import { invalidValue, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, Store, Sync, Transaction } from "../store/store.ts";
import { validateHost } from "./cluster-hooks.ts";

type Server = RowOf<typeof callmgrOnpremServers>;

/** Fields that require CTI, which is not supported. */
const CTI_FIELDS = ["jtapiPhoneActivationEnabled", "jtapiStaticTerminalsEnabled", "makeCtiConnection"] as const;

/**
 * Validates the call managers; the first appliance of a cluster reads its phones, the next one takes over when that is deleted.
 * A write that enables activation over CTI gets a warning each time.
 */
export function serverHooks(policy: SsrfGuard): ResourceHooks<typeof callmgrOnpremServers> {
  return {
    async prepare(input) {
      if (typeof input.cmAddress !== "string") return;
      const hosts = input.cmAddress.split(",").map((host) => host.trim());
      if (hosts.includes(""))
        throw invalidValue("cmAddress", sentence("field.must-be-a-comma-separated-list-of-hosts"));
      for (const host of hosts) await validateHost("cmAddress", host, policy);
    },
    beforeWrite({ op, after }, tx, by) {
      // The side that made or deleted a row chose; rows arrive at each side in another order.
      if (op !== "create" || !after || by.replicated) return;
      after.isPhoneGatherer = tx.count(callmgrOnpremServers, { cucmClusterId: after.cucmClusterId }) === 0;
    },
    afterWrite({ before, after }, tx, by) {
      if (before?.isPhoneGatherer && !after && !by.replicated) {
        const [next] = tx.find(callmgrOnpremServers, { cucmClusterId: before.cucmClusterId }, 1);
        if (next) tx.update(callmgrOnpremServers, next.id, {}, by, { isPhoneGatherer: true });
      }
      if (after && !by.replicated && CTI_FIELDS.some((field) => after[field] && !before?.[field]))
        recordCtiUnsupported(after, tx, by);
    },
  };
}

function recordCtiUnsupported(server: Server, tx: Transaction, by: ActorContext): void {
  const endpoint = tx.get(endpoints, server.endpointId);
  const cluster = tx.get(callmgrClusters, server.cucmClusterId);
  if (!endpoint || !cluster) return;
  const message = sentence("error.cti-jtapi-is-not-supported-phones-of-cluster-are-activated-over-http", {
    cluster: cluster.name,
  });
  const about = { type: "log-message", severity: "warn", value: { message, callmgrClusterId: cluster.id } };
  const system: ActorContext = { ...by, actor: { ...by.actor, kind: "system" } };
  tx.create(endpointActivities, { extensionId: endpoint.extensionId, endpointId: endpoint.id, ...about }, system);
}

/** Makes an appliance the one that reads the phones of a cluster; the others stop. Throws not-found. @source docs/decisions/0013-other-resources.md, Clusters */
export async function chooseGatherer(
  clusterId: string,
  serverId: string,
  by: ActorContext,
  store: Store,
): Promise<Server> {
  return store.write((tx) => {
    const servers = tx.find(callmgrOnpremServers, { cucmClusterId: clusterId });
    if (!servers.some(({ id }) => id === serverId)) throw notFound();
    for (const { id, isPhoneGatherer } of servers) {
      const gathers = id === serverId;
      if (isPhoneGatherer !== gathers) tx.update(callmgrOnpremServers, id, {}, by, { isPhoneGatherer: gathers });
    }
    return tx.get(callmgrOnpremServers, serverId) as Sync<Server>;
  });
}
