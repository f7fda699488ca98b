import type { StreamAddress } from "../../audio/address-pool.ts";
import type { Programme } from "../../audio/programme.ts";
import { UpstreamError } from "../../base/errors.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import type { Reader, Transaction } from "../../store/store.ts";
import { addActivity } from "../activities.ts";
import type { NotificationRow } from "../compose.ts";
import { NO_SOUND, prepareSound } from "../programme.ts";
import { NOT_REACHED } from "../proof.ts";
import { advance, type Stage, type StageNeeds } from "../stage.ts";

/**
 * Makes what is heard and lends the group that phones join. Nothing here silences the text: what fails is written into
 * the diary and left out.
 */
export const prepare: Stage = {
  name: "prepare",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    const { programme, faults } = await prepareSound(row, needs);
    const remarks: Remark[] = faults.map((fault) => ({ severity: "error", message: fault }));
    const address = programme && reachesPhones(needs.store, row) ? lendAddress(row, needs, remarks) : null;
    await needs.store.write(
      (tx) => {
        storeSound(tx, row, programme, address);
        for (const details of remarks) {
          addActivity(tx, { notificationId, type: "info", endpointId: needs.endpointId(), details }, needs.by);
        }
        advance(tx, notificationId, "queue");
      },
      needs.laneOf(row.priorityLevel ?? 5),
      // It is made again after a cut; a remark goes up, and stays.
      remarks.length === 0 ? "with-next" : "at-once",
    );
  },
};

interface Remark extends Record<string, unknown> {
  severity: "error";
  message: string;
}

function reachesPhones(reader: Reader, { pk, retriedAt }: NotificationRow): boolean {
  const found = reader.one(
    retriedAt === null
      ? `SELECT 1 FROM broadcast_targets t JOIN devices d ON d.pk = t.device
         WHERE t.notification = ? AND d.type = 'phones' LIMIT 1`
      : `SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones'
         AND (ended_at IS NULL OR level IN ${NOT_REACHED}) LIMIT 1`,
    pk,
  );
  return found !== null;
}

/** The group of an earlier try is kept: a phone may have been told of it. */
function lendAddress(row: NotificationRow, needs: StageNeeds, remarks: Remark[]): StreamAddress | null {
  if (row.audioGroup !== null && row.audioPort !== null) {
    const address = { group: row.audioGroup, port: row.audioPort };
    needs.addresses.claim(address);
    return address;
  }
  try {
    return needs.addresses.allocate(row.priorityLevel === 0);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    remarks.push({ severity: "error", message: `${error.message} ${NO_SOUND}` });
    return null;
  }
}

function storeSound(
  tx: Transaction,
  row: NotificationRow,
  programme: Programme | null,
  address: StreamAddress | null,
): void {
  tx.run(
    "UPDATE notifications SET programme_sha = ?, programme_ms = ?, audio_group = ?, audio_port = ? WHERE pk = ?",
    programme?.hash ?? null,
    programme && Math.round(programme.durationMs),
    address?.group ?? null,
    address?.port ?? null,
    row.pk,
  );
}
