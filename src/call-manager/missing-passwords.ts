import type { StoreReader } from "../store/store.ts";
import { type ClusterRow, clustersGatheredBy } from "./cluster-access.ts";

/** Something that somebody has to enter. */
export interface MissingPassword {
  level: "yellow";
  code: string;
  reason: string;
}

/** Health that is yellow while a cluster that this appliance asks lacks a password: they don't travel with the row. */
export function createMissingPasswordCheck(reader: StoreReader, endpointId: () => string): () => MissingPassword[] {
  return () =>
    clustersGatheredBy(reader, endpointId()).flatMap((cluster): MissingPassword[] => {
      const missing = missingFieldsOf(cluster);
      if (missing.length === 0) return [];
      const what = `${missing.join(", ")} of the call manager cluster ${cluster.name}`;
      const reason = `It is not known here: ${what}. Passwords do not come with a link: enter it at this appliance.`;
      return [{ level: "yellow", code: `callmgr-secrets:${cluster.id}`, reason }];
    });
}

function missingFieldsOf({ snmpVersion, ...cluster }: ClusterRow): string[] {
  const snmp = snmpVersion === "2" ? ["snmpCommunity"] : ["snmpAuthPassword", "snmpEncryptPassword"];
  const wanted = ["axlPassword", ...snmp] as (keyof typeof cluster)[];
  return wanted.filter((name) => cluster[name] === null || cluster[name] === "");
}
