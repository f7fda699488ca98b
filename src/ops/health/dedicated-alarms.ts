import { ALARM_IDS, type AlarmType } from "../../resources/alarms/alarm-types.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthSource } from "./health.ts";

/** Begins the code of a reason that has an alarm of its own, which is not told a second time. */
export const DEDICATED_ALARM_PREFIX = "alarm:";

/** Faults that have alarms of their own and keep messages from devices or people. own choice: which */
const REPORTED_ALARMS = [
  "speakers_unregistered",
  "phone_cache_update_failed",
  "onprem_delta_sync_error_event",
] as const;
const MAX_REPORTED = 50;

/** What other alarms of this appliance are ACTIVE for: call managers, speakers, synchronisation. */
export function dedicatedAlarmReasons(reader: StoreReader, endpointId: () => string): HealthSource {
  const types = new Map<string, AlarmType>(REPORTED_ALARMS.map((type) => [ALARM_IDS[type], type]));
  return () => {
    const lines = reader.all<{ alarm: string; code: string; reason: string }>(
      `SELECT alarm, code, reason FROM alarm_reasons
       WHERE endpoint = ? AND alarm IN (SELECT value FROM json_each(?)) ORDER BY since LIMIT ${MAX_REPORTED}`,
      endpointId(),
      JSON.stringify([...types.keys()]),
    );
    return lines.map(({ alarm, code, reason }) => {
      return { level: "yellow" as const, code: `${DEDICATED_ALARM_PREFIX}${types.get(alarm)}:${code}`, reason };
    });
  };
}
