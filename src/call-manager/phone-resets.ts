import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { GatheredPhone, ReadingSummary } from "./cluster-types.ts";

export interface PhoneResetDeps {
  store: Store;
  clock: Clock;
  by: ActorContext;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Names per activity: some 35 KB; large clusters need several activities. @source docs/decisions/0205-call-manager.md, Reading */
const NAMES_PER_ACTIVITY = 2_000;
const MAX_PENDING = 1_000;

/**
 * Records that the authentication URL of phones changed, and which phones still use the previous one: a phone applies changes
 * of its cluster only when it registers. @source docs/decisions/0205-call-manager.md, Phones
 */
export async function recordAuthenticationUrlChange(
  { store, by, endpointId }: PhoneResetDeps,
  { id, name }: { id: string; name: string },
  phones: readonly string[],
): Promise<void> {
  for (let at = 0; at < phones.length; at += NAMES_PER_ACTIVITY) {
    const some = phones.slice(at, at + NAMES_PER_ACTIVITY);
    const about = { callmgrClusterId: id, callmgrClusterName: name, count: some.length, phones: some };
    const row = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId(), severity: "info" };
    const reason = sentence("cluster.reset-phones");
    await store.write((tx) => {
      tx.create(endpointActivities, { ...row, type: "phone-auth-url-update", state: "success", value: about }, by);
      const value = { ...about, reason };
      tx.create(endpointActivities, { ...row, type: "phone-reset-pending", state: "pending", value }, by);
    });
  }
}

/** Updates pending resets from one reading. */
export interface PendingResetTracker {
  onPhone(phone: GatheredPhone): void;
  /** Removes phones that have registered since or are gone; a record without phones is complete. */
  finish(summary: Pick<ReadingSummary, "kind" | "gone">): Promise<void>;
}

export function trackPendingResets(
  { store, clock, by, endpointId }: PhoneResetDeps,
  clusterId: string,
): PendingResetTracker {
  const pending = store
    .find(endpointActivities, { endpointId: endpointId(), type: "phone-reset-pending", state: "pending" }, MAX_PENDING)
    .filter(({ value }) => asResetValue(value).callmgrClusterId === clusterId);
  const open = new Map(
    pending.flatMap(({ createdAt, value }) =>
      asResetValue(value).phones.map((name) => [name.toUpperCase(), createdAt]),
    ),
  );
  const seen = new Set<string>();
  const done = new Set<string>();

  async function removeCompleted({ id, value }: RowOf<typeof endpointActivities>): Promise<void> {
    const { phones, ...rest } = asResetValue(value);
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
    async finish({ kind, gone }) {
      for (const name of gone) done.add(name.toUpperCase());
      if (kind === "full") for (const name of open.keys()) if (!seen.has(name)) done.add(name);
      for (const row of pending) await removeCompleted(row);
    },
  };
}

function asResetValue(value: unknown): { callmgrClusterId?: string; phones: string[] } {
  return value as { callmgrClusterId?: string; phones: string[] };
}
