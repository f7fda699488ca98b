import { type Clock, nextTurn } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import type { ClusterReader } from "./gathering.ts";
import { type AttributeChanges, attributesTold, withChanges } from "./phone-attributes.ts";
import type { GatheredPhone, ReadingSummary } from "./reading.ts";

/** A phone that is to be made or changed. */
export interface PhoneChange {
  name: string;
  description: string;
  /** It is registered: this cluster has it, even where another one knows it too. */
  registered: boolean;
  attributes: AttributeChanges;
}

/** What a reading asks to be written. */
export interface PhonePlan {
  changes: PhoneChange[];
  /** Names of phones that are no longer in the cluster. */
  gone: string[];
}

/** What comparing needs. */
export interface PlanNeeds {
  store: Pick<Reader, "all">;
  clock: Clock;
  signal: AbortSignal;
  reader: Pick<ClusterReader, "take" | "addresses">;
  /** Told of every phone that the reading hands over. */
  onPhone?(phone: GatheredPhone): void;
}

/** A phone's device as far as clusters tell of it. */
export interface KnownDevice {
  description: string;
  callManagerCluster: string | null;
  defunct: boolean | null;
  attributes: Readonly<Record<string, string>>;
}

/** Phones that are compared in one turn of the event loop. own choice: some 4 ms */
const COMPARED = 100;
const LOOKED_AT = 500;

/** Compares what a reading found with the devices, in slices; writes nothing. */
export async function planPhones(
  needs: PlanNeeds,
  cluster: { id: string; name: string },
  summary: ReadingSummary,
): Promise<PhonePlan> {
  const { reader, clock, signal } = needs;
  const taken = new Set(await reader.addresses(cluster.id));
  const changes: PhoneChange[] = [];
  const names = new Set<string>();
  for (let at = 0; at < summary.changed; ) {
    const slice = await reader.take(cluster.id, at, COMPARED);
    if (slice.length === 0) break;
    signal.throwIfAborted();
    const known = devicesOf(needs.store, slice);
    for (const gathered of slice) {
      needs.onPhone?.(gathered);
      const name = gathered.phone.name.toUpperCase();
      names.add(name);
      const device = known.get(name) ?? null;
      const change = changeOf(gathered, cluster.name, device, taken);
      if (!isAsBefore(device, cluster.id, change)) changes.push(change);
    }
    at += slice.length;
    await nextTurn(clock);
  }
  if (summary.kind !== "full") return { changes, gone: [...summary.gone] };
  return { changes, gone: await phonesBut(needs, cluster.id, names) };
}

function changeOf(
  gathered: GatheredPhone,
  clusterName: string,
  device: KnownDevice | null,
  taken: ReadonlySet<string>,
): PhoneChange {
  const { name, description } = gathered.phone;
  return {
    name,
    description: (description || name).slice(0, 255),
    registered: gathered.registration?.registered === true,
    attributes: attributesTold(gathered, clusterName, device?.attributes ?? {}, taken),
  };
}

/** Whether a change asks for nothing: all is so already, or the phone is another cluster's. */
export function isAsBefore(device: KnownDevice | null, clusterId: string, change: PhoneChange): boolean {
  if (!device) return false;
  const { callManagerCluster, description, defunct, attributes: before } = device;
  // A phone may be known to two clusters; the one that it is registered with has it.
  const isOthers = callManagerCluster !== null && callManagerCluster !== clusterId && defunct !== true;
  if (isOthers && !change.registered) return true;
  if (callManagerCluster !== clusterId || description !== change.description || defunct === true) return false;
  const after = withChanges(before, change.attributes);
  const names = Object.keys(after);
  return names.length === Object.keys(before).length && names.every((name) => before[name] === after[name]);
}

interface DeviceLine {
  name: string;
  description: string;
  cluster: string | null;
  defunct: number | null;
  attributes: string | null;
}

/** Devices by their names in capitals. */
function devicesOf(reader: Pick<Reader, "all">, phones: readonly GatheredPhone[]): Map<string, KnownDevice> {
  const lines = reader.all<DeviceLine>(
    `SELECT d.device_identifier AS name, d.description, d.call_manager_cluster AS cluster, d.defunct, d.attributes
     FROM json_each(?) j CROSS JOIN devices d ON d.device_identifier = j.value COLLATE NOCASE`,
    JSON.stringify(phones.map(({ phone }) => phone.name)),
  );
  return new Map(
    lines.map(({ name, description, cluster, defunct, attributes }) => [
      name.toUpperCase(),
      {
        ...{ description, callManagerCluster: cluster, defunct: defunct === 1 },
        attributes: JSON.parse(attributes ?? "{}") as Record<string, string>,
      },
    ]),
  );
}

/** Names of the cluster's phones that are in use and not among `names`, which are in capitals. */
export async function phonesBut(
  { store, clock, signal }: Pick<PlanNeeds, "store" | "clock" | "signal">,
  clusterId: string,
  names: ReadonlySet<string>,
): Promise<string[]> {
  const gone: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    signal.throwIfAborted();
    const lines: { pk: number; name: string }[] = store.all(
      `SELECT pk, device_identifier AS name FROM devices
       WHERE call_manager_cluster = ? AND defunct IS NOT 1 AND pk > ? ORDER BY pk LIMIT ${LOOKED_AT}`,
      ...[clusterId, after],
    );
    for (const { name } of lines) if (!names.has(name.toUpperCase())) gone.push(name);
    after = lines.length < LOOKED_AT ? null : (lines.at(-1)?.pk ?? null);
    await nextTurn(clock);
  }
  return gone;
}
