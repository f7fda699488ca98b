import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { StoreReader } from "../store/store.ts";
import { type ClusterRow, clustersGatheredBy } from "./cluster-access.ts";

/** Health reason of a missing password. */
export interface MissingPassword {
  level: "yellow";
  code: string;
  reason: Sentence;
}

/** Yellow health while a cluster that this appliance reads lacks a password: passwords are not replicated. */
export function createMissingPasswordCheck(reader: StoreReader, endpointId: () => string): () => MissingPassword[] {
  return () =>
    clustersGatheredBy(reader, endpointId()).flatMap((cluster): MissingPassword[] => {
      const missing = missingFieldsOf(cluster);
      if (missing.length === 0) return [];
      const reason = sentence("health.password-missing", { fields: missing.join(", "), name: cluster.name ?? "" });
      return [{ level: "yellow", code: `callmgr-secrets:${cluster.id}`, reason }];
    });
}

function missingFieldsOf({ snmpVersion, ...cluster }: ClusterRow): string[] {
  const snmp = snmpVersion === "2" ? ["snmpCommunity"] : ["snmpAuthPassword", "snmpEncryptPassword"];
  const wanted = ["axlPassword", ...snmp] as (keyof typeof cluster)[];
  return wanted.filter((name) => cluster[name] === null || cluster[name] === "");
}
