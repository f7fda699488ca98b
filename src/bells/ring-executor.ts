import { UNSHARED_GROUP_ID } from "../devices/activation-groups.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { derivedId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
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

/** What ringing needs. */
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
  /** Whose turn a message is that other appliances may have as well, at `at` (epoch ms); this one's unless given. */
  duty?(notificationId: string, at: number): "go" | "wait" | "yield";
  /** True when a message would be shared out among appliances otherwise now than it was; never unless given. */
  isAssignmentOutdated?(notificationId: string): boolean;
  /** As `turn` for a group whose devices another appliance was to ring. */
  failoverDuty?(ringId: string, at: number, groupId: string): "go" | "wait" | "yield";
  /** Ends with the appliance. */
  signal: AbortSignal;
}

/** What a ring sends. */
interface RingContent {
  input: Record<string, unknown>;
  source: "bell-schedule" | "scheduled-notification";
  description: string;
  domainId: string | null;
}

/** Then it rings as it is shared out: twice rather than never. own choice */
const MAX_REASSIGNMENTS = 3;

/** Records of single rings up to this many at once, else one record of all. own choice */
const MAX_SINGLE_RECORDS = 20;

/** Stages of a message whose devices were all asked: what has no sound was shown by then. */
const DELIVERED_STAGES: ReadonlySet<string> = new Set(["collect", "settle", "settled"]);

/** Rings go out as messages that are held back until their moment. */
export function createRingExecutor(needs: RingExecutorDeps): RingExecutor {
  const { store, notificationService, log, by } = needs;
  const notificationOf = (ring: RingRow) => store.get(notifications, ring.id);
  const failoverRings = failoverRingsFor(needs);
  /** What nobody else sounds is sounded by a message of its own when others sounded the rest. */
  const unsharedGroupOf = (id: string): string[] =>
    store.one(SELECT_HAS_UNSHARED, id, UNSHARED_GROUP_ID) ? [UNSHARED_GROUP_ID] : [];
  /** Rings that others sound: what was left to them is watched on. */
  const ringsOfOtherNodes = new Set<string>();
  /** How often rings were shared out anew. */
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
      if (known?.abortedAt) return "It was called off before.";
      if (ring.kind === "clearing" || known) return null;
      const sending = ringNotificationOf(ring, store, by);
      if (!sending) return "What it was to ring is no longer there.";
      try {
        await notificationService.send(sending.input, sending.sender, sending.options);
        return null;
      } catch (error) {
        if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
        log.warn({ ringId: ring.id, reason: error.message }, "a ring has nothing to send");
        return error.message;
      }
    },
    duty(ring) {
      const { id, kind, at } = ring;
      if (kind === "clearing") return "go";
      if (needs.isAssignmentOutdated?.(id) && mayReassign(ring)) {
        // Until it is shared out anew nobody may be stood in for: that would be called off with it, and not be watched any more.
        void failoverRings?.cancel(id);
        return "replan";
      }
      failoverRings?.watch(ring);
      const turn = needs.duty?.(id, at) ?? "go";
      if (turn !== "yield") return turn;
      ringsOfOtherNodes.add(id);
      failoverRings?.add(ring, unsharedGroupOf(id));
      return { standDown: "Another appliance rang it." };
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
    recordMissed: (tx, rings, cause) => recordMissed(tx, rings, cause, needs),
  };
}

const SELECT_HAS_UNSHARED = "SELECT 1 FROM notification_failover_groups WHERE notification = ? AND cover = ?";

/** Without those that an earlier run stood in for, which is taken up by itself. */
const SELECT_DELEGATED_GROUPS = `SELECT cover FROM notification_standby_groups WHERE notification = ?
  AND cover NOT IN (SELECT cover FROM notification_failover_rings WHERE ring = ?)`;

/** Null where nobody else rings. */
function failoverRingsFor(needs: RingExecutorDeps): FailoverRings | null {
  const { store, clock, log, notificationService, by, signal, failoverDuty } = needs;
  if (!failoverDuty) return null;
  const standIns = createFailoverRings({
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
  signal.addEventListener("abort", standIns.stop);
  return standIns;
}

/** What an ended run was standing in for goes on where it is of use, and ends where it is not. */
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

/** The same message for devices alone: people were told by the ring itself. */
function devicesOnly(input: Record<string, unknown>, store: StoreReader): Record<string, unknown> {
  const { messageTemplateId, deviceGroupIds } = input;
  const named = deviceGroupIds ?? store.get(messageTemplates, messageTemplateId as string)?.deviceGroupIds ?? [];
  return { messageTemplateId, ...overrideRecipients({ deviceGroupIds: named as string[], distributionListIds: [] }) };
}

/** What a ring is sent by: its message, in whose name, and how; null when there is nothing to ring. */
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

/** The most urgent first: what comes second to a device that both want does not sound there. @source bells.md, Running */
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
    input: notificationInput(row.messageTemplateId, row),
    source: "scheduled-notification",
    description: row.name,
    domainId: row.domainId ?? null,
  };
}

/** The groups and lists that are given replace all recipients of the template. @source decisions.md 9 */
function notificationInput(
  messageTemplateId: string,
  { deviceGroupIds, distributionListIds }: RecipientOverrides,
): Record<string, unknown> {
  if (deviceGroupIds.length + distributionListIds.length === 0) return { messageTemplateId };
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

/** A ring that was missed is never silent: its row, an activity and an event say so. @source reliability.md 2.7 */
function recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause, needs: RingExecutorDeps): void {
  const reason = CAUSE_MESSAGES[cause];
  const told = rings.map(({ id, owner, kind, at, localDate, localTime }) => {
    return { ringId: id, scheduleId: owner, kind, at: new Date(at).toISOString(), localDate, localTime };
  });
  const values =
    told.length <= MAX_SINGLE_RECORDS
      ? told.map((ring) => ({ ...ring, cause, reason }))
      : [{ rings: told.length, first: told[0], last: told.at(-1), cause, reason }];
  const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: needs.endpointId() };
  for (const value of values) {
    tx.create(
      endpointActivities,
      { ...where, type: "scheduled-broadcast-skipped", severity: "error", value },
      needs.by,
    );
  }
  for (const { id, owner, at } of rings.slice(0, MAX_SINGLE_RECORDS)) {
    tx.emit("bell.missed", { ringId: id, scheduleId: owner, at });
  }
}

const CAUSE_MESSAGES: Readonly<Record<MissCause, string>> = {
  down: "The appliance was not running.",
  stalled: "The appliance stood still.",
  clock: "The clock went on past it at once: it was set forward, or the machine was suspended.",
  "cut-off": "The appliance ended at the very moment.",
  overload: "The appliance was too busy.",
};
