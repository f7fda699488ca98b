import type { Clock } from "../base/clock.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store } from "../store/store.ts";
import type { GatheredPhone, ReadingSummary } from "./reading.ts";

/** What telling of addresses and resets needs. */
export interface ResetNeeds {
  store: Store;
  clock: Clock;
  by: By;
  /** This appliance's endpoint. */
  endpointId(): string;
}

/** Names in one activity; the phones of a large cluster are told in several. own choice: some 35 KB */
const NAMES = 2_000;
const MOST_PENDING = 1_000;

/**
 * Tells that the authentication address of phones is another one, and which of them still ask the one before: a phone
 * takes what its cluster says of it when it registers. own choice
 */
export async function tellReaddressed(
  { store, by, endpointId }: ResetNeeds,
  { id, name }: { id: string; name: string },
  phones: readonly string[],
): Promise<void> {
  for (let at = 0; at < phones.length; at += NAMES) {
    const some = phones.slice(at, at + NAMES);
    const about = { callmgrClusterId: id, callmgrClusterName: name, count: some.length, phones: some };
    const row = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId(), severity: "info" };
    const reason = "They ask the address of before until they register anew: reset them.";
    await store.write((tx) => {
      tx.create(endpointActivities, { ...row, type: "phone-auth-url-update", state: "success", value: about }, by);
      const value = { ...about, reason };
      tx.create(endpointActivities, { ...row, type: "phone-reset-pending", state: "pending", value }, by);
    });
  }
}

/** What a reading says of phones that are to be reset. */
export interface ResetWatch {
  onPhone(phone: GatheredPhone): void;
  /** Strikes out the phones that have registered since or are gone; one whose phones all have is done. */
  end(summary: Pick<ReadingSummary, "kind" | "gone">): Promise<void>;
}

/** Looks through one reading of a cluster. */
export function watchResets({ store, clock, by, endpointId }: ResetNeeds, clusterId: string): ResetWatch {
  const pending = store
    .find(endpointActivities, { endpointId: endpointId(), type: "phone-reset-pending", state: "pending" }, MOST_PENDING)
    .filter(({ value }) => of(value).callmgrClusterId === clusterId);
  const open = new Map(
    pending.flatMap(({ createdAt, value }) => of(value).phones.map((name) => [name.toUpperCase(), createdAt])),
  );
  const seen = new Set<string>();
  const done = new Set<string>();

  async function strikeOut({ id, value }: RowOf<typeof endpointActivities>): Promise<void> {
    const { phones, ...rest } = of(value);
    const left = phones.filter((name) => !done.has(name.toUpperCase()));
    if (left.length === phones.length) return;
    const finished = left.length === 0 ? { finishedAt: new Date(clock.now()).toISOString() } : {};
    const state = left.length === 0 ? "success" : "pending";
    await store.update(endpointActivities, id, { state, value: { ...rest, phones: left, ...finished } }, by);
  }

  return {
    onPhone({ phone, registration }) {
      const name = phone.name.toUpperCase();
      const since = open.get(name);
      if (since === undefined) return;
      seen.add(name);
      if (registration?.registered !== true || registration.at > since) done.add(name);
    },
    async end({ kind, gone }) {
      for (const name of gone) done.add(name.toUpperCase());
      if (kind === "full") for (const name of open.keys()) if (!seen.has(name)) done.add(name);
      for (const row of pending) await strikeOut(row);
    },
  };
}

function of(value: unknown): { callmgrClusterId?: string; phones: string[] } {
  return value as { callmgrClusterId?: string; phones: string[] };
}
