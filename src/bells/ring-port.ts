import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import { derivedId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster, SendOptions } from "../broadcast/broadcaster.ts";
import { sendingProfileOf } from "../broadcast/sending-profile.ts";
import { ALONE } from "../devices/activation-groups.ts";
import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { By, Reader, Store, Transaction } from "../store/store.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { MissCause, RingRow } from "./ring-book.ts";
import { createStandIns, type StandIns } from "./stand-ins.ts";
import type { RingPort } from "./ticker.ts";

/** What ringing needs. */
export interface RingPortNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  broadcaster: Pick<Broadcaster, "send" | "release" | "begin" | "discard" | "abort" | "clearDevices">;
  by: By;
  endpointId(): string;
  /** Whose turn a message is that other appliances may have as well, at `at` (epoch ms); this one's unless given. */
  turn?(notificationId: string, at: number): "go" | "wait" | "stand-down";
  /** True when a message would be shared out among appliances otherwise now than it was; never unless given. */
  isStale?(notificationId: string): boolean;
  /** As `turn` for a group whose devices another appliance was to ring. */
  standInTurn?(ringId: string, at: number, groupId: string): "go" | "wait" | "stand-down";
  /** Ends with the appliance. */
  signal: AbortSignal;
}

/** What a ring sends. */
interface Content {
  input: Record<string, unknown>;
  source: "bell-schedule" | "scheduled-notification";
  description: string;
  domainId: string | null;
}

/** Then it rings as it is shared out: twice rather than never. own choice */
const MOST_ANEW = 3;

/** Records of single rings up to this many at once, else one record of all. own choice */
const MOST_TOLD = 20;

/** Stages of a message whose devices were all asked: what has no sound was shown by then. */
const HANDED_OVER: ReadonlySet<string> = new Set(["collect", "settle", "settled"]);

/** Rings go out as messages that are held back until their moment. */
export function createRingPort(needs: RingPortNeeds): RingPort {
  const { store, broadcaster, log, by } = needs;
  const messageOf = (ring: RingRow) => store.get(notifications, ring.id);
  const standIns = standInsFor(needs);
  /** What nobody else sounds is sounded by a message of its own when others sounded the rest. */
  const aloneIn = (id: string): string[] => (store.one(COVERS_ALONE, id, ALONE) ? [ALONE] : []);
  /** Rings that others sound: what was left to them is watched on. */
  const others = new Set<string>();
  /** How often rings were shared out anew. */
  const anew = new Map<string, number>();
  const mayBeMadeAnew = ({ id, asked }: RingRow): boolean => {
    const times = anew.get(id) ?? 0;
    if (asked !== 0 || times >= MOST_ANEW || standIns?.hasStoodIn(id)) return false;
    anew.set(id, times + 1);
    return true;
  };
  return {
    async prepare(ring) {
      const known = messageOf(ring);
      if (known?.abortedAt) return "It was called off before.";
      if (ring.kind === "clearing" || known) return null;
      const sending = sendingOf(ring, store, by);
      if (!sending) return "What it was to ring is no longer there.";
      try {
        await broadcaster.send(sending.input, sending.sender, sending.options);
        return null;
      } catch (error) {
        if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
        log.warn({ ringId: ring.id, reason: error.message }, "a ring has nothing to send");
        return error.message;
      }
    },
    turn(ring) {
      const { id, kind, at } = ring;
      if (kind === "clearing") return "go";
      if (needs.isStale?.(id) && mayBeMadeAnew(ring)) {
        // Until it is shared out anew nobody may be stood in for: that would be called off with it, and not be watched any more.
        void standIns?.forget(id);
        return "anew";
      }
      standIns?.watch(ring);
      const turn = needs.turn?.(id, at) ?? "go";
      if (turn !== "stand-down") return turn;
      others.add(id);
      standIns?.add(ring, aloneIn(id));
      return { standDown: "Another appliance rang it." };
    },
    arm(rings) {
      const ranked = rings.map((ring) => ({ ring, rank: rankOf(ring, store) }));
      ranked.sort((a, b) => a.rank - b.rank || (a.ring.id < b.ring.id ? -1 : 1));
      for (const { ring } of ranked) if (ring.kind !== "clearing") broadcaster.release(ring.id);
    },
    begin(rings) {
      for (const { kind, id, at } of rings) {
        if (kind === "clearing") broadcaster.clearDevices();
        else broadcaster.begin(id, at);
      }
    },
    async withdraw(ring) {
      if (!others.delete(ring.id)) await standIns?.forget(ring.id);
      const message = messageOf(ring);
      if (!message) return;
      if (ring.asked === 0) await broadcaster.discard(ring.id);
      else await broadcaster.abort(ring.id, by);
    },
    hasBegun(ring) {
      if (ring.kind === "clearing") return true;
      const message = messageOf(ring);
      if (!message) return false;
      return message.t0 !== null || (message.programmeSha === null && HANDED_OVER.has(message.stage ?? ""));
    },
    recordMissed: (tx, rings, cause) => recordMissed(tx, rings, cause, needs),
  };
}

const COVERS_ALONE = "SELECT 1 FROM broadcast_covered WHERE notification = ? AND cover = ?";

/** Without those that an earlier run stood in for, which is taken up by itself. */
const LEFT = `SELECT cover FROM broadcast_left WHERE notification = ?
  AND cover NOT IN (SELECT cover FROM broadcast_stand_ins WHERE ring = ?)`;

/** Null where nobody else rings. */
function standInsFor(needs: RingPortNeeds): StandIns | null {
  const { store, clock, log, broadcaster, by, signal, standInTurn } = needs;
  if (!standInTurn) return null;
  const standIns = createStandIns({
    clock,
    log,
    left: ({ id }) => store.all<{ cover: string }>(LEFT, id, id).map(({ cover }) => cover),
    turn: ({ id, at }, groupId) => standInTurn(id, at, groupId),
    async send(ring, groups) {
      const id = derivedId(ring.id, "stand-in", ...groups.toSorted());
      const sending = sendingOf(ring, store, by);
      if (!sending?.options.held) return null;
      const { input, sender, options } = sending;
      const held = { ...sending.options.held, id, standsIn: { ring: ring.id, groups } };
      if (!store.get(notifications, id)) await broadcaster.send(forDevices(input, store), sender, { ...options, held });
      broadcaster.release(id);
      broadcaster.begin(id, ring.at);
      return id;
    },
    callOff: async (id) => void (await broadcaster.abort(id, by)),
  });
  signal.addEventListener("abort", standIns.stop);
  return standIns;
}

/** What an ended run was standing in for goes on where it is of use, and ends where it is not. */
export async function resumeStandIns({ store, clock, broadcaster, by }: RingPortNeeds): Promise<void> {
  const left = store.all<{ id: string; at: number }>(
    `SELECT DISTINCT n.id, n.held_until AS at FROM broadcast_stand_ins s JOIN notifications n ON n.id = s.notification
     WHERE n.t0 IS NULL AND n.stage <> 'settled'`,
  );
  for (const { id, at } of left) {
    if (clock.now() - at > LATE_LIMIT_MS) await broadcaster.abort(id, by);
    else {
      broadcaster.release(id);
      broadcaster.begin(id, at);
    }
  }
}

/** The same message for devices alone: people were told by the ring itself. */
function forDevices(input: Record<string, unknown>, store: Reader): Record<string, unknown> {
  const { messageTemplateId, deviceGroupIds } = input;
  const named = deviceGroupIds ?? store.get(messageTemplates, messageTemplateId as string)?.deviceGroupIds ?? [];
  return { messageTemplateId, ...insteadOf({ deviceGroupIds: named as string[], distributionListIds: [] }) };
}

/** What a ring is sent by: its message, in whose name, and how; null when there is nothing to ring. */
export function sendingOf(
  ring: Pick<RingRow, "id" | "at" | "kind" | "owner" | "ringListId" | "entryId">,
  store: Reader,
  by: By,
): { input: Record<string, unknown>; sender: By; options: SendOptions } | null {
  const content = ring.kind === "bell" ? bellOf(ring, store) : messageToSend(ring, store);
  if (!content) return null;
  const held = { id: ring.id, at: ring.at, usefulMs: LATE_LIMIT_MS, description: content.description };
  const sender: By = { actor: by.actor, scope: homeIn(by, content.domainId) };
  return { input: content.input, sender, options: { source: content.source, overrules: true, held } };
}

/** The most urgent first: what comes second to a device that both want does not sound there. @source bells.md, Running */
function rankOf({ id }: RingRow, store: Store): number {
  const message = store.get(notifications, id);
  return message ? (message.priorityLevel ?? 5) * 1_000 + (sendingProfileOf(message).priority ?? 5) : 0;
}

function bellOf(ring: Pick<RingRow, "owner" | "ringListId" | "entryId">, store: Reader): Content | null {
  const schedule = store.get(bellSchedules, ring.owner);
  const list = ring.ringListId ? store.get(ringLists, ring.ringListId) : null;
  const entry = (list?.entries as RingListEntry[] | undefined)?.find(({ id }) => id === ring.entryId);
  if (!schedule || !entry) return null;
  return {
    input: inputOf(entry.messageTemplateId, entry),
    source: "bell-schedule",
    description: schedule.name,
    domainId: schedule.domainId ?? null,
  };
}

function messageToSend(ring: Pick<RingRow, "owner">, store: Reader): Content | null {
  const row = store.get(scheduledNotifications, ring.owner);
  if (!row || row.disabled) return null;
  return {
    input: inputOf(row.messageTemplateId, row),
    source: "scheduled-notification",
    description: row.name,
    domainId: row.domainId ?? null,
  };
}

/** The groups and lists that are given replace all recipients of the template. @source decisions.md 9 */
function inputOf(messageTemplateId: string, { deviceGroupIds, distributionListIds }: Meant): Record<string, unknown> {
  if (deviceGroupIds.length + distributionListIds.length === 0) return { messageTemplateId };
  return { messageTemplateId, ...insteadOf({ deviceGroupIds, distributionListIds }) };
}

interface Meant {
  deviceGroupIds: readonly string[];
  distributionListIds: readonly string[];
}

function insteadOf({ deviceGroupIds, distributionListIds }: Meant): Record<string, readonly string[]> {
  return { deviceGroupIds, distributionListIds, userIds: [], areaOfInterestIds: [], collaborationGroupIds: [] };
}

function homeIn({ scope }: By, domainId: string | null): By["scope"] {
  return domainId === null ? scope : { ...scope, domainId };
}

/** A ring that was missed is never silent: its row, an activity and an event say so. @source reliability.md 2.7 */
function recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause, needs: RingPortNeeds): void {
  const reason = CAUSES[cause];
  const told = rings.map(({ id, owner, kind, at, localDate, localTime }) => {
    return { ringId: id, scheduleId: owner, kind, at: new Date(at).toISOString(), localDate, localTime };
  });
  const values =
    told.length <= MOST_TOLD
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
  for (const { id, owner, at } of rings.slice(0, MOST_TOLD)) {
    tx.emit("bell.missed", { ringId: id, scheduleId: owner, at });
  }
}

const CAUSES: Readonly<Record<MissCause, string>> = {
  down: "The appliance was not running.",
  stalled: "The appliance stood still.",
  clock: "The clock went on past it at once: it was set forward, or the machine was suspended.",
  "cut-off": "The appliance ended at the very moment.",
  overload: "The appliance was too busy.",
};
