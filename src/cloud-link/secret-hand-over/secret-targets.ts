import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import { encryptedSecrets } from "../../sync/protocol/secret-marks.ts";

/** A row of a cluster. */
export type ClusterValues = Readonly<Record<string, unknown>>;

/** Values of the fields that decide who receives a secret of a cluster; null for a field that is no such secret. */
export function secretTarget(row: ClusterValues, field: string): unknown[] | null {
  const spec = (callmgrClusters.fields as Readonly<Record<string, { kind: string; boundTo?: readonly string[] }>>)[
    field
  ];
  if (spec?.kind !== "secret" || !spec.boundTo) return null;
  return spec.boundTo.map((name) => row[name] ?? null);
}

/** The secrets of a cluster, as they are stored here, that its version of SNMP uses. */
export function storedClusterSecrets(row: ClusterValues): [field: string, sealed: string][] {
  const isUsed = (field: string): boolean =>
    !field.startsWith("snmp") || (field === "snmpCommunity") === (row.snmpVersion === "2");
  return Object.entries(encryptedSecrets(callmgrClusters, row)).filter(([field]) => isUsed(field));
}
