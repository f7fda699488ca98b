import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import devices from "../resources/devices/devices.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { isCallerError } from "./caller-error.ts";
import { applyAttributeChanges } from "./phone-attributes.ts";
import {
  isPhoneUnchanged,
  type KnownDevice,
  type PhoneChange,
  type PhonePlan,
  phonesMissingFrom,
} from "./phone-plan.ts";
import {
  completeJournalPart,
  deleteJournal,
  journaledClusters,
  nextJournalPart,
  saveToJournal,
} from "./phone-plan-journal.ts";

export interface PhoneWriterDeps {
  store: Store;
  clock: Clock;
  by: ActorContext;
  signal: AbortSignal;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Counts of written phones. */
export interface PhoneWriteResult {
  made: number;
  changed: number;
  /** Phones that are no longer in the cluster. */
  defunct: number;
  refused: number;
  /** Error of the first refused phone. */
  refusal: string | null;
  /** Names of phones whose authentication URL changed. */
  readdressed: string[];
}

/** Longest transaction. @source docs/decisions/0017-store.md */
const TIME_SLICE_MS = 6;

/**
 * Applies a plan: each phone becomes a device of this appliance, unless it is one already; phones that are gone become defunct.
 * The plan is saved to the journal before the first device is written, so a crash does not leave it half applied.
 */
export async function applyPhonePlan(
  deps: PhoneWriterDeps,
  clusterId: string,
  plan: PhonePlan,
  onWritten: (phones: number) => void,
): Promise<PhoneWriteResult> {
  if (plan.changes.length + plan.gone.length === 0) return emptyWriteResult();
  await saveToJournal(deps.store, clusterId, plan);
  return applyJournal(deps, clusterId, onWritten);
}

/** Replays the journals of an earlier run and marks the phones of deleted clusters as defunct. */
export async function replayJournals(deps: PhoneWriterDeps): Promise<void> {
  const { store } = deps;
  for (const clusterId of journaledClusters(store)) if (isKnown(store, clusterId)) await applyJournal(deps, clusterId);
  const clusters = store.all<{ id: string }>(
    "SELECT DISTINCT call_manager_cluster AS id FROM devices WHERE call_manager_cluster > '' AND defunct IS NOT 1",
  );
  for (const { id } of clusters) if (!isKnown(store, id)) await markOrphansDefunct(deps, id);
}

function isKnown(store: Store, clusterId: string): boolean {
  return store.get(callmgrClusters, clusterId) !== null;
}

/** Phones of deleted clusters become defunct, because nothing updates them any more. @source docs/decisions/0205-call-manager.md, Phones */
export async function markOrphansDefunct(deps: PhoneWriterDeps, clusterId: string): Promise<void> {
  await deps.store.write((tx) => deleteJournal(tx, clusterId));
  await applyPhonePlan(
    deps,
    clusterId,
    { changes: [], gone: await phonesMissingFrom(deps, clusterId, new Set()) },
    ignore,
  );
}

const ignore = (): void => undefined;

function emptyWriteResult(): PhoneWriteResult {
  return { made: 0, changed: 0, defunct: 0, refused: 0, refusal: null, readdressed: [] };
}

/** Applies the pending plan of a cluster in time slices; no-op without a plan. */
export async function applyJournal(
  deps: PhoneWriterDeps,
  clusterId: string,
  onWritten: (phones: number) => void = ignore,
): Promise<PhoneWriteResult> {
  const { store, signal } = deps;
  const written = emptyWriteResult();
  const place = { clusterId, endpointId: deps.endpointId(), by: deps.by };
  let phones = 0;
  for (let next = nextJournalPart(store, clusterId); next; next = nextJournalPart(store, clusterId)) {
    const { at, part } = next;
    const works = [
      ...part.changes.map((change) => ({
        name: change.name,
        work: (tx: Transaction, sum: PhoneWriteResult) => writePhone(tx, change, place, sum),
      })),
      ...part.gone.map((name) => ({ name, work: (tx: Transaction) => markPhoneDefunct(tx, name, place) })),
    ];
    for (let from = 0; from < works.length; ) {
      signal.throwIfAborted();
      const slice = await store.write((tx) =>
        writeChunk(deps, tx, works, from, () => completeJournalPart(tx, clusterId, at)),
      );
      addWriteResult(written, slice.written);
      from = slice.until;
      await yieldToEventLoop(deps.clock);
    }
    phones += works.length;
    onWritten(phones);
  }
  return written;
}

interface PhoneWork {
  name: string;
  work(tx: Transaction, sum: PhoneWriteResult): "made" | "changed" | "defunct" | null;
}

/** Writes as many phones as the time slice allows, from index `from`; `isOver` runs with the last one. */
function writeChunk(
  { clock }: PhoneWriterDeps,
  tx: Transaction,
  works: readonly PhoneWork[],
  from: number,
  isOver: () => void,
): { until: number; written: PhoneWriteResult } {
  const slice = createTimeSlice(clock, { sliceMs: TIME_SLICE_MS });
  const written = emptyWriteResult();
  let until = from;
  while (until < works.length && (until === from || !slice.isOver()))
    applyAndCount(written, tx, works[until++] as PhoneWork);
  if (until === works.length) isOver();
  return { until, written };
}

function addWriteResult(sum: PhoneWriteResult, more: PhoneWriteResult): void {
  for (const what of ["made", "changed", "defunct", "refused"] as const) sum[what] += more[what];
  sum.refusal ??= more.refusal;
  sum.readdressed.push(...more.readdressed);
}

/** A refused phone does not affect the others. */
function applyAndCount(written: PhoneWriteResult, tx: Transaction, { name, work }: PhoneWork): void {
  tx.run("SAVEPOINT phone");
  try {
    const what = work(tx, written);
    if (what) written[what] += 1;
  } catch (error) {
    if (!isCallerError(error)) throw error;
    tx.run("ROLLBACK TO phone");
    written.refused += 1;
    written.refusal ??= `${name}: ${(error as Error).message}`;
  }
  tx.run("RELEASE phone");
}

interface WriteContext {
  clusterId: string;
  endpointId: string;
  by: ActorContext;
}

function findDevice(tx: Transaction, name: string): ReturnType<typeof tx.getByPk<typeof devices>> {
  const known = tx.one<{ pk: number }>("SELECT pk FROM devices WHERE device_identifier = ? COLLATE NOCASE", name);
  return known && tx.getByPk(devices, known.pk);
}

function writePhone(
  tx: Transaction,
  change: PhoneChange,
  { clusterId, endpointId, by }: WriteContext,
  sum: PhoneWriteResult,
): "made" | "changed" | null {
  const { name: deviceIdentifier, description } = change;
  const row = findDevice(tx, deviceIdentifier);
  const before = (row?.attributes ?? {}) as KnownDevice["attributes"];
  const attributes = applyAttributeChanges(before, change.attributes);
  const system = { callManagerCluster: clusterId };
  if (!row) {
    const device = { extensionId: ONPREM_EXTENSION_ID, endpointId, deviceIdentifier, type: "phones" as const };
    tx.create(devices, { ...device, description, attributes }, by, system);
    return "made";
  }
  if (isPhoneUnchanged({ ...row, attributes: before }, clusterId, change)) return null;
  tx.update(devices, row.id, { description, attributes, defunct: false }, by, system);
  if (before.AuthenticationUrl !== attributes.AuthenticationUrl) sum.readdressed.push(deviceIdentifier);
  return "changed";
}

/** Phones that are gone are kept and marked defunct. */
function markPhoneDefunct(tx: Transaction, name: string, { clusterId, by }: WriteContext): "defunct" | null {
  const row = findDevice(tx, name);
  if (!row || row.callManagerCluster !== clusterId || row.defunct === true) return null;
  tx.update(devices, row.id, { defunct: true }, by);
  return "defunct";
}
