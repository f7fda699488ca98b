import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
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

/** What updating the phones of clusters needs. */
export interface PhoneCacheUpdateDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  reader: ClusterReader;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** What an update came to. */
export interface PhoneCacheUpdate {
  summary: ReadingSummary;
  written: PhoneWriteResult;
}

/** @source service-api.md, endpoint activities */
const ACTIVITY_TYPES = {
  full: "phone-cache-update",
  delta: "phone-cache-full-delta-update",
  partial: "phone-cache-partial-update",
} as const satisfies Record<ReadingKind, string>;

/**
 * Reads a cluster and brings its phones in line; nothing is written before everything is read, nor before what an earlier
 * reading found is written to its end. Leaves activities: what was
 * asked of the cluster (axl-result), what changed, and which phones must be reset for it; none where nothing was asked of its database and nothing changed.
 * Throws ClusterFault.
 */
export async function updatePhoneCache(
  needs: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  kind: ReadingKind,
  { signal, onWriting }: { signal: AbortSignal; onWriting(written: number, all: number): void },
): Promise<PhoneCacheUpdate> {
  const { store, reader } = needs;
  const writing = { ...needs, signal };
  await applyJournal(writing, cluster.id);
  const summary = await reader.read(clusterAccessOf(cluster, store.secrets), kind);
  try {
    rejectEmptyResult(needs, cluster, summary);
    const resets = trackPendingResets(needs, cluster.id);
    const plan = await planPhones({ ...writing, onPhone: resets.onPhone }, cluster, summary);
    const phones = plan.changes.length + plan.gone.length;
    onWriting(0, phones);
    const written = await applyPhonePlan(writing, cluster.id, plan, (done) => onWriting(done, phones));
    await recordUpdate(needs, cluster, { summary, written });
    await resets.finish(summary);
    await recordAuthenticationUrlChange(needs, cluster, written.readdressed);
    return { summary, written };
  } catch (error) {
    // What could not be written must not count as known.
    await reader.discard(cluster.id);
    throw error;
  }
}

/** A cluster that had phones and names none has lost something else: its user's rights, or its database. own choice */
function rejectEmptyResult({ store }: PhoneCacheUpdateDeps, cluster: ClusterRow, summary: ReadingSummary): void {
  if (summary.kind !== "full" || summary.phones > 0) return;
  const sql = "SELECT 1 AS one FROM devices WHERE call_manager_cluster = ? AND defunct IS NOT 1 LIMIT 1";
  if (store.one(sql, cluster.id) === null) return;
  throw new ClusterError("answer", `${cluster.axlAddress} names no phone at all; those that it had stay as they are.`);
}

async function recordUpdate(
  needs: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  { summary, written }: PhoneCacheUpdate,
): Promise<void> {
  const { kind, version, requests, rows, tookMs, warnings, registrationSource, phones, registered } = summary;
  const { made, changed, defunct, refused, refusal } = written;
  const isNews = made + changed + defunct + refused > 0;
  if (kind === "full") {
    const about = { kind, version, requests, rows, tookMs, registrationSource, nodes: summary.nodes, warnings };
    await addActivity(needs, "axl-result", cluster, about, warnings.length > 0 ? "warn" : "info", "success");
  }
  if (kind !== "full" && !isNews) return;
  const about = { phones, registered, made, changed, defunct, refused, ...(refusal === null ? {} : { refusal }) };
  await addActivity(needs, ACTIVITY_TYPES[kind], cluster, about, refused > 0 ? "warn" : "info", "success");
}

/** Leaves the activities of an update that failed. */
export async function recordUpdateFailure(
  needs: PhoneCacheUpdateDeps,
  cluster: ClusterRow,
  kind: ReadingKind,
  { code, message }: ClusterError,
): Promise<void> {
  const about = { kind, code, message };
  if (!code.startsWith("snmp")) await addActivity(needs, "axl-result", cluster, about, "error", "fail");
  await addActivity(needs, ACTIVITY_TYPES[kind], cluster, about, "error", "fail");
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
