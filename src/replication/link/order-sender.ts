import type { Clock } from "../../base/clock.ts";
import type { Events } from "../../base/events.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { Store } from "../../store/store.ts";
import { type Command, ORDER_KINDS, type OrderKind } from "../frames.ts";
import { outcomesOf } from "../hub/commands.ts";
import type { Hub } from "../hub/hub.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import type { Body } from "../work.ts";

/** What sending orders needs. */
export interface OrderSenderNeeds {
  store: Store;
  work: Pick<SqliteWork, "peek">;
  clock: Clock;
  events: Events;
  hub: Pick<Hub, "command">;
  /** The cloud's own endpoint, whose orders it carries out itself. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/** @source replication.md, settled questions (c) */
const GOOD_MS = 24 * 3600_000;
const KINDS: ReadonlySet<string> = new Set(ORDER_KINDS);
const MOST = 1_000;

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
        notAfter: createdAt + GOOD_MS,
        rank: 0,
        term: 0,
        ref: null,
      },
      body: { value: value ?? null } as Body,
    };
    if (command.notAfter > clock.now()) hub.command([{ endpoint: endpointId, command }]).catch(onFault);
  }

  return {
    follow() {
      for (const row of store.find(endpointActivities, { state: "pending" }, MOST)) send(row);
      return events.on("row.changed", ({ resource, id, op }) => {
        const row = resource === endpointActivities.name && op === "create" ? store.get(endpointActivities, id) : null;
        if (row?.state === "pending") send(row);
      });
    },
  };
}
