import type { Clock } from "../../lib/clock.ts";
import { derivedId, newId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
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

export interface RemoteChannelDeps {
  store: Pick<Store, "all" | "get" | "write">;
  runner: Pick<SqliteProgramRunner, "readSync">;
  clock: Clock;
  types: ReplicatedTypes;
  hub: Pick<HubSync, "issue" | "cancel" | "reassign">;
  /** The appliance is connected. */
  isLinked(endpoint: string): boolean;
  /** Records, as an activity of an appliance, that a notification was reassigned or played twice. */
  record(endpoint: string, what: "takeover" | "doubled", notificationId: string, message: string): void;
  onFault(error: unknown): void;
}

/** What the channel asks of the notifications that it carries. */
export interface RemoteChannelCallbacks {
  /** Appliances that may activate devices, by the device's internal key, in order of preference. */
  candidates(devices: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Receives delivery outcomes. */
  handleOutcomes(outcomes: readonly DeliveryOutcome[]): void;
}

/**
 * Delivery provider for devices of appliances: each appliance gets one command per notification. If it is not connected
 * or does not confirm in time, the next appliance of the activation group takes over.
 */
export interface RemoteChannel {
  /** Must come before the first delivery and the first report. */
  start(callbacks: RemoteChannelCallbacks): void;
  /** The given providers and this one. */
  extendProviders(providers: DeliveryProviders): DeliveryProviders;
  /** Handles a report of an appliance on a command. */
  handleReport(endpoint: string, cid: string, report: RowBody): void;
}

/**
 * Deliveries arrive in pieces; those of one notification become one command. A complete first piece does not wait.
 * @source docs/decisions/0302-remote-delivery.md
 */
const BATCH_DELAY_MS = 30;
/** All deliveries of a notification may be in flight at once. */
const WINDOW = 1_000_000;
/** Commands per appliance that are examined after a restart. @source docs/decisions/0302-remote-delivery.md */
const NEWEST_COMMANDS = { newestFirst: true, limit: 1_000 } as const;

/** Routing data of a delivery. */
interface DeliveryAddress {
  pk: number;
  /** The appliance that has to play it. */
  endpoint: string;
  /** Internal key of the device. */
  device: number;
  /** Identifier of the device, the same for all appliances. */
  identifier: string;
  /** 1 if the appliance is not the one that serves the device. */
  isAway: 0 | 1;
}

export function createRemoteChannel(deps: RemoteChannelDeps): RemoteChannel {
  const { store, runner, clock, types, hub, onFault } = deps;
  let callbacks: RemoteChannelCallbacks | null = null;
  const handleOutcomes = (outcomes: readonly DeliveryOutcome[]): void => callbacks?.handleOutcomes(outcomes);
  const candidatesOf: RemoteChannelCallbacks["candidates"] = async (keys) =>
    (await callbacks?.candidates(keys)) ?? new Map<number, readonly string[]>();
  let waiting: DeliveryItem[] = [];
  const pending = new Set<number>();
  const relays = new Map<string, RelayedCommand>();
  const keyOf = (endpoint: string, cid: string): string => `${cid} ${endpoint}`;
  const monitor = createRelayMonitor({ ...deps, reassign });

  function deliver(items: readonly DeliveryItem[]): void {
    const isFirst = waiting.length === 0;
    waiting.push(...items);
    if (isFirst) clock.after(isComplete(items) ? 0 : BATCH_DELAY_MS, () => void dispatchBatch().catch(onFault));
  }

  /** Whether these are all open deliveries of their notifications. */
  function isComplete(items: readonly DeliveryItem[]): boolean {
    const open = `SELECT 1 FROM deliveries WHERE provider = ? AND ended_at IS NULL
      AND notification_pk IN (SELECT pk FROM notifications WHERE id IN (SELECT value FROM json_each(?))) LIMIT ?`;
    const ids = [...new Set(items.map(({ notificationId }) => notificationId))];
    return store.all(open, APPLIANCES_PROVIDER, JSON.stringify(ids), items.length + 1).length <= items.length;
  }

  async function dispatchBatch(): Promise<void> {
    const all = waiting;
    waiting = [];
    for (const { deliveryId } of all) pending.add(deliveryId);
    const addressed = readAddresses(all.map(({ deliveryId }) => deliveryId));
    const addressedDevices = [...addressed.values()].map(({ device }) => device);
    const lines = await candidatesOf(addressedDevices).catch((error: unknown) => {
      onFault(error);
      return new Map<number, readonly string[]>();
    });
    const groups = new Map<string, { endpoint: string; candidates: readonly string[]; items: DeliveryItem[] }>();
    for (const item of all) {
      const address = addressed.get(item.deliveryId);
      // It may have been stopped during the query.
      if (!pending.delete(item.deliveryId) || !address) continue;
      const { endpoint } = address;
      const candidates = lines.get(address.device) ?? [];
      const key = [item.notificationId, endpoint, ...candidates].join();
      const group = groups.get(key) ?? { endpoint, candidates, items: [] };
      group.items.push(item);
      groups.set(key, group);
    }
    for (const { endpoint, candidates, items } of groups.values()) issueCommand(endpoint, candidates, items, addressed);
  }

  function issueCommand(
    endpoint: string,
    candidates: readonly string[],
    given: readonly DeliveryItem[],
    addressed: ReadonlyMap<number, DeliveryAddress>,
  ): void {
    const { notificationId } = given[0] as DeliveryItem;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const round = row.retriedAt ?? 0;
    const items = withoutIssued(endpoint, candidates, given, round);
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
    const relay = registerRelay(endpoint, command, candidates);
    hub.issue([{ endpoint, command }]).then(() => monitor.start(relay), onFault);
  }

  function registerRelay(
    endpoint: string,
    command: SyncCommand,
    candidates: readonly string[],
    tried = [endpoint],
  ): RelayedCommand {
    const { notificationId, devices, fields } = command.body as unknown as RelayedMessage;
    const relay: RelayedCommand = {
      ...{ endpoint, command, notificationId, candidates, tried, reassignedTo: null, progress: "nothing" },
      deliveries: devices.map(([, delivery]) => delivery),
      level: fields.priorityLevel ?? (command.class === "emergency" ? 0 : 5),
    };
    relays.set(keyOf(endpoint, command.cid), relay);
    return relay;
  }

  /** Deliveries without those that an earlier process issued: these are watched and not sent twice. */
  function withoutIssued(
    endpoint: string,
    candidates: readonly string[],
    items: readonly DeliveryItem[],
    round: number,
  ): readonly DeliveryItem[] {
    if (items.every(({ attempt }) => attempt <= 1)) return items;
    const { notificationId } = items[0] as DeliveryItem;
    const found = new Set<number>();
    for (const { cid, command, outcome, saidBy } of runner.readSync(() =>
      scanRecords(ISSUED_COMMANDS, { ...NEWEST_COMMANDS, where: [endpoint] }),
    )) {
      const body = command.body as unknown as RelayedMessage;
      if (command.kind !== "broadcast" || body.notificationId !== notificationId || body.round !== round) continue;
      const relay = relays.get(keyOf(endpoint, cid)) ?? registerRelay(endpoint, command, candidates);
      for (const each of relay.deliveries) found.add(each);
      // The report on each device may have been lost with that process.
      if (outcome === null) monitor.start(relay);
      else handleReport(endpoint, cid, { outcome: outcome === "done" && saidBy === "site" ? "heard" : outcome });
    }
    return items.filter(({ deliveryId }) => !found.has(deliveryId));
  }

  /**
   * Hands a notification to another appliance, or with `ended` only those deliveries, which the first one has ended.
   */
  async function reassign(from: RelayedCommand, to: string, why: string, ended?: readonly number[]): Promise<boolean> {
    const { endpoint, notificationId, candidates, tried, level } = from;
    const ref = from.command.cid;
    const isNew = ended !== undefined || findIssuedCommand(to, ref) !== undefined;
    const cid = isNew ? derivedId("appliances", ref, to, newId()) : ref;
    const command = { ...from.command, cid, body: bodyForDeliveries(from, new Set(ended ?? from.deliveries)) };
    // An emergency is better played twice than cancelled before the other appliance plays it.
    const cancel = level === 0 ? null : buildCancellation(level);
    try {
      const reassignment = { from: endpoint, ref, to, command, cancel, hasEnded: ended !== undefined };
      if (!(await hub.reassign(reassignment))) return false;
      await assignDeliveries(ended ?? from.deliveries, to);
    } catch (error) {
      onFault(error);
      return false;
    }
    const next = registerRelay(to, command, candidates, [...tried, to]);
    if (!ended) from.reassignedTo = next;
    deps.record(to, "takeover", notificationId, sentence("activity.relayed", { why }));
    // It may have started during the reassignment.
    if (from.progress === "started") handleLateStart(from);
    else monitor.start(next);
    return true;
  }

  /** Updates the appliance in the delivery rows. */
  async function assignDeliveries(deliveries: readonly number[], to: string): Promise<void> {
    const sql = `UPDATE deliveries SET endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?)
      WHERE pk IN (SELECT value FROM json_each(?))`;
    await store.write((tx) => tx.run(sql, to, JSON.stringify(deliveries)), "emergency");
  }

  /** The body with some deliveries only, and with the device identifiers that every appliance knows. */
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
    for (const each of deliveryIds) pending.delete(each);
    const cancels = new Map<string, number>();
    for (const [key, relay] of relays) {
      if (!relay.deliveries.every((each) => ended.has(each))) continue;
      relays.delete(key);
      monitor.stop(relay);
      cancels.set(relay.command.cid, relay.level);
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

  /**
   * An appliance starts late what another one has by now: for an emergency it keeps it if the other one does not play
   * yet.
   */
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
    deps.record(endpoint, "doubled", notificationId, sentence("delivery.started-late"));

  function handleReport(endpoint: string, cid: string, report: RowBody): void {
    const outcome = report.outcome as CommandOutcome | "heard" | "taken";
    const relay = relays.get(keyOf(endpoint, cid));
    const known = relay?.deliveries ?? deliveriesOf(endpoint, cid);
    // An appliance reports only on deliveries that are still assigned to it.
    const addressed = readAddresses(known);
    const own = new Set(known.filter((each) => addressed.get(each)?.endpoint === endpoint));
    if (relay && (outcome === "taken" || outcome === "started")) monitor.recordProgress(relay, outcome);
    if (outcome === "taken") return;
    if (outcome === "started") {
      if (relay?.reassignedTo) handleLateStart(relay);
      else if (known.length > 0 && own.size === 0) recordDuplicate(endpoint, notificationOf(endpoint, cid));
      else handleOutcomes([...own].map((each) => toOutcome(each, "sent", null, false)));
      return;
    }
    if (relay) discardRelay(relay);
    const lines = parseDeliveryReports(report.levels).filter(({ deliveryId }) => own.has(deliveryId));
    for (const { deliveryId } of lines) own.delete(deliveryId);
    reportOutcomes(lines.map(({ deliveryId, level, reason }) => toOutcome(deliveryId, level, reason, true)));
    const [level, text] = OUTCOME_LEVELS[outcome] ?? ["failed", sentence("delivery.appliance-unknown-outcome")];
    const reportUnreported = (): void => reportOutcomes([...own].map((each) => toOutcome(each, level, text, true)));
    const isUnserved = outcome === "done" || outcome === "failed";
    const next = relay && isUnserved && own.size > 0 ? nextCandidate(relay, deps.isLinked) : null;
    if (!relay || next === null) reportUnreported();
    else
      void reassign(relay, next, sentence("activity.relayed-not-played"), [...own]).then(
        (isReassigned) => isReassigned || reportUnreported(),
      );
  }

  function reportOutcomes(outcomes: readonly DeliveryOutcome[]): void {
    if (outcomes.length === 0) return;
    handleOutcomes(outcomes);
    const at = clock.now();
    store.write((tx) => applyLateReports(tx, outcomes, at)).catch(onFault);
  }

  /** Also removes its predecessors: their later reports are late. */
  function discardRelay(ended: RelayedCommand): void {
    monitor.stop(ended);
    for (const [key, relay] of relays) {
      let holder = relay;
      while (holder.reassignedTo) holder = holder.reassignedTo;
      if (holder === ended) relays.delete(key);
    }
  }

  function toOutcome(deliveryId: number, level: OutcomeLevel, reason: string | null, isLast: boolean): DeliveryOutcome {
    const details = reason === null ? {} : { reason };
    return { provider: APPLIANCES_PROVIDER, deliveryId, level, details, at: clock.now(), isLast };
  }

  /** A command issued to an appliance by this or an earlier process. */
  function findIssuedCommand(endpoint: string, cid: string): IssuedCommand | undefined {
    return runner
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
    start(given) {
      callbacks = given;
    },
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
