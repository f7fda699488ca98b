import { MISSED_AUDIO_REASONS } from "../../../../resources/notifications/missed-audio.ts";
import type { DeliveryRow, NotificationRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";

/** Numbers of phones that were reached and missed the audio, by reason. */
export function useMissedAudio(row: NotificationRow): Record<keyof typeof MISSED_AUDIO_REASONS, number> {
  return {
    asked: useCount(row, MISSED_AUDIO_REASONS.asked),
    joined: useCount(row, MISSED_AUDIO_REASONS.joined),
    partly: useCount(row, MISSED_AUDIO_REASONS.partly),
  };
}

function useCount({ id: notificationId, progress }: NotificationRow, reason: string): number {
  const { accepted = 0, playing = 0 } = progress.devices;
  const query = { late: true, reason, limit: 1 };
  const found = useRows<DeliveryRow>("notifications/{notificationId}/devices", { notificationId }, query, {
    enabled: accepted + playing > 0,
  });
  return found.data?.total ?? 0;
}
