import type { Clock } from "../base/clock.ts";
import devices from "../resources/devices/devices.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import type { ClusterReader } from "./gathering.ts";
import { attributesOf } from "./phone-attributes.ts";
import type { GatheredPhone, ReadingSummary } from "./reading.ts";
import { isCallersFault } from "./refusal.ts";

/** What writing phones needs. */
export interface PhoneRowNeeds {
  store: Store;
  clock: Clock;
  by: By;
  signal: AbortSignal;
  /** This appliance's endpoint. */
  endpointId(): string;
  reader: Pick<ClusterReader, "take" | "addresses">;
}

/** What became of the phones of a reading. */
export interface Written {
  made: number;
  changed: number;
  /** Phones that are no longer in the cluster. */
  defunct: number;
  refused: number;
  /** Why the first one was refused. */
  refusal: string | null;
}

/** Phones that are fetched from the reading thread at once. */
const FETCHED = 200;
/** Longest work of one transaction. @source interfaces.md, Writing and reading */
const SLICE_MS = 4;

/**
 * Brings the devices in line with what a reading found: each phone is a device of this appliance, unless it is one
 * already. Phones that are gone become defunct. Doing it again changes nothing, so one that was cut short is made good by
 * the next full reading.
 */
export async function writePhones(
  needs: PhoneRowNeeds,
  cluster: { id: string; name: string },
  summary: ReadingSummary,
  onWritten: (phones: number) => void,
): Promise<Written> {
  const { reader, signal } = needs;
  const taken = new Set(await reader.addresses(cluster.id));
  const written: Written = { made: 0, changed: 0, defunct: 0, refused: 0, refusal: null };
  const names = new Set<string>();
  for (let at = 0; at < summary.changed; ) {
    signal.throwIfAborted();
    const slice = await reader.take(cluster.id, at, FETCHED);
    if (slice.length === 0) break;
    for (const { phone } of slice) names.add(phone.name.toUpperCase());
    await inSlices(needs, slice, (tx, each) =>
      count(written, tx, each, () => writePhone(tx, cluster, each, taken, needs)),
    );
    at += slice.length;
    onWritten(at);
  }
  const isGone = summary.kind === "full" ? (name: string) => !names.has(name) : namedBy(summary.gone);
  await endPhones(needs, cluster.id, isGone, written);
  return written;
}

function namedBy(names: readonly string[]): (name: string) => boolean {
  const all = new Set(names);
  return (name) => all.has(name);
}

/** Does `work` for each item, as many in a transaction as its time allows. */
async function inSlices<T>(
  { store, clock }: Pick<PhoneRowNeeds, "store" | "clock">,
  items: readonly T[],
  work: (tx: Transaction, item: T) => void,
): Promise<void> {
  for (let at = 0; at < items.length; ) {
    at += await store.write((tx) => {
      const began = clock.monotonicMs();
      let done = 0;
      while (at + done < items.length && (done === 0 || clock.monotonicMs() - began < SLICE_MS))
        work(tx, items[at + done++] as T);
      return done;
    });
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
}

/** One that is refused leaves the others as they are. */
function count(
  written: Written,
  tx: Transaction,
  { phone }: GatheredPhone,
  work: () => "made" | "changed" | null,
): void {
  tx.run("SAVEPOINT phone");
  try {
    const what = work();
    if (what) written[what] += 1;
  } catch (error) {
    if (!isCallersFault(error)) throw error;
    tx.run("ROLLBACK TO phone");
    written.refused += 1;
    written.refusal ??= `${phone.name}: ${(error as Error).message}`;
  }
  tx.run("RELEASE phone");
}

type Device = RowOf<typeof devices>;

function writePhone(
  tx: Transaction,
  cluster: { id: string; name: string },
  gathered: GatheredPhone,
  taken: ReadonlySet<string>,
  { by, endpointId }: PhoneRowNeeds,
): "made" | "changed" | null {
  const { phone, registration } = gathered;
  const known = tx.one<{ pk: number }>("SELECT pk FROM devices WHERE device_identifier = ? COLLATE NOCASE", phone.name);
  const row = known && tx.byPk(devices, known.pk);
  const description = (phone.description || phone.name).slice(0, 255);
  const system = { callManagerCluster: cluster.id };
  const before = (row?.attributes ?? {}) as Readonly<Record<string, string>>;
  const attributes = attributesOf(gathered, cluster.name, before, taken);
  if (!row) {
    const device = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId(), deviceIdentifier: phone.name };
    tx.create(devices, { ...device, type: "phones", description, attributes }, by, system);
    return "made";
  }
  // A phone may be known to two clusters; the one that it is registered with has it.
  const isOthers = row.callManagerCluster !== null && row.callManagerCluster !== cluster.id && row.defunct !== true;
  if (isOthers && !registration?.registered) return null;
  if (isSame(row, cluster.id, description, attributes)) return null;
  tx.update(devices, row.id, { description, attributes, defunct: false }, by, system);
  return "changed";
}

function isSame(
  row: Device,
  clusterId: string,
  description: string,
  attributes: Readonly<Record<string, string>>,
): boolean {
  if (row.callManagerCluster !== clusterId || row.description !== description || row.defunct === true) return false;
  const before = row.attributes as Readonly<Record<string, string>>;
  const names = Object.keys(attributes);
  return names.length === Object.keys(before).length && names.every((name) => before[name] === attributes[name]);
}

const LOOKED_AT = 500;

/** Phones of the cluster that are gone are kept, and marked. */
async function endPhones(
  needs: PhoneRowNeeds,
  clusterId: string,
  isGone: (name: string) => boolean,
  written: Written,
): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    needs.signal.throwIfAborted();
    const lines: { pk: number; id: string; name: string }[] = needs.store.all(
      `SELECT pk, id, device_identifier AS name FROM devices
       WHERE call_manager_cluster = ? AND defunct IS NOT 1 AND pk > ? ORDER BY pk LIMIT ${LOOKED_AT}`,
      ...[clusterId, after],
    );
    const gone = lines.filter(({ name }) => isGone(name.toUpperCase()));
    await inSlices(needs, gone, (tx, { id }) => {
      if (!tx.get(devices, id)) return;
      tx.update(devices, id, { defunct: true }, needs.by);
      written.defunct += 1;
    });
    after = lines.length < LOOKED_AT ? null : (lines.at(-1)?.pk ?? null);
  }
}

/** Phones of clusters that were deleted become defunct, as nobody knows any more what becomes of them. own choice */
export async function endOrphans(needs: PhoneRowNeeds, clusterId: string): Promise<void> {
  const written: Written = { made: 0, changed: 0, defunct: 0, refused: 0, refusal: null };
  await endPhones(needs, clusterId, () => true, written);
}
