import type { Clock } from "../../base/clock.ts";
import type { Events } from "../../base/events.ts";
import type { OfferedUpgrade } from "../../operations/ordered-upgrade.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { By, Store } from "../../store/store.ts";
import { type Command, ORDER_KINDS, type OrderKind } from "../frames.ts";
import { outcomesOf } from "../hub/commands.ts";
import type { Hub } from "../hub/hub.ts";
import { COMMANDS } from "../hub/tables.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import { type Body, scan } from "../work.ts";

/** What sending orders needs. */
export interface OrderSenderNeeds {
  store: Store;
  work: Pick<SqliteWork, "peek">;
  clock: Clock;
  events: Events;
  by: By;
  hub: Pick<Hub, "command">;
  /** The version that lies ready for appliances that are to upgrade; null when none does. */
  offered(): OfferedUpgrade | null;
  /** The cloud's own endpoint, whose orders it carries out itself. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/** @source replication.md, settled questions (c) */
const GOOD_MS = 24 * 3600_000;
const UPGRADES: ReadonlySet<string> = new Set<OrderKind>(["upgrade", "upgrade-all"]);
const KINDS: ReadonlySet<string> = new Set(ORDER_KINDS);
const MOST = 1_000;
const LOOK_EVERY_MS = 60_000;
const NOT_THERE = "The appliance was not there in time.";
const NOT_KNOWN = "The appliance came back as an older copy of itself: whether it was done is not known.";

/** Sends the orders that people at the cloud give to appliances; an order's activity is the command's id. */
export function createOrderSender(needs: OrderSenderNeeds): { follow(): () => void } {
  const { store, work, clock, events, hub, onFault } = needs;

  function send({ id, type, endpointId, value, createdAt }: RowOf<typeof endpointActivities>): void {
    const isSent = Object.keys(work.peek(() => outcomesOf(id))).length > 0;
    if (!KINDS.has(type) || endpointId === needs.endpointId() || isSent) return;
    const command: Command = {
      ...{
        cid: id,
        kind: type as OrderKind,
        class: "admin",
        notAfter: goodUntil(createdAt, value),
        rank: 0,
        term: 0,
        ref: null,
      },
      body: { value: value ?? null } as Body,
      ...(UPGRADES.has(type) ? upgradeOf(value) : {}),
    };
    if (command.notAfter > clock.now()) hub.command([{ endpoint: endpointId, command }]).catch(onFault);
  }

  /** An order names the version by its file, which the appliance fetches over the link. */
  function upgradeOf(value: unknown): Pick<Command, "body" | "needs"> {
    const offered = needs.offered();
    if (!offered) return { body: { value: (value ?? null) as Body | null } };
    const { sha256, size } = offered;
    return { body: { value: { ...(value as Body | null), ...offered } }, needs: [{ sha256, size }] };
  }

  /** What of an order the cloud itself concluded, in words; null while the appliance may still tell. */
  function lostBy({ id, createdAt, value }: RowOf<typeof endpointActivities>): string | null {
    const [issued] = work.peek(() => scan(COMMANDS, { by: "cid", where: [id], limit: 1 }));
    if (!issued) return goodUntil(createdAt, value) < clock.now() ? NOT_THERE : null;
    if (issued.saidBy === "site") return null;
    // One that was never linked is not looked through for what came too late.
    if (issued.open === 1) return issued.sentInc === null && issued.command.notAfter < clock.now() ? NOT_THERE : null;
    return issued.outcome === "expired" ? NOT_THERE : NOT_KNOWN;
  }

  /** Nobody else says what became of an order that never arrived. */
  async function settle(): Promise<void> {
    for (const row of store.find(endpointActivities, { state: "pending" }, MOST)) {
      const reason = row.endpointId === needs.endpointId() || !KINDS.has(row.type) ? null : lostBy(row);
      if (reason === null) continue;
      const value = { ...(row.value as object | null), reason };
      await store.update(endpointActivities, row.id, { state: "fail", severity: "error", value }, needs.by);
    }
  }

  return {
    follow() {
      for (const row of store.find(endpointActivities, { state: "pending" }, MOST)) send(row);
      const looking = clock.every(LOOK_EVERY_MS, () => void settle().catch(onFault));
      const stopSending = events.on("row.changed", ({ resource, id, op }) => {
        const row = resource === endpointActivities.name && op === "create" ? store.get(endpointActivities, id) : null;
        if (row?.state === "pending") send(row);
      });
      return () => {
        looking.cancel();
        stopSending();
      };
    },
  };
}

/** By when an order must have arrived; `until` of its value says when it is worth nothing any more. */
function goodUntil(createdAt: number, value: unknown): number {
  const until = Date.parse(String((value as { until?: unknown } | null)?.until));
  return Math.min(createdAt + GOOD_MS, Number.isNaN(until) ? Number.POSITIVE_INFINITY : until);
}
