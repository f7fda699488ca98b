import { chooseGatherer } from "../../call-manager/server-behaviour.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../resources/callmgr/callmgr-onprem-servers.ts";
import { type Action, visibleRow } from "../action.ts";

/** What clusters do beyond being rows. @source digest `/v1/callmgr-clusters/{cucmClusterId}/onprem-servers` */
export const callmgrClusterActions: readonly Action[] = [
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/onprem-servers/{onpremServerId}/phone-gatherer",
    doc: "Makes an appliance the one that asks the cluster for its phones.",
    answers: { kind: "row", resource: callmgrOnpremServers },
    async handle(request) {
      const { params, needs, by } = request;
      const cluster = visibleRow(request, callmgrClusters, params.cucmClusterId ?? "");
      const server = await chooseGatherer(cluster.id, params.onpremServerId ?? "", by, needs.store);
      return request.show(callmgrOnpremServers, server);
    },
  },
];
