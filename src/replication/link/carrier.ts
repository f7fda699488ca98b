import type { Clock } from "../../base/clock.ts";
import { derivedId, newId } from "../../base/ids.ts";
import { keepLevels } from "../../broadcast/counts.ts";
import { NOT_REACHED } from "../../broadcast/proof.ts";
import { APPLIANCES, type Outcome, type Providers } from "../../broadcast/providers.ts";
import type { DeliveryItem, OutcomeLevel, StopRequest } from "../../plugin-api/index.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import type { Store, Transaction } from "../../store/store.ts";
import type { Command, Outcome as CommandOutcome } from "../frames.ts";
import type { Hub } from "../hub/hub.ts";
import { COMMANDS } from "../hub/tables.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import { filesIn } from "../wanted-files.ts";
import { type Body, scan } from "../work.ts";
import { CARRIED, type CarriedMessage } from "./carried-message.ts";

/** What the channel needs. */
export interface CarrierNeeds {
  store: Pick<Store, "all" | "get" | "write">;
  work: Pick<SqliteWork, "peek">;
  clock: Clock;
  types: ReplicatedTypes;
  hub: Pick<Hub, "command" | "cancel">;
  /** Reports of what became of deliveries. */
  takeOutcomes(outcomes: readonly Outcome[]): void;
  onFault(error: unknown): void;
}

/** The channel by which the cloud's messages reach devices of appliances: each appliance gets one command per message. */
export interface Carrier {
  /** All channels of the cloud: the given ones, and this. */
  beside(providers: Providers): Providers;
  /** Takes what an appliance says of a command. */
  told(endpoint: string, cid: string, told: Body): void;
}

/** Deliveries come in pieces; those of one message go as one command. own choice: no longer than people notice */
const GATHER_MS = 30;
/** All that a message goes to may be on its way at once. */
const WINDOW = 1_000_000;
/** Commands of an appliance that are looked at after a restart. own choice */
const NEWEST = { newestFirst: true, limit: 1_000 } as const;
/** What a delivery without a word of its own ends as. */
const ENDS: Readonly<Partial<Record<CommandOutcome | "heard", readonly [OutcomeLevel, string | null]>>> = {
  heard: ["sent", null],
  done: ["failed", "The appliance did not say what became of the device."],
  expired: ["expired", "The appliance got the message too late."],
  cancelled: ["expired", "The message was called off."],
  interrupted: ["failed", "The appliance was restarted while the message sounded."],
  failed: ["failed", "The appliance could not carry the message out."],
  skipped: ["skipped", "Another appliance carried the message out."],
  unknown: ["failed", "It is not known whether the message was heard: the appliance was restored."],
};

/** Makes it. */
export function createCarrier(needs: CarrierNeeds): Carrier {
  const { store, work, clock, types, hub, takeOutcomes, onFault } = needs;
  let waiting: DeliveryItem[] = [];
  const byCommand = new Map<string, { deliveries: number[]; notificationId: string; level: number }>();

  function deliver(items: readonly DeliveryItem[]): void {
    if (waiting.length === 0) clock.after(GATHER_MS, send);
    waiting.push(...items);
  }

  function send(): void {
    const all = waiting;
    waiting = [];
    const endpoints = endpointsOf(all.map(({ deliveryId }) => deliveryId));
    const groups = new Map<string, DeliveryItem[]>();
    for (const item of all) {
      const key = `${item.notificationId} ${endpoints.get(item.deliveryId)}`;
      const group = groups.get(key) ?? [];
      group.push(item);
      groups.set(key, group);
    }
    for (const items of groups.values()) {
      const endpoint = endpoints.get(items[0]?.deliveryId ?? 0);
      if (endpoint) issue(endpoint, items);
    }
  }

  function issue(endpoint: string, given: readonly DeliveryItem[]): void {
    const { notificationId } = given[0] as DeliveryItem;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const round = row.retriedAt ?? 0;
    const items = withoutCarried(endpoint, given, round);
    const first = items[0];
    if (!first) return;
    const fields = Object.fromEntries(CARRIED.map((name) => [name, row[name]]));
    const devices = items.map(({ device, deliveryId }) => [device.id, deliveryId] as const);
    const body: CarriedMessage = { notificationId, round, fields, from: row.initiatingEndpointId, devices };
    const command: Command = {
      cid: derivedId("appliances", notificationId, endpoint, String(first.deliveryId), String(round)),
      kind: "broadcast",
      class: first.class,
      notAfter: first.notAfter,
      rank: 0,
      term: 0,
      ref: null,
      body: body as unknown as Body,
      needs: filesIn(row as unknown as Body, types.filesOf(notifications.name)),
    };
    byCommand.set(command.cid, {
      deliveries: items.map(({ deliveryId }) => deliveryId),
      notificationId,
      level: first.priority,
    });
    hub.command([{ endpoint, command }]).catch(onFault);
  }

  /** What an earlier run of this process has handed over is waited for, and not said twice. */
  function withoutCarried(endpoint: string, items: readonly DeliveryItem[], round: number): readonly DeliveryItem[] {
    if (items.every(({ attempt }) => attempt <= 1)) return items;
    const { notificationId, priority: level } = items[0] as DeliveryItem;
    const carried = new Set<number>();
    for (const { cid, command, outcome, saidBy } of work.peek(() => scan(COMMANDS, { ...NEWEST, where: [endpoint] }))) {
      const body = command.body as unknown as CarriedMessage;
      if (command.kind !== "broadcast" || body.notificationId !== notificationId || body.round !== round) continue;
      const deliveries = body.devices.map(([, delivery]) => delivery);
      for (const each of deliveries) carried.add(each);
      byCommand.set(cid, { deliveries, notificationId, level });
      // What it told of each device may have been lost with that run.
      if (outcome !== null)
        told(endpoint, cid, { outcome: outcome === "done" && saidBy === "site" ? "heard" : outcome });
    }
    return items.filter(({ deliveryId }) => !carried.has(deliveryId));
  }

  function stop({ deliveryIds }: StopRequest): void {
    const ended = new Set(deliveryIds);
    waiting = waiting.filter(({ deliveryId }) => !ended.has(deliveryId));
    for (const [cid, { deliveries, level }] of byCommand) {
      if (!deliveries.every((each) => ended.has(each))) continue;
      byCommand.delete(cid);
      const isUrgent = level === 0;
      const notAfter = clock.now() + (isUrgent ? 15 * 60_000 : 2 * 60_000);
      const cancel = { cid: newId(), class: isUrgent ? "emergency" : "routine", notAfter, rank: 0, term: 0, body: {} };
      hub.cancel(cid, cancel as Parameters<Hub["cancel"]>[1]).catch(onFault);
    }
  }

  function endpointsOf(deliveries: readonly number[]): Map<number, string> {
    const found = store.all<{ pk: number; endpoint: string }>(
      `SELECT l.pk, e.id AS endpoint FROM deliveries l JOIN endpoints e ON e.pk = l.endpoint_pk
       WHERE l.pk IN (SELECT value FROM json_each(?))`,
      JSON.stringify(deliveries),
    );
    return new Map(found.map(({ pk, endpoint }) => [pk, endpoint]));
  }

  function told(endpoint: string, cid: string, said: Body): void {
    const outcome = said.outcome as CommandOutcome | "heard";
    const at = clock.now();
    const known = byCommand.get(cid)?.deliveries ?? deliveriesOf(endpoint, cid);
    const report = (deliveryId: number, level: OutcomeLevel, reason: string | null, isLast: boolean): Outcome => {
      const details = reason === null ? {} : { reason };
      return { provider: APPLIANCES, deliveryId, level, details, at, isLast };
    };
    if (outcome === "started") {
      takeOutcomes(known.map((each) => report(each, "sent", null, false)));
      return;
    }
    const [level, words] = ENDS[outcome] ?? ["failed", "The appliance said nothing that is known."];
    const lines = linesIn(said.levels);
    const named = new Set(lines.map(({ deliveryId }) => deliveryId));
    // An appliance speaks of its own devices alone.
    const own = endpointsOf([...named, ...known]);
    const isOwn = (deliveryId: number): boolean => own.get(deliveryId) === endpoint;
    byCommand.delete(cid);
    const outcomes = [
      ...lines
        .filter((line) => isOwn(line.deliveryId))
        .map((line) => report(line.deliveryId, line.level, line.reason, true)),
      ...known.filter((each) => !named.has(each) && isOwn(each)).map((each) => report(each, level, words, true)),
    ];
    takeOutcomes(outcomes);
    store.write((tx) => correctEnded(tx, outcomes, at)).catch(onFault);
  }

  /** Deliveries that a command was issued for, by whichever run. */
  function deliveriesOf(endpoint: string, cid: string): number[] {
    const issued = work
      .peek(() => scan(COMMANDS, { by: "cid", where: [cid] }))
      .find((each) => each.endpoint === endpoint);
    if (issued?.command.kind !== "broadcast") return [];
    return (issued.command.body as unknown as CarriedMessage).devices.map(([, delivery]) => delivery);
  }

  return {
    told,
    beside: (others) => ({
      ...others,
      state: (provider) => (provider === APPLIANCES ? "running" : others.state(provider)),
      window: (provider) => (provider === APPLIANCES ? WINDOW : others.window(provider)),
      extensionId: (provider) => (provider === APPLIANCES ? ONPREM_EXTENSION_ID : others.extensionId(provider)),
      deliver: (provider, items) => (provider === APPLIANCES ? deliver(items) : others.deliver(provider, items)),
      stop: (provider, request) => (provider === APPLIANCES ? stop(request) : others.stop(provider, request)),
    }),
  };
}

/**
 * Says of deliveries that were given up here what became of them after all: an appliance that was out of reach tells late.
 */
function correctEnded(tx: Transaction, outcomes: readonly Outcome[], at: number): void {
  const changed = new Set<number>();
  for (const { deliveryId, level, details } of outcomes) {
    const row = tx.one<{ message: number }>(
      `UPDATE deliveries SET level = ?, reason = ?, updated_at = ?, sent_at = coalesce(sent_at, ?)
       WHERE pk = ? AND provider = '${APPLIANCES}' AND ended_at IS NOT NULL AND level IN ${NOT_REACHED} AND level <> ?
       RETURNING notification_pk AS message`,
      ...[level, details.reason ?? null, at, at, deliveryId, level],
    );
    if (row) changed.add(row.message);
  }
  for (const pk of changed) {
    const message = tx.one<{ id: string; stage: string }>("SELECT id, stage FROM notifications WHERE pk = ?", pk);
    if (message?.stage === "settled") keepLevels(tx, pk, levelsOf(tx, pk));
    if (message) tx.emit("deliveries.changed", { notificationId: message.id });
  }
}

function levelsOf(tx: Transaction, message: number): Record<string, number> {
  const levels = tx.all<{ level: string; n: number }>(
    "SELECT level, count(*) AS n FROM deliveries WHERE notification_pk = ? GROUP BY level",
    message,
  );
  return Object.fromEntries(levels.map(({ level, n }) => [level, n]));
}

const LEVELS: ReadonlySet<unknown> = new Set<OutcomeLevel>([
  ...(["sent", "accepted", "playing", "heard", "confirmed", "failed", "skipped", "expired"] as const),
]);

/** What an appliance said of single deliveries; what does not look like it is passed over. */
function linesIn(levels: unknown): { deliveryId: number; level: OutcomeLevel; reason: string | null }[] {
  if (!Array.isArray(levels)) return [];
  return levels.flatMap((entry: unknown) => {
    const [level, reason, deliveries] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (!LEVELS.has(level) || !Array.isArray(deliveries)) return [];
    const words = typeof reason === "string" ? reason.slice(0, 500) : null;
    const ids = deliveries.filter((each): each is number => Number.isSafeInteger(each));
    return ids.map((deliveryId) => ({ deliveryId, level: level as OutcomeLevel, reason: words }));
  });
}
