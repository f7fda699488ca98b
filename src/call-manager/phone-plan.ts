import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { StoreReader } from "../store/store.ts";
import type { ClusterReader } from "./cluster-reader.ts";
import type { GatheredPhone, ReadingSummary } from "./cluster-types.ts";
import { type AttributeChanges, applyAttributeChanges, attributesOfPhone } from "./phone-attributes.ts";

/** A phone to create or update. */
export interface PhoneChange {
  name: string;
  description: string;
  /** Registered: the phone belongs to this cluster, even if another one lists it too. */
  registered: boolean;
  attributes: AttributeChanges;
}

/** Writes that a reading requires. */
export interface PhonePlan {
  changes: PhoneChange[];
  /** Names of phones that are no longer in the cluster. */
  gone: string[];
}

export interface PhonePlanDeps {
  store: Pick<StoreReader, "all">;
  clock: Clock;
  signal: AbortSignal;
  reader: Pick<ClusterReader, "take" | "addresses">;
  /** Called for every phone of the reading. */
  onPhone?(phone: GatheredPhone): void;
}

/** Device of a phone, as far as clusters define it. */
export interface KnownDevice {
  description: string;
  callManagerCluster: string | null;
  defunct: boolean | null;
  attributes: Readonly<Record<string, string>>;
}

/** Phones compared per turn of the event loop: some 4 ms. @source docs/decisions/0205-call-manager.md, Reading */
const COMPARE_CHUNK_SIZE = 100;
const READ_CHUNK_SIZE = 500;

/** Compares a reading with the stored devices, in time slices; writes nothing. */
export async function planPhones(
  deps: PhonePlanDeps,
  cluster: { id: string; name: string },
  summary: ReadingSummary,
): Promise<PhonePlan> {
  const { reader, clock, signal } = deps;
  const addressesInUse = new Set(await reader.addresses(cluster.id));
  const changes: PhoneChange[] = [];
  const names = new Set<string>();
  for (let at = 0; at < summary.changed; ) {
    const slice = await reader.take(cluster.id, at, COMPARE_CHUNK_SIZE);
    if (slice.length === 0) break;
    signal.throwIfAborted();
    const known = devicesByName(deps.store, slice);
    for (const gathered of slice) {
      deps.onPhone?.(gathered);
      const name = gathered.phone.name.toUpperCase();
      names.add(name);
      const device = known.get(name) ?? null;
      const change = toPhoneChange(gathered, cluster.name, device, addressesInUse);
      if (!isPhoneUnchanged(device, cluster.id, change)) changes.push(change);
    }
    at += slice.length;
    await yieldToEventLoop(clock);
  }
  if (summary.kind !== "full") return { changes, gone: [...summary.gone] };
  return { changes, gone: await phonesMissingFrom(deps, cluster.id, names) };
}

function toPhoneChange(
  gathered: GatheredPhone,
  clusterName: string,
  device: KnownDevice | null,
  addressesInUse: ReadonlySet<string>,
): PhoneChange {
  const { name, description } = gathered.phone;
  return {
    name,
    description: (description || name).slice(0, 255),
    registered: gathered.registration?.registered === true,
    attributes: attributesOfPhone(gathered, clusterName, device?.attributes ?? {}, addressesInUse),
  };
}

/** True if nothing changes, or the phone belongs to another cluster. */
export function isPhoneUnchanged(device: KnownDevice | null, clusterId: string, change: PhoneChange): boolean {
  if (!device) return false;
  const { callManagerCluster, description, defunct, attributes: before } = device;
  // A phone may be listed by two clusters; it belongs to the one that it is registered with.
  const isOthers = callManagerCluster !== null && callManagerCluster !== clusterId && defunct !== true;
  if (isOthers && !change.registered) return true;
  if (callManagerCluster !== clusterId || description !== change.description || defunct === true) return false;
  const after = applyAttributeChanges(before, change.attributes);
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

/** Devices by name in upper case. */
function devicesByName(reader: Pick<StoreReader, "all">, phones: readonly GatheredPhone[]): Map<string, KnownDevice> {
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

/** Names of the cluster's active phones that are not in `names` (upper case). */
export async function phonesMissingFrom(
  { store, clock, signal }: Pick<PhonePlanDeps, "store" | "clock" | "signal">,
  clusterId: string,
  names: ReadonlySet<string>,
): Promise<string[]> {
  const gone: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    signal.throwIfAborted();
    const lines: { pk: number; name: string }[] = store.all(
      `SELECT pk, device_identifier AS name FROM devices
       WHERE call_manager_cluster = ? AND defunct IS NOT 1 AND pk > ? ORDER BY pk LIMIT ${READ_CHUNK_SIZE}`,
      ...[clusterId, after],
    );
    for (const { name } of lines) if (!names.has(name.toUpperCase())) gone.push(name);
    after = lines.length < READ_CHUNK_SIZE ? null : (lines.at(-1)?.pk ?? null);
    await yieldToEventLoop(clock);
  }
  return gone;
}
