import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
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

/** What writing phones needs. */
export interface PhoneWriterDeps {
  store: Store;
  clock: Clock;
  by: ActorContext;
  signal: AbortSignal;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** What became of the phones of a reading. */
export interface PhoneWriteResult {
  made: number;
  changed: number;
  /** Phones that are no longer in the cluster. */
  defunct: number;
  refused: number;
  /** Why the first one was refused. */
  refusal: string | null;
  /** Names of phones whose authentication address is another one now. */
  readdressed: string[];
}

/** Longest work of one transaction. @source interfaces.md, Writing and reading */
const TIME_SLICE_MS = 6;

/**
 * Brings the devices in line with a plan: each phone is a device of this appliance, unless it is one already; phones that
 * are gone become defunct. The plan is kept before the first device is written, so it is carried out to its end even
 * where the process is killed meanwhile: the devices are as before or as the reading found them.
 */
export async function applyPhonePlan(
  needs: PhoneWriterDeps,
  clusterId: string,
  plan: PhonePlan,
  onWritten: (phones: number) => void,
): Promise<PhoneWriteResult> {
  if (plan.changes.length + plan.gone.length === 0) return emptyWriteResult();
  await saveToJournal(needs.store, clusterId, plan);
  return applyJournal(needs, clusterId, onWritten);
}

/** Carries out what an ended process kept, and ends the phones of clusters that were deleted. */
export async function replayJournals(needs: PhoneWriterDeps): Promise<void> {
  const { store } = needs;
  for (const clusterId of journaledClusters(store)) if (isKnown(store, clusterId)) await applyJournal(needs, clusterId);
  const clusters = store.all<{ id: string }>(
    "SELECT DISTINCT call_manager_cluster AS id FROM devices WHERE call_manager_cluster > '' AND defunct IS NOT 1",
  );
  for (const { id } of clusters) if (!isKnown(store, id)) await markOrphansDefunct(needs, id);
}

function isKnown(store: Store, clusterId: string): boolean {
  return store.get(callmgrClusters, clusterId) !== null;
}

/** Phones of clusters that were deleted become defunct, as nobody knows any more what becomes of them. own choice */
export async function markOrphansDefunct(needs: PhoneWriterDeps, clusterId: string): Promise<void> {
  await needs.store.write((tx) => deleteJournal(tx, clusterId));
  await applyPhonePlan(
    needs,
    clusterId,
    { changes: [], gone: await phonesMissingFrom(needs, clusterId, new Set()) },
    ignore,
  );
}

const ignore = (): void => undefined;

function emptyWriteResult(): PhoneWriteResult {
  return { made: 0, changed: 0, defunct: 0, refused: 0, refusal: null, readdressed: [] };
}

/** Carries out the plan that is kept of a cluster, in slices; nothing where none is. */
export async function applyJournal(
  needs: PhoneWriterDeps,
  clusterId: string,
  onWritten: (phones: number) => void = ignore,
): Promise<PhoneWriteResult> {
  const { store, signal } = needs;
  const written = emptyWriteResult();
  const place = { clusterId, endpointId: needs.endpointId(), by: needs.by };
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
        writeChunk(needs, tx, works, from, () => completeJournalPart(tx, clusterId, at)),
      );
      addWriteResult(written, slice.written);
      from = slice.until;
      await yieldToEventLoop(needs.clock);
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

/** As many as the time of a transaction allows, from number `from` on; `isOver` runs with the last one. */
function writeChunk(
  { clock }: PhoneWriterDeps,
  tx: Transaction,
  works: readonly PhoneWork[],
  from: number,
  isOver: () => void,
): { until: number; written: PhoneWriteResult } {
  const began = clock.monotonicMs();
  const written = emptyWriteResult();
  let until = from;
  while (until < works.length && (until === from || clock.monotonicMs() - began < TIME_SLICE_MS))
    applyAndCount(written, tx, works[until++] as PhoneWork);
  if (until === works.length) isOver();
  return { until, written };
}

function addWriteResult(sum: PhoneWriteResult, more: PhoneWriteResult): void {
  for (const what of ["made", "changed", "defunct", "refused"] as const) sum[what] += more[what];
  sum.refusal ??= more.refusal;
  sum.readdressed.push(...more.readdressed);
}

/** One that is refused leaves the others as they are. */
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

/** A phone that is gone is kept, and marked. */
function markPhoneDefunct(tx: Transaction, name: string, { clusterId, by }: WriteContext): "defunct" | null {
  const row = findDevice(tx, name);
  if (!row || row.callManagerCluster !== clusterId || row.defunct === true) return null;
  tx.update(devices, row.id, { defunct: true }, by);
  return "defunct";
}
