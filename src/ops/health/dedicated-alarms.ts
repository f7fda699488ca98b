import { asGiven } from "../../lib/sentences/sentences.ts";
import { ALARM_IDS, type AlarmType } from "../../resources/alarms/alarm-types.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthSource } from "./health.ts";

/** Code prefix of reasons that have a dedicated alarm and so must not raise the health alarm as well. */
export const DEDICATED_ALARM_PREFIX = "alarm:";

/** Dedicated alarms whose causes keep messages from devices or people. */
const REPORTED_ALARMS = [
  "speakers_unregistered",
  "silent_devices",
  "missed_bells",
  "phone_cache_update_failed",
  "onprem_delta_sync_error_event",
] as const;
const MAX_REPORTED = 50;

/** Active reasons of the dedicated alarms of this appliance: call managers, speakers, synchronization. */
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
      return {
        level: "yellow" as const,
        code: `${DEDICATED_ALARM_PREFIX}${types.get(alarm)}:${code}`,
        reason: asGiven(reason),
      };
    });
  };
}
