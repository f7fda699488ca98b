import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { type ClusterRow, clusterAccessOf } from "./cluster-access.ts";
import { ClusterError } from "./cluster-error.ts";
import type { ClusterReader } from "./cluster-reader.ts";
import type { ReadingKind, ReadingSummary } from "./cluster-types.ts";
import { planPhones } from "./phone-plan.ts";
import { recordAuthenticationUrlChange, trackPendingResets } from "./phone-resets.ts";
import { applyJournal, applyPhonePlan, type PhoneWriteResult } from "./phone-writer.ts";

export interface PhoneCacheUpdateDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  reader: ClusterReader;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Result of an update. */
export interface PhoneCacheUpdate {
  summary: ReadingSummary;
  written: PhoneWriteResult;
}

/** @source docs/decisions/0042-api-contract.md, Endpoint activities */
const ACTIVITY_TYPES = {
  full: "phone-cache-update",
  delta: "phone-cache-full-delta-update",
  partial: "phone-cache-partial-update",
} as const satisfies Record<ReadingKind, string>;

/**
 * Reads a cluster and updates its phones. Nothing is written before everything is read, and before the journal of an earlier
 * reading is replayed. Writes activities: the database requests (axl-result), the changes, and phones that must be reset; none
 * if the database was not read and nothing changed. Throws ClusterError.
 */
export async function updatePhoneCache(
  deps: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  kind: ReadingKind,
  { signal, onWriting }: { signal: AbortSignal; onWriting(written: number, all: number): void },
): Promise<PhoneCacheUpdate> {
  const { store, reader } = deps;
  const writing = { ...deps, signal };
  await applyJournal(writing, cluster.id);
  const summary = await reader.read(clusterAccessOf(cluster, store.secrets), kind);
  try {
    rejectEmptyResult(deps, cluster, summary);
    const resets = trackPendingResets(deps, cluster.id);
    const plan = await planPhones({ ...writing, onPhone: resets.onPhone }, cluster, summary);
    const phones = plan.changes.length + plan.gone.length;
    onWriting(0, phones);
    const written = await applyPhonePlan(writing, cluster.id, plan, (done) => onWriting(done, phones));
    await recordUpdate(deps, cluster, { summary, written });
    await resets.finish(summary);
    await recordAuthenticationUrlChange(deps, cluster, written.readdressed);
    return { summary, written };
  } catch (error) {
    // A reading that was not written must not count as the known state.
    await reader.discard(cluster.id);
    throw error;
  }
}

/** An empty list from a cluster that had phones points to lost permissions or a lost database. @source docs/decisions/0205-call-manager.md, Reading */
function rejectEmptyResult({ store }: PhoneCacheUpdateDeps, cluster: ClusterRow, summary: ReadingSummary): void {
  if (summary.kind !== "full" || summary.phones > 0) return;
  const sql = "SELECT 1 AS one FROM devices WHERE call_manager_cluster = ? AND defunct IS NOT 1 LIMIT 1";
  if (store.one(sql, cluster.id) === null) return;
  throw new ClusterError("answer", sentence("cluster.no-phones", { host: cluster.axlAddress }));
}

async function recordUpdate(
  deps: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  { summary, written }: PhoneCacheUpdate,
): Promise<void> {
  const { kind, version, requests, rows, tookMs, warnings, registrationSource, phones, registered } = summary;
  const { made, changed, defunct, refused, refusal } = written;
  const isNews = made + changed + defunct + refused > 0;
  if (kind === "full") {
    const about = { kind, version, requests, rows, tookMs, registrationSource, nodes: summary.nodes, warnings };
    await addActivity(deps, "axl-result", cluster, about, warnings.length > 0 ? "warn" : "info", "success");
  }
  if (kind !== "full" && !isNews) return;
  const about = { phones, registered, made, changed, defunct, refused, ...(refusal === null ? {} : { refusal }) };
  await addActivity(deps, ACTIVITY_TYPES[kind], cluster, about, refused > 0 ? "warn" : "info", "success");
}

/** Writes the activities of a failed update. */
export async function recordUpdateFailure(
  deps: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  kind: ReadingKind,
  { code, message }: ClusterError,
): Promise<void> {
  const about = { kind, code, message };
  if (!code.startsWith("snmp")) await addActivity(deps, "axl-result", cluster, about, "error", "fail");
  await addActivity(deps, ACTIVITY_TYPES[kind], cluster, about, "error", "fail");
}

async function addActivity(
  { store, by, endpointId }: PhoneCacheUpdateDeps,
  type: string,
  { id, name }: ClusterRow,
  about: object,
  severity: "info" | "warn" | "error",
  state: "success" | "fail",
): Promise<void> {
  const value = { callmgrClusterId: id, callmgrClusterName: name, ...about };
  const parents = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
  await store.write((tx) => void tx.create(endpointActivities, { ...parents, type, value, severity, state }, by));
}
