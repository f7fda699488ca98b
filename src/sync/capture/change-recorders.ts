import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { CapturedWrite, ChangeCapture, Transaction } from "../../store/store.ts";
import { publishWrittenRows } from "../hub/publish.ts";
import { diffRows } from "../protocol/field-merge.ts";
import { isReplicated, replicatedBody } from "../protocol/replicated-body.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { withSecretMarks } from "../protocol/secret-marks.ts";
import { isSiteEditable } from "../protocol/site-edit-permissions.ts";
import { readInitialSyncReport, releaseFromInitialSync } from "../site/initial-sync-report.ts";
import { type LocalWrite, recordLocalWrite } from "../site/local-writes.ts";
import { isInOutbox } from "../site/outbox.ts";
import { APPLIED_VERSIONS, LOCAL_EDITS } from "../site/tables.ts";
import type { SqliteProgramRunner } from "../storage/sqlite-program-runner.ts";
import {
  getRecord,
  type RowBody,
  readProductRow,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { markLedgerPending } from "./deferred-ledger-sync.ts";
import { assertSiteWritable, type IsSuperUser, isSiteLocalUserChange } from "./site-write-check.ts";

export interface ChangeRecorderDeps {
  runner: Pick<SqliteProgramRunner, "runWithin">;
  clock: Pick<Clock, "now">;
  types: ReplicatedTypes;
}

export interface SiteChangeRecorderDeps extends ChangeRecorderDeps {
  /** This appliance. */
  endpoint: string;
  /**
   * Its configuration is still being brought into the organisation; that job also picks up changes made while it runs.
   */
  isInitialSyncPending?(): boolean;
  isSuperUser: IsSuperUser;
}

/** A write in replicated form. */
interface RowChange {
  type: string;
  id: string;
  before: RowBody | null;
  after: RowBody | null;
}

/** States of an edit after which the cloud has the row, or will have it. */
const ACCEPTED_STATES: ReadonlySet<string> = new Set(["pending", "merged", "conflict"]);

/**
 * Progress and recipients of a notification are sent once it is over, from its rows.
 * @source docs/decisions/0016-notification-engine.md
 */
const DEFERRED_TYPES: ReadonlySet<string> = new Set(["deliveries", "notification-recipients"]);

/**
 * Records writes of an appliance in their own transaction, so that they are sent once there is a link. A row that the
 * cloud never had is sent as a whole. Throws OwnedByCloudError for a row that only the cloud may change.
 */
export function createSiteChangeRecorder({
  runner: work,
  clock,
  types,
  endpoint,
  isInitialSyncPending,
  isSuperUser,
}: SiteChangeRecorderDeps): ChangeCapture {
  return (written, tx, by) => {
    const change = toRowChange(written);
    if (!change || DEFERRED_TYPES.has(change.type)) return;
    const isCloudOwned = isFromCloud(change, tx);
    if (change.type === notifications.name && hasJustSettled(change)) markLedgerPending(tx, change.id, isCloudOwned);
    if (isCloudOwned) return;
    const cls = types.replicationClass(change.type);
    if (cls === "A") assertSiteWritable(written, tx, by, isSuperUser);
    // Unlocking a user with the appliance's own command is local to it.
    if (by.actor.kind !== "user" && isSiteLocalUserChange(written)) return;
    // History is never deleted in the cloud.
    if (written.resource.replicate === "D" && !change.after) return;
    const isConfiguration = cls === "A" || cls === "B";
    if (isConfiguration && !change.after) work.runWithin(tx, releaseFromInitialSync(change.type, change.id));
    if (isConfiguration && isInitialSyncPending?.()) return;
    work.runWithin(tx, record(change, isConfiguration, by.actor.userId ?? by.actor.name));
    emitAfterCommit(tx);
  };

  /** Notifications that the cloud relayed to this appliance, and their activities, are reported by the cloud. */
  function isFromCloud({ type, after, before }: RowChange, tx: Transaction): boolean {
    const row = after ?? before;
    if (type === notifications.name) return row?.initiatingEndpointId !== endpoint;
    if (type !== notificationActivities.name) return false;
    const message = tx.get(notifications, row?.notificationId as string);
    return message !== null && message.initiatingEndpointId !== endpoint;
  }

  function* record(change: RowChange, isConfiguration: boolean, actor: string): TransactionProgram<void> {
    const isKnown = !isConfiguration || (yield* isSentToCloud(change));
    if (!isKnown && !change.after) return;
    const before = isKnown ? change.before : null;
    if (!(yield* maySync({ ...change, before }, types))) return;
    const of = { actor, at: clock.now(), newId };
    yield* sendEarlierHistory(change, of);
    yield* recordLocalWrite({ ...change, ...of, before }, types);
  }

  /**
   * History of before the link is not sent, but what goes on is: an incident that was begun before goes with its next step,
   * which would wait for it in the cloud for ever.
   */
  function* sendEarlierHistory(
    { type, after }: Pick<RowChange, "type" | "after">,
    of: Pick<LocalWrite, "actor" | "at" | "newId">,
  ): TransactionProgram<void> {
    if (types.replicationClass(type) !== "D") return;
    for (const { name, to } of types.references(type)) {
      const id = after?.[name];
      if (typeof id !== "string" || types.replicationClass(to) !== "D") continue;
      const startedAt = (yield* readInitialSyncReport())?.startedAt ?? 0;
      const row = yield* readProductRow(to, id);
      if (!row || Number(row.createdAt) > startedAt || (yield* isInOutbox(to, id))) continue;
      yield* recordLocalWrite({ type: to, id, before: null, after: row, ...of }, types);
      yield* sendEarlierHistory({ type: to, after: row }, of);
    }
  }
}

/** Users that the cloud does not have, and their rows, are local to the appliance; permissions belong to the cloud. */
function* maySync({ type, before, after }: RowChange, types: ReplicatedTypes): TransactionProgram<boolean> {
  if (types.replicationClass(type) !== "A") return true;
  const edit = diffRows(before, after, types.idListFields(type));
  if (!edit || !isSiteEditable(type, before, edit)) return false;
  const { userId } = after ?? before ?? {};
  return type === "users" || (yield* isSentToCloud({ type: "users", id: String(userId) }));
}

/** Publishes writes of the cloud in its feed, in their own transaction. */
export function createHubChangeRecorder({ runner: work, clock, types }: ChangeRecorderDeps): ChangeCapture {
  return (written, tx) => {
    const change = toRowChange(written);
    if (!change) return;
    const cls = types.replicationClass(change.type);
    if (cls !== "A" && cls !== "B") return;
    const { type, id } = change;
    const body = change.after && withSecretMarks(written.resource, written.after ?? {}, change.after);
    work.runWithin(tx, publishWrittenRows([{ type, id, body, at: clock.now() }], types));
    emitAfterCommit(tx);
  };
}

/** The row came from the cloud, or was sent and not refused: it may be decided already and not have come back yet. */
export function* isSentToCloud({ type, id }: Pick<RowChange, "type" | "id">): TransactionProgram<boolean> {
  if (yield* getRecord(APPLIED_VERSIONS, type, id)) return true;
  const edits = yield* scanRecords(LOCAL_EDITS, { by: "row", where: [type, id] });
  const newest = edits.sort((a, b) => a.sequence - b.sequence).at(-1);
  return newest !== undefined && newest.edit.op !== "delete" && ACCEPTED_STATES.has(newest.state);
}

function hasJustSettled({ before, after }: RowChange): boolean {
  return typeof after?.settledAt === "number" && before?.settledAt !== after.settledAt;
}

function emitAfterCommit(tx: Transaction): void {
  tx.emit("replication.change-recorded", {});
}

function toRowChange({ resource, before, after }: CapturedWrite): RowChange | null {
  const row = after ?? before;
  if (!row || !isReplicated(resource, row)) return null;
  return {
    type: resource.name,
    id: row.id as string,
    before: before && replicatedBody(resource, before),
    after: after && replicatedBody(resource, after),
  };
}
