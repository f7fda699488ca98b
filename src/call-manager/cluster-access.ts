import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Secrets, StoreReader } from "../store/store.ts";
import type { ClusterAccess } from "./cluster-types.ts";

export type ClusterRow = RowOf<typeof callmgrClusters>;

/** Connection data of a cluster with secrets in clear text: never store or log it. */
export function clusterAccessOf(cluster: ClusterRow, secrets: Secrets): ClusterAccess {
  const open = (sealed: string | null): string => (sealed === null || sealed === "" ? "" : secrets.open(sealed));
  const { id, name, axlAddress: address, axlUser: user, axlFingerprint: fingerprint } = cluster;
  return {
    ...{ id, name },
    axl: { address, user, password: open(cluster.axlPassword), fingerprint },
    snmp:
      cluster.snmpVersion === "2"
        ? { version: 2, community: open(cluster.snmpCommunity) }
        : {
            version: 3,
            user: cluster.snmpUsername ?? "",
            authPassword: open(cluster.snmpAuthPassword),
            encryptPassword: open(cluster.snmpEncryptPassword),
          },
  };
}

/** Clusters whose phones this appliance reads. */
export function clustersGatheredBy(reader: StoreReader, endpointId: string): ClusterRow[] {
  const servers = reader.find(callmgrOnpremServers, { endpointId, isPhoneGatherer: true });
  return servers.flatMap(({ cucmClusterId }) => reader.get(callmgrClusters, cucmClusterId) ?? []);
}
