import type { Clock } from "../../base/clock.ts";
import { derivedId, newId } from "../../base/ids.ts";
import { APPLIANCES, type Outcome, type Providers } from "../../broadcast/providers.ts";
import type { DeliveryItem, OutcomeLevel, StopRequest } from "../../plugin-api/index.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import type { Store } from "../../store/store.ts";
import type { Command, Outcome as CommandOutcome } from "../frames.ts";
import type { Hub } from "../hub/hub.ts";
import { COMMANDS, type IssuedCommand } from "../hub/tables.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import { filesIn } from "../wanted-files.ts";
import { type Body, scan } from "../work.ts";
import { CARRIED, type CarriedMessage } from "./carried-message.ts";
import { correctEnded, ENDS, linesIn } from "./carried-reports.ts";
import { type Carriage, createWatch, nextInLine } from "./next-in-line.ts";

/** What the channel needs. */
export interface CarrierNeeds {
  store: Pick<Store, "all" | "get" | "write">;
  work: Pick<SqliteWork, "peek">;
  clock: Clock;
  types: ReplicatedTypes;
  hub: Pick<Hub, "command" | "cancel" | "passOn">;
  /** The appliance's link stands. */
  isLinked(endpoint: string): boolean;
  /** Appliances that may activate devices, by the device's internal key, in the order in which they are tried. */
  candidates(devices: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Writes down, at an appliance, what people should know of a message that went another way. */
  record(endpoint: string, what: "takeover" | "doubled", notificationId: string, message: string): void;
  /** Reports of what became of deliveries. */
  takeOutcomes(outcomes: readonly Outcome[]): void;
  onFault(error: unknown): void;
}

/**
 * The channel by which the cloud's messages reach devices of appliances: each appliance gets one command per message. One
 * that is not there, or does not say in its time that it has it, is stood in for by the next of the activation group.
 */
export interface Carrier {
  /** All channels of the cloud: the given ones, and this. */
  beside(providers: Providers): Providers;
  /** Takes what an appliance says of a command. */
  told(endpoint: string, cid: string, told: Body): void;
}

/**
 * Deliveries come in pieces; those of one message go as one command. What is whole in its first piece does not wait.
 * own choice: no longer than people notice
 */
const GATHER_MS = 30;
/** All that a message goes to may be on its way at once. */
const WINDOW = 1_000_000;
/** Commands of an appliance that are looked at after a restart. own choice */
const NEWEST = { newestFirst: true, limit: 1_000 } as const;

/** What of a delivery decides who gets it. */
interface Addressed {
  pk: number;
  /** The appliance that has it to sound. */
  endpoint: string;
  /** Internal key of the device. */
  device: number;
  /** What the device is called by whichever appliance. */
  identifier: string;
  /** 1 where another appliance than the one that serves the device has it to sound. */
  isAway: 0 | 1;
}

/** Makes it. */
export function createCarrier(needs: CarrierNeeds): Carrier {
  const { store, work, clock, types, hub, takeOutcomes, onFault } = needs;
  let waiting: DeliveryItem[] = [];
  const looking = new Set<number>();
  const carried = new Map<string, Carriage>();
  const keyOf = (endpoint: string, cid: string): string => `${cid} ${endpoint}`;
  const watch = createWatch({ ...needs, passOn });

  function deliver(items: readonly DeliveryItem[]): void {
    const isFirst = waiting.length === 0;
    waiting.push(...items);
    if (isFirst) clock.after(isWhole(items) ? 0 : GATHER_MS, () => void send().catch(onFault));
  }

  /** Whether no open delivery of these messages is still to come. */
  function isWhole(items: readonly DeliveryItem[]): boolean {
    const open = `SELECT 1 FROM deliveries WHERE provider = ? AND ended_at IS NULL
      AND notification_pk IN (SELECT pk FROM notifications WHERE id IN (SELECT value FROM json_each(?))) LIMIT ?`;
    const ids = [...new Set(items.map(({ notificationId }) => notificationId))];
    return store.all(open, APPLIANCES, JSON.stringify(ids), items.length + 1).length <= items.length;
  }

  async function send(): Promise<void> {
    const all = waiting;
    waiting = [];
    for (const { deliveryId } of all) looking.add(deliveryId);
    const addressed = addressesOf(all.map(({ deliveryId }) => deliveryId));
    const lines = await needs
      .candidates([...addressed.values()].map(({ device }) => device))
      .catch((error: unknown) => {
        onFault(error);
        return new Map<number, readonly string[]>();
      });
    const groups = new Map<string, { endpoint: string; line: readonly string[]; items: DeliveryItem[] }>();
    for (const item of all) {
      const address = addressed.get(item.deliveryId);
      // It may have been stopped meanwhile.
      if (!looking.delete(item.deliveryId) || !address) continue;
      const { endpoint } = address;
      const line = lines.get(address.device) ?? [];
      const key = [item.notificationId, endpoint, ...line].join();
      const group = groups.get(key) ?? { endpoint, line, items: [] };
      group.items.push(item);
      groups.set(key, group);
    }
    for (const { endpoint, line, items } of groups.values()) issue(endpoint, line, items, addressed);
  }

  function issue(
    endpoint: string,
    line: readonly string[],
    given: readonly DeliveryItem[],
    addressed: ReadonlyMap<number, Addressed>,
  ): void {
    const { notificationId } = given[0] as DeliveryItem;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const round = row.retriedAt ?? 0;
    const items = withoutCarried(endpoint, line, given, round);
    const first = items[0];
    if (!first) return;
    const fields = Object.fromEntries(CARRIED.map((name) => [name, row[name]]));
    const devices = items.map(({ device, deliveryId }): CarriedMessage["devices"][number] => {
      const { isAway = 0, identifier = "" } = addressed.get(deliveryId) ?? {};
      return isAway ? [device.id, deliveryId, identifier] : [device.id, deliveryId];
    });
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
    const carriage = carriageOf(endpoint, command, line);
    hub.command([{ endpoint, command }]).then(() => watch.begin(carriage), onFault);
  }

  function carriageOf(endpoint: string, command: Command, line: readonly string[], tried = [endpoint]): Carriage {
    const { notificationId, devices, fields } = command.body as unknown as CarriedMessage;
    const carriage: Carriage = {
      ...{ endpoint, command, notificationId, line, tried, passedTo: null, said: "nothing" },
      deliveries: devices.map(([, delivery]) => delivery),
      level: fields.priorityLevel ?? (command.class === "emergency" ? 0 : 5),
    };
    carried.set(keyOf(endpoint, command.cid), carriage);
    return carriage;
  }

  /** What an earlier run of this process has handed over is waited for, and not said twice. */
  function withoutCarried(
    endpoint: string,
    line: readonly string[],
    items: readonly DeliveryItem[],
    round: number,
  ): readonly DeliveryItem[] {
    if (items.every(({ attempt }) => attempt <= 1)) return items;
    const { notificationId } = items[0] as DeliveryItem;
    const found = new Set<number>();
    for (const { cid, command, outcome, saidBy } of work.peek(() => scan(COMMANDS, { ...NEWEST, where: [endpoint] }))) {
      const body = command.body as unknown as CarriedMessage;
      if (command.kind !== "broadcast" || body.notificationId !== notificationId || body.round !== round) continue;
      const carriage = carried.get(keyOf(endpoint, cid)) ?? carriageOf(endpoint, command, line);
      for (const each of carriage.deliveries) found.add(each);
      // What it told of each device may have been lost with that run.
      if (outcome === null) watch.begin(carriage);
      else told(endpoint, cid, { outcome: outcome === "done" && saidBy === "site" ? "heard" : outcome });
    }
    return items.filter(({ deliveryId }) => !found.has(deliveryId));
  }

  /** Hands a message, or only some of its deliveries once it has ended there, to another appliance. */
  async function passOn(from: Carriage, to: string, why: string, ended?: readonly number[]): Promise<boolean> {
    const { endpoint, notificationId, line, tried, level } = from;
    const ref = from.command.cid;
    const isNew = ended !== undefined || issuedTo(to, ref) !== undefined;
    const cid = isNew ? derivedId("appliances", ref, to, newId()) : ref;
    const command = { ...from.command, cid, body: bodyFor(from, new Set(ended ?? from.deliveries)) };
    // An emergency is better heard twice than cut off where nobody else is heard.
    const cancel = level === 0 ? null : cancelOf(level);
    try {
      const passed = { from: endpoint, ref, to, command, cancel, hasEnded: ended !== undefined };
      if (!(await hub.passOn(passed))) return false;
      await give(ended ?? from.deliveries, to);
    } catch (error) {
      onFault(error);
      return false;
    }
    const next = carriageOf(to, command, line, [...tried, to]);
    if (!ended) from.passedTo = next;
    needs.record(to, "takeover", notificationId, `It sounds the message in place of another appliance, which ${why}.`);
    // It may have begun in the meantime.
    if (from.said === "started") begunLate(from);
    else watch.begin(next);
    return true;
  }

  /** The rows name the appliance that is waited for. */
  async function give(deliveries: readonly number[], to: string): Promise<void> {
    const sql = `UPDATE deliveries SET endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?)
      WHERE pk IN (SELECT value FROM json_each(?))`;
    await store.write((tx) => tx.run(sql, to, JSON.stringify(deliveries)), "emergency");
  }

  /** Devices under the names by which every appliance knows them. */
  function bodyFor({ command }: Carriage, deliveries: ReadonlySet<number>): Body {
    const body = command.body as unknown as CarriedMessage;
    const names = addressesOf([...deliveries]);
    const devices = body.devices
      .filter(([, delivery]) => deliveries.has(delivery))
      .map(([id, delivery]) => [id, delivery, names.get(delivery)?.identifier ?? ""] as const);
    return { ...body, devices } as unknown as Body;
  }

  function cancelOf(level: number): Parameters<Hub["cancel"]>[1] {
    const isUrgent = level === 0;
    const notAfter = clock.now() + (isUrgent ? 15 * 60_000 : 2 * 60_000);
    return { cid: newId(), class: isUrgent ? "emergency" : "routine", notAfter, rank: 0, term: 0, body: {} };
  }

  function stop({ deliveryIds }: StopRequest): void {
    const ended = new Set(deliveryIds);
    waiting = waiting.filter(({ deliveryId }) => !ended.has(deliveryId));
    for (const each of deliveryIds) looking.delete(each);
    const cancels = new Map<string, number>();
    for (const [key, carriage] of carried) {
      if (!carriage.deliveries.every((each) => ended.has(each))) continue;
      carried.delete(key);
      watch.end(carriage);
      cancels.set(carriage.command.cid, carriage.level);
    }
    for (const [cid, level] of cancels) hub.cancel(cid, cancelOf(level)).catch(onFault);
  }

  function addressesOf(deliveries: readonly number[]): Map<number, Addressed> {
    const found = store.all<Addressed>(
      `SELECT l.pk, e.id AS endpoint, l.device_pk AS device, l.device_identifier AS identifier,
         l.endpoint_pk IS NOT d.endpoint_pk AS isAway
       FROM deliveries l JOIN endpoints e ON e.pk = l.endpoint_pk LEFT JOIN devices d ON d.pk = l.device_pk
       WHERE l.pk IN (SELECT value FROM json_each(?))`,
      JSON.stringify(deliveries),
    );
    return new Map(found.map((each) => [each.pk, each]));
  }

  /** An appliance begins what another one has to sound by now: it goes on if it is the first to be heard. */
  function begunLate(late: Carriage): void {
    let holder = late.passedTo;
    while (holder?.passedTo) holder = holder.passedTo;
    if (holder && holder.said !== "started" && late.level === 0) {
      watch.end(holder);
      holder.passedTo = late;
      late.passedTo = null;
      give(late.deliveries, late.endpoint).catch(onFault);
      takeOutcomes(late.deliveries.map((each) => reportOf(each, "sent", null, false)));
    } else doubled(late.endpoint, late.notificationId);
  }

  const doubled = (endpoint: string, notificationId: string): void =>
    needs.record(endpoint, "doubled", notificationId, "It began late what another appliance sounds in its place.");

  function told(endpoint: string, cid: string, said: Body): void {
    const outcome = said.outcome as CommandOutcome | "heard" | "taken";
    const carriage = carried.get(keyOf(endpoint, cid));
    const known = carriage?.deliveries ?? deliveriesOf(endpoint, cid);
    // An appliance speaks of its own devices alone, and not of those that another one has by now.
    const addressed = addressesOf(known);
    const own = new Set(known.filter((each) => addressed.get(each)?.endpoint === endpoint));
    if (carriage && (outcome === "taken" || outcome === "started")) watch.told(carriage, outcome);
    if (outcome === "taken") return;
    if (outcome === "started") {
      if (carriage?.passedTo) begunLate(carriage);
      else if (known.length > 0 && own.size === 0) doubled(endpoint, notificationOf(endpoint, cid));
      else takeOutcomes([...own].map((each) => reportOf(each, "sent", null, false)));
      return;
    }
    if (carriage) forget(carriage);
    const lines = linesIn(said.levels).filter(({ deliveryId }) => own.has(deliveryId));
    for (const { deliveryId } of lines) own.delete(deliveryId);
    settle(lines.map(({ deliveryId, level, reason }) => reportOf(deliveryId, level, reason, true)));
    const [level, words] = ENDS[outcome] ?? ["failed", "The appliance said nothing that is known."];
    const giveUp = (): void => settle([...own].map((each) => reportOf(each, level, words, true)));
    const isUnserved = outcome === "done" || outcome === "failed";
    const next = carriage && isUnserved && own.size > 0 ? nextInLine(carriage, needs.isLinked) : null;
    if (!carriage || next === null) giveUp();
    else void passOn(carriage, next, "could not carry it out", [...own]).then((isPassed) => isPassed || giveUp());
  }

  function settle(outcomes: readonly Outcome[]): void {
    if (outcomes.length === 0) return;
    takeOutcomes(outcomes);
    const at = clock.now();
    store.write((tx) => correctEnded(tx, outcomes, at)).catch(onFault);
  }

  /** With whoever had it before: what these say from now on is late. */
  function forget(ended: Carriage): void {
    watch.end(ended);
    for (const [key, carriage] of carried) {
      let holder = carriage;
      while (holder.passedTo) holder = holder.passedTo;
      if (holder === ended) carried.delete(key);
    }
  }

  function reportOf(deliveryId: number, level: OutcomeLevel, reason: string | null, isLast: boolean): Outcome {
    const details = reason === null ? {} : { reason };
    return { provider: APPLIANCES, deliveryId, level, details, at: clock.now(), isLast };
  }

  /** What was issued to an appliance, by whichever run. */
  function issuedTo(endpoint: string, cid: string): IssuedCommand | undefined {
    return work.peek(() => scan(COMMANDS, { by: "cid", where: [cid] })).find((each) => each.endpoint === endpoint);
  }

  function messageOf(endpoint: string, cid: string): CarriedMessage | null {
    const command = issuedTo(endpoint, cid)?.command;
    return command?.kind === "broadcast" ? (command.body as unknown as CarriedMessage) : null;
  }

  const deliveriesOf = (endpoint: string, cid: string): number[] =>
    messageOf(endpoint, cid)?.devices.map(([, delivery]) => delivery) ?? [];
  const notificationOf = (endpoint: string, cid: string): string => messageOf(endpoint, cid)?.notificationId ?? "";

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
