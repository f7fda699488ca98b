import { UpstreamError } from "../../../lib/errors.ts";
import type { MulticastAddress } from "../../../media/multicast-address-pool.ts";
import type { RenderedAudio } from "../../../media/rendered-audio.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import type { StoreReader, Transaction } from "../../../store/store.ts";
import { prepareAudio, WITHOUT_SOUND_SUFFIX } from "../../compose/audio-rendering.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { addActivity } from "../activity-log.ts";
import { UNREACHED_LEVELS_SQL } from "../delivery-state.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * Makes what is heard and lends the group that phones join. Nothing here silences the text: what fails is written into
 * the diary and left out.
 */
export const prepare: PipelineStage = {
  name: "prepare",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    const { programme, faults } = await prepareAudio(row, needs);
    const remarks: ActivityRemark[] = faults.map((fault) => ({ severity: "error", message: fault }));
    const address = programme && reachesPhones(needs.store, row) ? allocateAddress(row, needs, remarks) : null;
    await needs.store.write(
      (tx) => {
        storeSound(tx, row, programme, address);
        for (const details of remarks) {
          addActivity(tx, { notificationId, type: "info", endpointId: needs.endpointId(), details }, needs.by);
        }
        advanceStage(tx, notificationId, "queue");
      },
      needs.laneOf(row.priorityLevel ?? 5),
      // It is made again after a cut; a remark goes up, and stays.
      remarks.length === 0 ? "deferred" : "immediate",
    );
  },
};

interface ActivityRemark extends Record<string, unknown> {
  severity: "error";
  message: string;
}

function reachesPhones(reader: StoreReader, { pk, retriedAt }: NotificationRow): boolean {
  const found = reader.one(
    retriedAt === null
      ? `SELECT 1 FROM notification_targets t JOIN devices d ON d.pk = t.device
         WHERE t.notification = ? AND d.type = 'phones' LIMIT 1`
      : `SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones'
         AND (ended_at IS NULL OR level IN ${UNREACHED_LEVELS_SQL}) LIMIT 1`,
    pk,
  );
  return found !== null;
}

/** The group of an earlier try is kept: a phone may have been told of it. */
function allocateAddress(
  row: NotificationRow,
  needs: PipelineStageDeps,
  remarks: ActivityRemark[],
): MulticastAddress | null {
  if (row.audioGroup !== null && row.audioPort !== null) {
    const address = { group: row.audioGroup, port: row.audioPort };
    needs.addresses.claim(address);
    return address;
  }
  try {
    return needs.addresses.allocate(row.priorityLevel === 0);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    remarks.push({ severity: "error", message: `${error.message} ${WITHOUT_SOUND_SUFFIX}` });
    return null;
  }
}

function storeSound(
  tx: Transaction,
  row: NotificationRow,
  programme: RenderedAudio | null,
  address: MulticastAddress | null,
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
