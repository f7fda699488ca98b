import { UNSHARED_GROUP_ID } from "../devices/activation-groups.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { derivedId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { parseSendingProfile } from "../notifications/compose/sending-profile.ts";
import type { NotificationService, SendOptions } from "../notifications/notification-service.ts";
import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { createFailoverRings, type FailoverRings } from "./failover-rings.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { MissCause, RingRow } from "./ring-repository.ts";
import type { RingExecutor } from "./ticker.ts";

export interface RingExecutorDeps {
  store: Store;
  clock: Clock;
  log: Log;
  notificationService: Pick<
    NotificationService,
    "send" | "releaseHold" | "startHeldAt" | "discardHeld" | "abort" | "clearDisplays"
  >;
  by: ActorContext;
  endpointId(): string;
  /** Which node is on duty for a notification at `at` (epoch ms); this node by default. */
  duty?(notificationId: string, at: number): "go" | "wait" | "yield";
  /** True if the devices of a notification would now be assigned to other nodes than when it was prepared; false by default. */
  isAssignmentOutdated?(notificationId: string): boolean;
  /** As `duty`, for a group whose devices are assigned to another node. */
  failoverDuty?(ringId: string, at: number, groupId: string): "go" | "wait" | "yield";
  /** Aborts when the node stops. */
  signal: AbortSignal;
}

interface RingContent {
  input: Record<string, unknown>;
  source: "bell-schedule" | "scheduled-notification";
  description: string;
  domainId: string | null;
}

/** After this many reassignments the ring starts as assigned: ringing twice is better than not at all. @source docs/decisions/0200-bell-engine-limits.md, Failover */
const MAX_REASSIGNMENTS = 3;

/** Up to this many missed rings are recorded one by one, more as one summary. @source docs/decisions/0200-bell-engine-limits.md, Downtime */
const MAX_SINGLE_RECORDS = 20;

/** Stages after all devices received the notification; text without audio is on display by then. */
const DELIVERED_STAGES: ReadonlySet<string> = new Set(["collect", "settle", "settled"]);

/** Sends rings as notifications that the engine holds until the instant of the ring. */
export function createRingExecutor(deps: RingExecutorDeps): RingExecutor {
  const { store, notificationService, log, by } = deps;
  const notificationOf = (ring: RingRow) => store.get(notifications, ring.id);
  const failoverRings = failoverRingsFor(deps);
  /** Devices that no other node is assigned to need a failover ring if other nodes ring the rest. */
  const unsharedGroupOf = (id: string): string[] =>
    store.one(SELECT_HAS_UNSHARED, id, UNSHARED_GROUP_ID) ? [UNSHARED_GROUP_ID] : [];
  /** Rings that another node plays; their delegated groups stay watched. */
  const ringsOfOtherNodes = new Set<string>();
  /** Number of reassignments per ring. */
  const reassignments = new Map<string, number>();
  const mayReassign = ({ id, asked }: RingRow): boolean => {
    const times = reassignments.get(id) ?? 0;
    if (asked !== 0 || times >= MAX_REASSIGNMENTS || failoverRings?.hasTakenOver(id)) return false;
    reassignments.set(id, times + 1);
    return true;
  };
  return {
    async prepare(ring) {
      const known = notificationOf(ring);
      if (known?.abortedAt) return sentence("ring.cancelled-earlier");
      if (ring.kind === "clearing" || known) return null;
      const sending = ringNotificationOf(ring, store, by);
      if (!sending) return sentence("ring.source-gone");
      try {
        await notificationService.send(sending.input, sending.sender, sending.options);
        return null;
      } catch (error) {
        if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
        log.warn(
          { event: "bell.ring_skipped", ringId: ring.id, reason: error.message },
          "ring skipped: notification refused",
        );
        return error.message;
      }
    },
    duty(ring) {
      const { id, kind, at } = ring;
      if (kind === "clearing") return "go";
      if (deps.isAssignmentOutdated?.(id) && mayReassign(ring)) {
        // Stop failover rings until the ring is reassigned; the cancellation would abort them and they would not be watched again.
        void failoverRings?.cancel(id);
        return "replan";
      }
      failoverRings?.watch(ring);
      const turn = deps.duty?.(id, at) ?? "go";
      if (turn !== "yield") return turn;
      ringsOfOtherNodes.add(id);
      failoverRings?.add(ring, unsharedGroupOf(id));
      return { standDown: sentence("ring.by-another-appliance") };
    },
    arm(rings) {
      const ranked = rings.map((ring) => ({ ring, rank: urgencyOf(ring, store) }));
      ranked.sort((a, b) => a.rank - b.rank || (a.ring.id < b.ring.id ? -1 : 1));
      for (const { ring } of ranked) if (ring.kind !== "clearing") notificationService.releaseHold(ring.id);
    },
    start(rings) {
      for (const { kind, id, at } of rings) {
        if (kind === "clearing") notificationService.clearDisplays();
        else notificationService.startHeldAt(id, at);
      }
    },
    async cancel(ring) {
      if (!ringsOfOtherNodes.delete(ring.id)) await failoverRings?.cancel(ring.id);
      const message = notificationOf(ring);
      if (!message) return;
      if (ring.asked === 0) await notificationService.discardHeld(ring.id);
      else await notificationService.abort(ring.id, by);
    },
    hasStarted(ring) {
      if (ring.kind === "clearing") return true;
      const message = notificationOf(ring);
      if (!message) return false;
      return message.t0 !== null || (message.programmeSha === null && DELIVERED_STAGES.has(message.stage ?? ""));
    },
    recordMissed: (tx, rings, cause) => recordMissed(tx, rings, cause, deps),
  };
}

const SELECT_HAS_UNSHARED = "SELECT 1 FROM notification_failover_groups WHERE notification = ? AND cover = ?";

/** Without the groups that an earlier run took over; `resumeFailoverRings` handles those. */
const SELECT_DELEGATED_GROUPS = `SELECT cover FROM notification_standby_groups WHERE notification = ?
  AND cover NOT IN (SELECT cover FROM notification_failover_rings WHERE ring = ?)`;

/** Null without failover. */
function failoverRingsFor(deps: RingExecutorDeps): FailoverRings | null {
  const { store, clock, log, notificationService, by, signal, failoverDuty } = deps;
  if (!failoverDuty) return null;
  const failoverRings = createFailoverRings({
    clock,
    log,
    delegatedGroups: ({ id }) =>
      store.all<{ cover: string }>(SELECT_DELEGATED_GROUPS, id, id).map(({ cover }) => cover),
    duty: ({ id, at }, groupId) => failoverDuty(id, at, groupId),
    async send(ring, groups) {
      const id = derivedId(ring.id, "stand-in", ...groups.toSorted());
      const sending = ringNotificationOf(ring, store, by);
      if (!sending?.options.held) return null;
      const { input, sender, options } = sending;
      const held = { ...sending.options.held, id, standsIn: { ring: ring.id, groups } };
      if (!store.get(notifications, id))
        await notificationService.send(devicesOnly(input, store), sender, { ...options, held });
      notificationService.releaseHold(id);
      notificationService.startHeldAt(id, ring.at);
      return id;
    },
    abort: async (id) => void (await notificationService.abort(id, by)),
  });
  signal.addEventListener("abort", failoverRings.stop);
  return failoverRings;
}

/** Resumes failover rings of an earlier run that are still in time and aborts the others. */
export async function resumeFailoverRings({ store, clock, notificationService, by }: RingExecutorDeps): Promise<void> {
  const left = store.all<{ id: string; at: number }>(
    `SELECT DISTINCT n.id, n.held_until AS at FROM notification_failover_rings s JOIN notifications n ON n.id = s.notification
     WHERE n.t0 IS NULL AND n.stage <> 'settled'`,
  );
  for (const { id, at } of left) {
    if (clock.now() - at > LATE_LIMIT_MS) await notificationService.abort(id, by);
    else {
      notificationService.releaseHold(id);
      notificationService.startHeldAt(id, at);
    }
  }
}

/** The same notification for devices only: the ring itself already reached people. */
function devicesOnly(input: Record<string, unknown>, store: StoreReader): Record<string, unknown> {
  const { messageTemplateId, deviceGroupIds } = input;
  const named = deviceGroupIds ?? store.get(messageTemplates, messageTemplateId as string)?.deviceGroupIds ?? [];
  return { messageTemplateId, ...overrideRecipients({ deviceGroupIds: named as string[], distributionListIds: [] }) };
}

/** The notification of a ring with its sender and options; null if there is nothing to send. */
export function ringNotificationOf(
  ring: Pick<RingRow, "id" | "at" | "kind" | "owner" | "ringListId" | "entryId">,
  store: StoreReader,
  by: ActorContext,
): { input: Record<string, unknown>; sender: ActorContext; options: SendOptions } | null {
  const content = ring.kind === "bell" ? bellContent(ring, store) : scheduledMessageContent(ring, store);
  if (!content) return null;
  const held = { id: ring.id, at: ring.at, usefulMs: LATE_LIMIT_MS, description: content.description };
  const sender: ActorContext = { actor: by.actor, scope: scopeInDomain(by, content.domainId) };
  return { input: content.input, sender, options: { source: content.source, overrules: true, held } };
}

/** Sort key, most urgent first: a device that two rings need at once plays only the first. @source docs/decisions/0015-bell-engine.md, Running */
function urgencyOf({ id }: RingRow, store: Store): number {
  const message = store.get(notifications, id);
  return message ? (message.priorityLevel ?? 5) * 1_000 + (parseSendingProfile(message).priority ?? 5) : 0;
}

function bellContent(ring: Pick<RingRow, "owner" | "ringListId" | "entryId">, store: StoreReader): RingContent | null {
  const schedule = store.get(bellSchedules, ring.owner);
  const list = ring.ringListId ? store.get(ringLists, ring.ringListId) : null;
  const entry = (list?.entries as RingListEntry[] | undefined)?.find(({ id }) => id === ring.entryId);
  if (!schedule || !entry) return null;
  return {
    input: notificationInput(entry.messageTemplateId, entry),
    source: "bell-schedule",
    description: schedule.name,
    domainId: schedule.domainId ?? null,
  };
}

function scheduledMessageContent(ring: Pick<RingRow, "owner">, store: StoreReader): RingContent | null {
  const row = store.get(scheduledNotifications, ring.owner);
  if (!row || row.disabled) return null;
  return {
    input: notificationInput(row.messageTemplateId, row, row.lostReferences),
    source: "scheduled-notification",
    description: row.name,
    domainId: row.domainId ?? null,
  };
}

/**
 * Device groups and distribution lists of the ring replace all recipients of the template; if they were all deleted it reaches no
 * one and is reported as missed. @source docs/decisions/0009-ring-lists-and-bell-schedules.md, Ring list;
 * docs/decisions/0547-lost-references.md
 */
function notificationInput(
  messageTemplateId: string,
  { deviceGroupIds, distributionListIds }: RecipientOverrides,
  lostReferences = 0,
): Record<string, unknown> {
  const isEmpty = deviceGroupIds.length + distributionListIds.length === 0;
  if (isEmpty && lostReferences === 0) return { messageTemplateId };
  return { messageTemplateId, ...overrideRecipients({ deviceGroupIds, distributionListIds }) };
}

interface RecipientOverrides {
  deviceGroupIds: readonly string[];
  distributionListIds: readonly string[];
}

function overrideRecipients({
  deviceGroupIds,
  distributionListIds,
}: RecipientOverrides): Record<string, readonly string[]> {
  return { deviceGroupIds, distributionListIds, userIds: [], areaOfInterestIds: [], collaborationGroupIds: [] };
}

function scopeInDomain({ scope }: ActorContext, domainId: string | null): ActorContext["scope"] {
  return domainId === null ? scope : { ...scope, domainId };
}

/** A missed ring always leaves a row, an activity and an event. @source docs/decisions/0038-reliability.md */
function recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause, deps: RingExecutorDeps): void {
  const reason = CAUSE_MESSAGES[cause];
  const summaries = rings.map(({ id, owner, kind, at, localDate, localTime }) => {
    return { ringId: id, scheduleId: owner, kind, at: new Date(at).toISOString(), localDate, localTime };
  });
  const values =
    summaries.length <= MAX_SINGLE_RECORDS
      ? summaries.map((ring) => ({ ...ring, cause, reason }))
      : [{ rings: summaries.length, first: summaries[0], last: summaries.at(-1), cause, reason }];
  const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: deps.endpointId() };
  for (const value of values) {
    const row = {
      ...where,
      ...referenceOf(value),
      type: "scheduled-broadcast-skipped",
      severity: "error",
      value,
    } as const;
    tx.create(endpointActivities, row, deps.by);
  }
  for (const { id, owner, at } of rings.slice(0, MAX_SINGLE_RECORDS)) {
    tx.emit("bell.missed", { ringId: id, scheduleId: owner, at });
  }
}

/** Bells have no name among the references of activities. */
function referenceOf(missed: { kind: RingRow["kind"]; scheduleId: string } | { rings: number }) {
  if (!("kind" in missed) || missed.kind !== "message") return {};
  return { referenceType: "scheduled-notifications", referenceId: missed.scheduleId } as const;
}

const CAUSE_MESSAGES: Readonly<Record<MissCause, string>> = {
  down: sentence("ring.missed-down"),
  stalled: sentence("ring.missed-stalled"),
  clock: sentence("ring.missed-clock"),
  "cut-off": sentence("ring.missed-cut-off"),
  overload: sentence("ring.missed-overload"),
};
