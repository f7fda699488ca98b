import { UpstreamError } from "../../../lib/errors.ts";
import { type Sentence, sentence } from "../../../lib/sentences/sentences.ts";
import type { MulticastAddress } from "../../../media/multicast-address-pool.ts";
import type { RenderedAudio } from "../../../media/rendered-audio.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import type { StoreReader, Transaction } from "../../../store/store.ts";
import { prepareAudio } from "../../compose/audio-rendering.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { addActivity } from "../activity-log.ts";
import { MISSED_AUDIO_SQL, UNREACHED_LEVELS_SQL } from "../delivery-state.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * Renders the audio and allocates the multicast group that phones join. Nothing here suppresses the text: failures are
 * logged in the activity log and left out.
 */
export const prepare: PipelineStage = {
  name: "prepare",
  async run(notificationId, deps) {
    const row = deps.store.get(notifications, notificationId);
    if (!row) return;
    const { renderedAudio, remarks: problems } = await prepareAudio(row, deps);
    const remarks: ActivityRemark[] = problems.map((problem) => ({ severity: "error", message: problem }));
    const address = renderedAudio && reachesPhones(deps.store, row) ? allocateAddress(row, deps, remarks) : null;
    await deps.store.write(
      (tx) => {
        storeSound(tx, row, renderedAudio, address);
        for (const details of remarks) {
          addActivity(tx, { notificationId, type: "info", endpointId: deps.endpointId(), details }, deps.by);
        }
        advanceStage(tx, notificationId, "queue");
      },
      deps.laneOf(row.priorityLevel ?? 5),
      // After a power cut it is rendered again; a remark is replicated and must be durable.
      remarks.length === 0 ? "deferred" : "immediate",
    );
  },
};

interface ActivityRemark extends Record<string, unknown> {
  severity: "error";
  message: Sentence;
}

function reachesPhones(reader: StoreReader, { pk, retriedAt }: NotificationRow): boolean {
  const found = reader.one(
    retriedAt === null
      ? `SELECT 1 FROM notification_targets t JOIN devices d ON d.pk = t.device
         WHERE t.notification = ? AND d.type = 'phones' LIMIT 1`
      : `SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones'
         AND (ended_at IS NULL OR level IN ${UNREACHED_LEVELS_SQL} OR ${MISSED_AUDIO_SQL}) LIMIT 1`,
    pk,
  );
  return found !== null;
}

/** Keeps the group of an earlier attempt: a phone may know it already. */
function allocateAddress(
  row: NotificationRow,
  deps: PipelineStageDeps,
  remarks: ActivityRemark[],
): MulticastAddress | null {
  if (row.audioGroup !== null && row.audioPort !== null) {
    const address = { group: row.audioGroup, port: row.audioPort };
    deps.addresses.claim(address);
    return address;
  }
  try {
    return deps.addresses.allocate(row.priorityLevel === 0);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    remarks.push({ severity: "error", message: sentence("activity.without-audio", { problem: error.message }) });
    return null;
  }
}

function storeSound(
  tx: Transaction,
  row: NotificationRow,
  renderedAudio: RenderedAudio | null,
  address: MulticastAddress | null,
): void {
  tx.run(
    "UPDATE notifications SET programme_sha = ?, programme_ms = ?, audio_group = ?, audio_port = ? WHERE pk = ?",
    renderedAudio?.hash ?? null,
    renderedAudio && Math.round(renderedAudio.durationMs),
    address?.group ?? null,
    address?.port ?? null,
    row.pk,
  );
}
