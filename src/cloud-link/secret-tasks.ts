import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { HealthReason } from "../ops/health/health.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import extensions from "../resources/devices/extensions.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { listSecretTasks, type SecretTask } from "../sync/site/secret-marks.ts";

/** A secret to enter at this appliance, as shown to users. */
export interface NamedSecretTask extends SecretTask {
  /** Name of the row. */
  name: string | null;
  /** This appliance uses it. */
  isNeeded: boolean;
}

/** What users do about it. */
export function secretTaskText({ type, field, name, reason }: NamedSecretTask): Sentence {
  const what = { field: field.replace(/^config\./, ""), name: name ?? type };
  return reason === "missing" ? sentence("health.secret-missing", what) : sentence("health.secret-changed", what);
}

/** Secrets that the cloud has and this appliance has not; without those that only other appliances use. */
export function listOwnSecretTasks(reader: StoreReader, catalogue: Catalogue, endpointId: string): NamedSecretTask[] {
  return listSecretTasks(reader, catalogue).flatMap((task): NamedSecretTask[] => {
    const use = useOf(task, reader, endpointId);
    if (use === "never") return [];
    const row = reader.get(catalogue.byName(task.type), task.id) as { name?: unknown } | null;
    const name = typeof row?.name === "string" ? row.name : null;
    return [{ ...task, name, isNeeded: use === "now" }];
  });
}

/** `later`: once this appliance is given the work, or the plugin is set up here. */
function useOf({ type, id, field }: SecretTask, reader: StoreReader, endpointId: string): "now" | "later" | "never" {
  if (type === callmgrOnpremServers.name) {
    return reader.get(callmgrOnpremServers, id)?.endpointId === endpointId ? "later" : "never";
  }
  if (type === callmgrClusters.name) {
    const [server] = reader.find(callmgrOnpremServers, { cucmClusterId: id, endpointId }, 1);
    if (!server) return "never";
    const isOtherVersion =
      field.startsWith("snmp") &&
      (field === "snmpCommunity") !== (reader.get(callmgrClusters, id)?.snmpVersion === "2");
    return server.isPhoneGatherer && !isOtherVersion ? "now" : "later";
  }
  if (type !== extensions.name) return "now";
  const plugin = reader.get(extensions, id);
  if (!plugin || plugin.disabled || plugin.globalDisabled) return "never";
  return Object.keys((plugin.config ?? {}) as object).length > 0 ? "now" : "later";
}

/** Yellow until they are entered. A call manager's missing passwords have a reason that needs no link. */
export function secretHealthReasons(tasks: readonly NamedSecretTask[]): HealthReason[] {
  return tasks
    .filter(({ type, reason, isNeeded }) => isNeeded && !(type === callmgrClusters.name && reason === "missing"))
    .map((task) => ({ level: "yellow", code: `secret:${task.id}:${task.field}`, reason: secretTaskText(task) }));
}
