import { ALARM_IDS, type AlarmType } from "../resources/alarms/alarm-types.ts";
import type { Reader } from "../store/store.ts";
import type { HealthSource } from "./health.ts";

/** Begins the code of a reason that has an alarm of its own, which is not told a second time. */
export const OWN_ALARM = "alarm:";

/** Faults that have alarms of their own and keep messages from devices or people. own choice: which */
const TOLD = ["speakers_unregistered", "phone_cache_update_failed", "onprem_delta_sync_error_event"] as const;
const MOST_TOLD = 50;

/** What other alarms of this appliance are ACTIVE for: call managers, speakers, synchronisation. */
export function otherAlarms(reader: Reader, endpointId: () => string): HealthSource {
  const types = new Map<string, AlarmType>(TOLD.map((type) => [ALARM_IDS[type], type]));
  return () => {
    const lines = reader.all<{ alarm: string; code: string; reason: string }>(
      `SELECT alarm, code, reason FROM alarm_reasons
       WHERE endpoint = ? AND alarm IN (SELECT value FROM json_each(?)) ORDER BY since LIMIT ${MOST_TOLD}`,
      endpointId(),
      JSON.stringify([...types.keys()]),
    );
    return lines.map(({ alarm, code, reason }) => {
      return { level: "yellow" as const, code: `${OWN_ALARM}${types.get(alarm)}:${code}`, reason };
    });
  };
}
