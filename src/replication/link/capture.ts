import type { Clock } from "../../base/clock.ts";
import { newId } from "../../base/ids.ts";
import notificationActivities from "../../resources/broadcasts/notification-activities.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import type { Recorder, Transaction, Written } from "../../store/store.ts";
import { bodyOf, travels } from "../bodies.ts";
import { publishWritten } from "../hub/publish.ts";
import { editOf } from "../merge.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import { BASE, EDITS } from "../site/tables.ts";
import { isOfSite } from "../site-rights.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import { type Body, get, scan, type Work } from "../work.ts";
import { isAtOnce, requireAllowedHere } from "./owned-rows.ts";
import { markUntold } from "./told-at-end.ts";

/** What recording needs. */
export interface CaptureNeeds {
  work: Pick<SqliteWork, "within">;
  clock: Pick<Clock, "now">;
  types: ReplicatedTypes;
}

/** What recording on an appliance needs. */
export interface SiteCaptureNeeds extends CaptureNeeds {
  /** This appliance. */
  endpoint: string;
  /** Its configuration is still being brought into the organisation: who does that sees what is changed meanwhile. */
  isGrounding?(): boolean;
}

/** What was written, as it travels. */
interface Change {
  type: string;
  id: string;
  before: Body | null;
  after: Body | null;
}

/** Edits after which the cloud has the row, or will have it. */
const TAKEN: ReadonlySet<string> = new Set(["pending", "merged", "conflict"]);

/** How far a broadcast is and who was reached is told once it is over, from its rows. @source interfaces.md, Ledger levels */
const TOLD_AT_END: ReadonlySet<string> = new Set(["deliveries", "notification-recipients"]);

/**
 * Records what is written on an appliance, in the transaction that writes it, so that it goes up once there is a link. A
 * row that the cloud never had goes up whole, whatever was changed of it.
 * Throws what refuses a row that only the cloud may change.
 */
export function createSiteRecorder({ work, clock, types, endpoint, isGrounding }: SiteCaptureNeeds): Recorder {
  return (written, tx, by) => {
    const change = changeOf(written);
    if (!change || TOLD_AT_END.has(change.type)) return;
    const isTheirs = isOfCloud(change, tx);
    if (change.type === notifications.name && justSettled(change)) markUntold(tx, change.id, isTheirs);
    if (isTheirs) return;
    const cls = types.classOf(change.type);
    if (cls === "A") requireAllowedHere(written, by);
    // Whoever unlocks somebody at the appliance itself does so there alone.
    if (by.actor.kind !== "user" && isAtOnce(written)) return;
    // What was true once stays so in the cloud's history.
    if (written.resource.replicate === "D" && !change.after) return;
    const isConfiguration = cls === "A" || cls === "B";
    if (isConfiguration && isGrounding?.()) return;
    work.within(tx, record(change, isConfiguration, by.actor.userId ?? by.actor.name));
    tellAfterCommit(tx);
  };

  /** A message that the cloud had carried out here is the cloud's to tell of. */
  function isOfCloud({ type, after, before }: Change, tx: Transaction): boolean {
    const row = after ?? before;
    if (type === notifications.name) return row?.initiatingEndpointId !== endpoint;
    if (type !== notificationActivities.name) return false;
    const message = tx.get(notifications, row?.notificationId as string);
    return message !== null && message.initiatingEndpointId !== endpoint;
  }

  function* record(change: Change, isConfiguration: boolean, actor: string): Work<void> {
    const isKnown = !isConfiguration || (yield* isKnownToCloud(change));
    if (!isKnown && !change.after) return;
    const before = isKnown ? change.before : null;
    if (!(yield* mayGoUp({ ...change, before }, types))) return;
    const of = { actor, at: clock.now(), newId };
    yield* recordLocalWrite({ ...change, ...of, before }, types);
  }
}

/** Users that the cloud does not have, and what is theirs, are the appliance's own; rights are the cloud's. */
function* mayGoUp({ type, before, after }: Change, types: ReplicatedTypes): Work<boolean> {
  if (types.classOf(type) !== "A") return true;
  const edit = editOf(before, after, types.idLists(type));
  if (!edit || !isOfSite(type, before, edit)) return false;
  const { userId } = after ?? before ?? {};
  return type === "users" || (yield* isKnownToCloud({ type: "users", id: String(userId) }));
}

/** Enters what is written at the cloud into its feed, in the transaction that writes it. */
export function createHubRecorder({ work, clock, types }: CaptureNeeds): Recorder {
  return (written, tx) => {
    const change = changeOf(written);
    if (!change) return;
    const cls = types.classOf(change.type);
    if (cls !== "A" && cls !== "B") return;
    const { type, id, after } = change;
    work.within(tx, publishWritten([{ type, id, body: after, scope: null, at: clock.now() }], types));
    tellAfterCommit(tx);
  };
}

/** It came from there, or was sent there and not refused: it may be decided already and not have come back yet. */
function* isKnownToCloud({ type, id }: Pick<Change, "type" | "id">): Work<boolean> {
  if (yield* get(BASE, type, id)) return true;
  const edits = yield* scan(EDITS, { by: "row", where: [type, id] });
  const newest = edits.sort((a, b) => a.oseq - b.oseq).at(-1);
  return newest !== undefined && newest.edit.op !== "delete" && TAKEN.has(newest.state);
}

function justSettled({ before, after }: Change): boolean {
  return typeof after?.settledAt === "number" && before?.settledAt !== after.settledAt;
}

function tellAfterCommit(tx: Transaction): void {
  tx.emit("replication.recorded", {});
}

function changeOf({ resource, before, after }: Written): Change | null {
  const row = after ?? before;
  if (!row || !travels(resource, row)) return null;
  return {
    type: resource.name,
    id: row.id as string,
    before: before && bodyOf(resource, before),
    after: after && bodyOf(resource, after),
  };
}
