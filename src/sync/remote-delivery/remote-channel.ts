import type { Clock } from "../../lib/clock.ts";
import { derivedId, newId } from "../../lib/ids.ts";
import {
  APPLIANCES_PROVIDER,
  type DeliveryOutcome,
  type DeliveryProviders,
} from "../../notifications/engine/delivery-providers.ts";
import type { DeliveryItem, OutcomeLevel, StopRequest } from "../../plugin-api/index.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { Store } from "../../store/store.ts";
import { filesInBody } from "../files/file-requests.ts";
import type { HubSync } from "../hub/hub-sync.ts";
import { ISSUED_COMMANDS, type IssuedCommand } from "../hub/tables.ts";
import type { CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import type { SqliteProgramRunner } from "../storage/sqlite-program-runner.ts";
import { type RowBody, scanRecords } from "../storage/transaction-program.ts";
import { applyLateReports, OUTCOME_LEVELS, parseDeliveryReports } from "./delivery-reports.ts";
import { createRelayMonitor, nextCandidate, type RelayedCommand } from "./failover-router.ts";
import { RELAYED_FIELDS, type RelayedMessage } from "./relayed-message.ts";

/** What the channel needs. */
export interface RemoteChannelDeps {
  store: Pick<Store, "all" | "get" | "write">;
  runner: Pick<SqliteProgramRunner, "readSync">;
  clock: Clock;
  types: ReplicatedTypes;
  hub: Pick<HubSync, "issue" | "cancel" | "reassign">;
  /** The appliance's link stands. */
  isLinked(endpoint: string): boolean;
  /** Appliances that may activate devices, by the device's internal key, in the order in which they are tried. */
  candidates(devices: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Writes down, at an appliance, what people should know of a message that went another way. */
  record(endpoint: string, what: "takeover" | "doubled", notificationId: string, message: string): void;
  /** Reports of what became of deliveries. */
  handleOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  onFault(error: unknown): void;
}

/**
 * The channel by which the cloud's messages reach devices of appliances: each appliance gets one command per message. One
 * that is not there, or does not say in its time that it has it, is stood in for by the next of the activation group.
 */
export interface RemoteChannel {
  /** All channels of the cloud: the given ones, and this. */
  extendProviders(providers: DeliveryProviders): DeliveryProviders;
  /** Takes what an appliance says of a command. */
  handleReport(endpoint: string, cid: string, told: RowBody): void;
}

/**
 * Deliveries come in pieces; those of one message go as one command. What is whole in its first piece does not wait.
 * own choice: no longer than people notice
 */
const BATCH_DELAY_MS = 30;
/** All that a message goes to may be on its way at once. */
const WINDOW = 1_000_000;
/** Commands of an appliance that are looked at after a restart. own choice */
const NEWEST_COMMANDS = { newestFirst: true, limit: 1_000 } as const;

/** What of a delivery decides who gets it. */
interface DeliveryAddress {
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
export function createRemoteChannel(needs: RemoteChannelDeps): RemoteChannel {
  const { store, runner: work, clock, types, hub, handleOutcomes, onFault } = needs;
  let waiting: DeliveryItem[] = [];
  const looking = new Set<number>();
  const relays = new Map<string, RelayedCommand>();
  const keyOf = (endpoint: string, cid: string): string => `${cid} ${endpoint}`;
  const monitor = createRelayMonitor({ ...needs, reassign });

  function deliver(items: readonly DeliveryItem[]): void {
    const isFirst = waiting.length === 0;
    waiting.push(...items);
    if (isFirst) clock.after(isComplete(items) ? 0 : BATCH_DELAY_MS, () => void dispatchBatch().catch(onFault));
  }

  /** Whether no open delivery of these messages is still to come. */
  function isComplete(items: readonly DeliveryItem[]): boolean {
    const open = `SELECT 1 FROM deliveries WHERE provider = ? AND ended_at IS NULL
      AND notification_pk IN (SELECT pk FROM notifications WHERE id IN (SELECT value FROM json_each(?))) LIMIT ?`;
    const ids = [...new Set(items.map(({ notificationId }) => notificationId))];
    return store.all(open, APPLIANCES_PROVIDER, JSON.stringify(ids), items.length + 1).length <= items.length;
  }

  async function dispatchBatch(): Promise<void> {
    const all = waiting;
    waiting = [];
    for (const { deliveryId } of all) looking.add(deliveryId);
    const addressed = readAddresses(all.map(({ deliveryId }) => deliveryId));
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
    for (const { endpoint, line, items } of groups.values()) issueCommand(endpoint, line, items, addressed);
  }

  function issueCommand(
    endpoint: string,
    line: readonly string[],
    given: readonly DeliveryItem[],
    addressed: ReadonlyMap<number, DeliveryAddress>,
  ): void {
    const { notificationId } = given[0] as DeliveryItem;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const round = row.retriedAt ?? 0;
    const items = withoutIssued(endpoint, line, given, round);
    const first = items[0];
    if (!first) return;
    const fields = Object.fromEntries(RELAYED_FIELDS.map((name) => [name, row[name]]));
    const devices = items.map(({ device, deliveryId }): RelayedMessage["devices"][number] => {
      const { isAway = 0, identifier = "" } = addressed.get(deliveryId) ?? {};
      return isAway ? [device.id, deliveryId, identifier] : [device.id, deliveryId];
    });
    const body: RelayedMessage = { notificationId, round, fields, from: row.initiatingEndpointId, devices };
    const command: SyncCommand = {
      cid: derivedId("appliances", notificationId, endpoint, String(first.deliveryId), String(round)),
      kind: "broadcast",
      class: first.class,
      notAfter: first.notAfter,
      rank: 0,
      term: 0,
      ref: null,
      body: body as unknown as RowBody,
      needs: filesInBody(row as unknown as RowBody, types.fileFields(notifications.name)),
    };
    const carriage = registerRelay(endpoint, command, line);
    hub.issue([{ endpoint, command }]).then(() => monitor.start(carriage), onFault);
  }

  function registerRelay(
    endpoint: string,
    command: SyncCommand,
    line: readonly string[],
    tried = [endpoint],
  ): RelayedCommand {
    const { notificationId, devices, fields } = command.body as unknown as RelayedMessage;
    const carriage: RelayedCommand = {
      ...{ endpoint, command, notificationId, candidates: line, tried, reassignedTo: null, progress: "nothing" },
      deliveries: devices.map(([, delivery]) => delivery),
      level: fields.priorityLevel ?? (command.class === "emergency" ? 0 : 5),
    };
    relays.set(keyOf(endpoint, command.cid), carriage);
    return carriage;
  }

  /** What an earlier run of this process has handed over is waited for, and not said twice. */
  function withoutIssued(
    endpoint: string,
    line: readonly string[],
    items: readonly DeliveryItem[],
    round: number,
  ): readonly DeliveryItem[] {
    if (items.every(({ attempt }) => attempt <= 1)) return items;
    const { notificationId } = items[0] as DeliveryItem;
    const found = new Set<number>();
    for (const { cid, command, outcome, saidBy } of work.readSync(() =>
      scanRecords(ISSUED_COMMANDS, { ...NEWEST_COMMANDS, where: [endpoint] }),
    )) {
      const body = command.body as unknown as RelayedMessage;
      if (command.kind !== "broadcast" || body.notificationId !== notificationId || body.round !== round) continue;
      const carriage = relays.get(keyOf(endpoint, cid)) ?? registerRelay(endpoint, command, line);
      for (const each of carriage.deliveries) found.add(each);
      // What it told of each device may have been lost with that run.
      if (outcome === null) monitor.start(carriage);
      else handleReport(endpoint, cid, { outcome: outcome === "done" && saidBy === "site" ? "heard" : outcome });
    }
    return items.filter(({ deliveryId }) => !found.has(deliveryId));
  }

  /** Hands a message, or only some of its deliveries once it has ended there, to another appliance. */
  async function reassign(from: RelayedCommand, to: string, why: string, ended?: readonly number[]): Promise<boolean> {
    const { endpoint, notificationId, candidates: line, tried, level } = from;
    const ref = from.command.cid;
    const isNew = ended !== undefined || findIssuedCommand(to, ref) !== undefined;
    const cid = isNew ? derivedId("appliances", ref, to, newId()) : ref;
    const command = { ...from.command, cid, body: bodyForDeliveries(from, new Set(ended ?? from.deliveries)) };
    // An emergency is better heard twice than cut off where nobody else is heard.
    const cancel = level === 0 ? null : buildCancellation(level);
    try {
      const passed = { from: endpoint, ref, to, command, cancel, hasEnded: ended !== undefined };
      if (!(await hub.reassign(passed))) return false;
      await assignDeliveries(ended ?? from.deliveries, to);
    } catch (error) {
      onFault(error);
      return false;
    }
    const next = registerRelay(to, command, line, [...tried, to]);
    if (!ended) from.reassignedTo = next;
    needs.record(to, "takeover", notificationId, `It sounds the message in place of another appliance, which ${why}.`);
    // It may have begun in the meantime.
    if (from.progress === "started") handleLateStart(from);
    else monitor.start(next);
    return true;
  }

  /** The rows name the appliance that is waited for. */
  async function assignDeliveries(deliveries: readonly number[], to: string): Promise<void> {
    const sql = `UPDATE deliveries SET endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?)
      WHERE pk IN (SELECT value FROM json_each(?))`;
    await store.write((tx) => tx.run(sql, to, JSON.stringify(deliveries)), "emergency");
  }

  /** Devices under the names by which every appliance knows them. */
  function bodyForDeliveries({ command }: RelayedCommand, deliveries: ReadonlySet<number>): RowBody {
    const body = command.body as unknown as RelayedMessage;
    const names = readAddresses([...deliveries]);
    const devices = body.devices
      .filter(([, delivery]) => deliveries.has(delivery))
      .map(([id, delivery]) => [id, delivery, names.get(delivery)?.identifier ?? ""] as const);
    return { ...body, devices } as unknown as RowBody;
  }

  function buildCancellation(level: number): Parameters<HubSync["cancel"]>[1] {
    const isUrgent = level === 0;
    const notAfter = clock.now() + (isUrgent ? 15 * 60_000 : 2 * 60_000);
    return { cid: newId(), class: isUrgent ? "emergency" : "routine", notAfter, rank: 0, term: 0, body: {} };
  }

  function stop({ deliveryIds }: StopRequest): void {
    const ended = new Set(deliveryIds);
    waiting = waiting.filter(({ deliveryId }) => !ended.has(deliveryId));
    for (const each of deliveryIds) looking.delete(each);
    const cancels = new Map<string, number>();
    for (const [key, carriage] of relays) {
      if (!carriage.deliveries.every((each) => ended.has(each))) continue;
      relays.delete(key);
      monitor.stop(carriage);
      cancels.set(carriage.command.cid, carriage.level);
    }
    for (const [cid, level] of cancels) hub.cancel(cid, buildCancellation(level)).catch(onFault);
  }

  function readAddresses(deliveries: readonly number[]): Map<number, DeliveryAddress> {
    const found = store.all<DeliveryAddress>(
      `SELECT l.pk, e.id AS endpoint, l.device_pk AS device, l.device_identifier AS identifier,
         l.endpoint_pk IS NOT d.endpoint_pk AS isAway
       FROM deliveries l JOIN endpoints e ON e.pk = l.endpoint_pk LEFT JOIN devices d ON d.pk = l.device_pk
       WHERE l.pk IN (SELECT value FROM json_each(?))`,
      JSON.stringify(deliveries),
    );
    return new Map(found.map((each) => [each.pk, each]));
  }

  /** An appliance begins what another one has to sound by now: it goes on if it is the first to be heard. */
  function handleLateStart(late: RelayedCommand): void {
    let holder = late.reassignedTo;
    while (holder?.reassignedTo) holder = holder.reassignedTo;
    if (holder && holder.progress !== "started" && late.level === 0) {
      monitor.stop(holder);
      holder.reassignedTo = late;
      late.reassignedTo = null;
      assignDeliveries(late.deliveries, late.endpoint).catch(onFault);
      handleOutcomes(late.deliveries.map((each) => toOutcome(each, "sent", null, false)));
    } else recordDuplicate(late.endpoint, late.notificationId);
  }

  const recordDuplicate = (endpoint: string, notificationId: string): void =>
    needs.record(endpoint, "doubled", notificationId, "It began late what another appliance sounds in its place.");

  function handleReport(endpoint: string, cid: string, said: RowBody): void {
    const outcome = said.outcome as CommandOutcome | "heard" | "taken";
    const carriage = relays.get(keyOf(endpoint, cid));
    const known = carriage?.deliveries ?? deliveriesOf(endpoint, cid);
    // An appliance speaks of its own devices alone, and not of those that another one has by now.
    const addressed = readAddresses(known);
    const own = new Set(known.filter((each) => addressed.get(each)?.endpoint === endpoint));
    if (carriage && (outcome === "taken" || outcome === "started")) monitor.recordProgress(carriage, outcome);
    if (outcome === "taken") return;
    if (outcome === "started") {
      if (carriage?.reassignedTo) handleLateStart(carriage);
      else if (known.length > 0 && own.size === 0) recordDuplicate(endpoint, notificationOf(endpoint, cid));
      else handleOutcomes([...own].map((each) => toOutcome(each, "sent", null, false)));
      return;
    }
    if (carriage) discardRelay(carriage);
    const lines = parseDeliveryReports(said.levels).filter(({ deliveryId }) => own.has(deliveryId));
    for (const { deliveryId } of lines) own.delete(deliveryId);
    reportOutcomes(lines.map(({ deliveryId, level, reason }) => toOutcome(deliveryId, level, reason, true)));
    const [level, words] = OUTCOME_LEVELS[outcome] ?? ["failed", "The appliance said nothing that is known."];
    const giveUp = (): void => reportOutcomes([...own].map((each) => toOutcome(each, level, words, true)));
    const isUnserved = outcome === "done" || outcome === "failed";
    const next = carriage && isUnserved && own.size > 0 ? nextCandidate(carriage, needs.isLinked) : null;
    if (!carriage || next === null) giveUp();
    else void reassign(carriage, next, "could not carry it out", [...own]).then((isPassed) => isPassed || giveUp());
  }

  function reportOutcomes(outcomes: readonly DeliveryOutcome[]): void {
    if (outcomes.length === 0) return;
    handleOutcomes(outcomes);
    const at = clock.now();
    store.write((tx) => applyLateReports(tx, outcomes, at)).catch(onFault);
  }

  /** With whoever had it before: what these say from now on is late. */
  function discardRelay(ended: RelayedCommand): void {
    monitor.stop(ended);
    for (const [key, carriage] of relays) {
      let holder = carriage;
      while (holder.reassignedTo) holder = holder.reassignedTo;
      if (holder === ended) relays.delete(key);
    }
  }

  function toOutcome(deliveryId: number, level: OutcomeLevel, reason: string | null, isLast: boolean): DeliveryOutcome {
    const details = reason === null ? {} : { reason };
    return { provider: APPLIANCES_PROVIDER, deliveryId, level, details, at: clock.now(), isLast };
  }

  /** What was issued to an appliance, by whichever run. */
  function findIssuedCommand(endpoint: string, cid: string): IssuedCommand | undefined {
    return work
      .readSync(() => scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] }))
      .find((each) => each.endpoint === endpoint);
  }

  function messageOf(endpoint: string, cid: string): RelayedMessage | null {
    const command = findIssuedCommand(endpoint, cid)?.command;
    return command?.kind === "broadcast" ? (command.body as unknown as RelayedMessage) : null;
  }

  const deliveriesOf = (endpoint: string, cid: string): number[] =>
    messageOf(endpoint, cid)?.devices.map(([, delivery]) => delivery) ?? [];
  const notificationOf = (endpoint: string, cid: string): string => messageOf(endpoint, cid)?.notificationId ?? "";

  return {
    handleReport,
    extendProviders: (others) => ({
      ...others,
      state: (provider) => (provider === APPLIANCES_PROVIDER ? "running" : others.state(provider)),
      window: (provider) => (provider === APPLIANCES_PROVIDER ? WINDOW : others.window(provider)),
      extensionId: (provider) =>
        provider === APPLIANCES_PROVIDER ? ONPREM_EXTENSION_ID : others.extensionId(provider),
      deliver: (provider, items) =>
        provider === APPLIANCES_PROVIDER ? deliver(items) : others.deliver(provider, items),
      stop: (provider, request) => (provider === APPLIANCES_PROVIDER ? stop(request) : others.stop(provider, request)),
    }),
  };
}
