import { sentence } from "../lib/sentences/sentences.ts";
import { silentDevices, troubledBells } from "../ops/health/audibility.ts";
import { DEDICATED_ALARM_PREFIX } from "../ops/health/dedicated-alarms.ts";
import type { HealthMonitor } from "../ops/health/health.ts";
import { ALARM_IDS, ALARM_THRESHOLDS, type AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import { REFUSED_LOGINS_SQL, TRUST_CHANGES_SQL } from "../resources/security/audit-entries.ts";
import type { StoreReader } from "../store/store.ts";
import type { AlarmThreshold } from "./alarm-hooks.ts";
import type { ObservedReason } from "./hold-off.ts";

/** A finding at an appliance, and its alarm. */
export interface AlarmFinding extends ObservedReason {
  alarm: AlarmType;
  endpointId: string;
}

/** Finds current problems in stored rows and reported faults; what it does not return counts as resolved. */
export interface AlarmDetector {
  alarms: readonly AlarmType[];
  /** Interval of the detector; findings are kept until its next run. */
  everyMs: number;
  find(now: number): AlarmFinding[];
}

export interface DetectorDeps {
  reader: StoreReader;
  health: Pick<HealthMonitor, "report">;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

const SHORT_INTERVAL_MS = 5_000;
const LONG_INTERVAL_MS = 30_000;
/** Warn this long before a token expires. @source docs/decisions/0013-other-resources.md, Alarms */
const TOKEN_EXPIRY_WARNING_MS = 14 * 24 * 3_600_000;
/** Refused log-ins and credentials of this time are counted. @source docs/decisions/0485-audit-entries.md */
const ATTACK_WINDOW_MS = 15 * 60_000;
/** Wrong PINs of one telephone number within this time that are an alarm. */
const MIN_PIN_GUESSES = 10;
/** How long a change of trust is an alarm. @source docs/decisions/0401-permission-rules.md, Trust */
const TRUST_CHANGE_SHOWN_MS = 24 * 3_600_000;
/** Hysteresis, as a fraction of the threshold. @source docs/decisions/0203-alarms-and-inputs.md, Alarms */
const CLEAR_MARGIN = 0.1;
/** Most findings per detector. @source docs/decisions/0203-alarms-and-inputs.md, Alarms */
const MAX_FINDINGS = 200;
const MAX_NAMED_PLACES = 5;

export function createDetectors(deps: DetectorDeps): AlarmDetector[] {
  const detectors: [AlarmDetector["alarms"], number, (now: number, deps: DetectorDeps) => AlarmFinding[]][] = [
    [["onprem_server_red", "onprem_server_yellow"], SHORT_INTERVAL_MS, detectHealthReasons],
    [["sis_loader_failed"], SHORT_INTERVAL_MS, detectFailedImports],
    [["scenario_device_resolution_failed"], SHORT_INTERVAL_MS, detectUnknownDevices],
    [["speakers_unregistered"], LONG_INTERVAL_MS, detectUnregisteredSpeakers],
    [["silent_devices"], LONG_INTERVAL_MS, detectSilentDevices],
    [["missed_bells"], LONG_INTERVAL_MS, detectMissedBells],
    [["security_change"], LONG_INTERVAL_MS, detectTrustChanges],
    [["login_attack"], LONG_INTERVAL_MS, detectLoginAttack],
    [["token_expiration"], LONG_INTERVAL_MS, detectExpiringTokens],
    [
      ["license_violation", "phone_cache_update_failed", "onprem_delta_sync_error_event"],
      SHORT_INTERVAL_MS,
      detectReportedFaults,
    ],
  ];
  return detectors.map(([kinds, everyMs, find]) => ({ alarms: kinds, everyMs, find: (now) => find(now, deps) }));
}

/** Health reasons of this appliance, except those with an alarm of their own. */
function detectHealthReasons(_now: number, { health, endpointId }: DetectorDeps): AlarmFinding[] {
  const endpoint = endpointId();
  const reasons = health.report().reasons.filter(({ code }) => !code.startsWith(DEDICATED_ALARM_PREFIX));
  return reasons.map(({ level, code, reason }) => ({
    alarm: level === "red" ? "onprem_server_red" : "onprem_server_yellow",
    ...{ endpointId: endpoint, code, reason },
  }));
}

/** Load definitions whose last run failed or was stopped, until a run succeeds. */
function detectFailedImports(_now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ id: string; name: string; state: string; reason: string | null }>(
    `SELECT d.id, d.name, r.state, r.reason FROM load_definitions d JOIN load_runs r ON r.pk =
       (SELECT MAX(x.pk) FROM load_runs x WHERE x.load_definition_pk = d.pk AND x.dry_run IS NOT 1
        AND x.state IN ('complete', 'failed', 'stopped'))
     WHERE r.state <> 'complete' ORDER BY d.pk LIMIT ${MAX_FINDINGS}`,
  );
  const endpoint = endpointId();
  return lines.map(({ id, name, state, reason }) => {
    const [plain, because] =
      state === "failed"
        ? (["alarm.load-failed", "alarm.load-failed-because"] as const)
        : (["alarm.load-stopped", "alarm.load-stopped-because"] as const);
    const message = reason === null ? sentence(plain, { name }) : sentence(because, { name, reason });
    return { alarm: "sis_loader_failed", endpointId: endpoint, code: id, reason: message, certain: true };
  });
}

/** Name of the watermark up to which starts by unknown devices are dismissed. */
export const UNKNOWN_DEVICES_WATERMARK = "scenario_unknown_devices";

/** Unregistered devices that started a scenario, until they are registered or the alarm is dismissed. */
function detectUnknownDevices(_now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ scenario: string; name: string; device: string }>(
    `SELECT scenario_id AS scenario, scenario_name AS name, external_id AS device FROM scenario_unknown_devices
     WHERE seq > COALESCE((SELECT seq FROM alarm_watermarks WHERE name = '${UNKNOWN_DEVICES_WATERMARK}'), 0)
       AND NOT EXISTS (SELECT 1 FROM api_devices a WHERE a.external_id = scenario_unknown_devices.external_id)
     GROUP BY scenario_id, external_id ORDER BY MIN(seq) LIMIT ${MAX_FINDINGS}`,
  );
  const endpoint = endpointId();
  return lines.map(({ scenario, name, device }) => ({
    alarm: "scenario_device_resolution_failed",
    endpointId: endpoint,
    code: `${scenario} ${device}`,
    reason: sentence("alarm.unknown-device", { name, device }),
    scenario: { id: scenario, name },
    certain: true,
  }));
}

/**
 * Appliances with more unregistered speakers than the threshold. Speakers that report no registration state, such as
 * multicast zones, and speakers that are not configured do not count. With hysteresis: the alarm clears once a tenth of the
 * threshold fewer are missing, so that a speaker that flaps at the threshold raises it once.
 * @source docs/decisions/0013-other-resources.md, Alarms
 */
function detectUnregisteredSpeakers(_now: number, { reader }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ endpoint: string; missing: number }>(
    `SELECT e.id AS endpoint, COUNT(*) AS missing FROM devices d JOIN endpoints e ON e.pk = d.endpoint_pk
     WHERE d.type = 'speakers' AND d.defunct IS NOT 1
       AND LOWER(COALESCE(d.attributes ->> 'IsRegistered', d.attributes ->> 'IsRegisteredSip')) = 'false'
       AND LOWER(COALESCE(d.attributes ->> 'IsConfigured', 'true')) <> 'false'
     GROUP BY e.pk`,
  );
  const exceeds = thresholdOf("speakers_unregistered", reader);
  return lines.flatMap(({ endpoint, missing }) => {
    const threshold = exceeds(endpoint, missing);
    if (threshold === null) return [];
    const reason = sentence("alarm.speakers-unregistered", { count: missing, threshold });
    return [{ alarm: "speakers_unregistered", endpointId: endpoint, code: "speakers", reason }];
  });
}

/**
 * Compares with an appliance's threshold; returns it where it is exceeded, else null. A raised alarm clears a tenth of
 * the threshold lower, so that a device that flaps at the threshold raises it once.
 */
function thresholdOf(type: AlarmType, reader: StoreReader): (endpointId: string, value: number) => number | null {
  const alarm = reader.get(alarms, ALARM_IDS[type]);
  const allowed = new Map(
    ((alarm?.alarmThresholds ?? []) as AlarmThreshold[]).map((each) => [each.endpointId, Number(each.threshold)]),
  );
  const isRaised = (endpoint: string): boolean =>
    reader.one("SELECT 1 FROM alarm_reasons WHERE alarm = ? AND endpoint = ?", ALARM_IDS[type], endpoint) !== null;
  return (endpoint, value) => {
    const threshold = allowed.get(endpoint) ?? ALARM_THRESHOLDS[type]?.default ?? 0;
    const margin = isRaised(endpoint) ? Math.floor(threshold * CLEAR_MARGIN) : 0;
    return value > threshold - margin ? threshold : null;
  };
}

/** Appliances with too large a share of devices that do not respond; names the places with the most. */
function detectSilentDevices(_now: number, { reader }: DetectorDeps): AlarmFinding[] {
  const exceeds = thresholdOf("silent_devices", reader);
  return silentDevices(reader).flatMap(({ endpointId, silent, total, places }) => {
    const percent = Math.floor((100 * silent) / total);
    const threshold = exceeds(endpointId, (100 * silent) / total);
    if (threshold === null) return [];
    const named = places.slice(0, MAX_NAMED_PLACES).map(({ place, count }) => `${place ?? "no place"} ${count}`);
    const more = places.length > MAX_NAMED_PLACES ? ", …" : "";
    const reason = sentence("alarm.devices-silent", {
      ...{ silent, total, percent, threshold },
      places: `${named.join(", ")}${more}`,
    });
    return [{ alarm: "silent_devices", endpointId, code: "devices", reason }];
  });
}

/** Bells of the last day that people did not hear as planned. */
function detectMissedBells(now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const endpoint = endpointId();
  const { missed, late, unheard, devices } = troubledBells(reader, now);
  const bells = missed + late + unheard;
  const threshold = thresholdOf("missed_bells", reader)(endpoint, bells);
  if (threshold === null) return [];
  const parts = [
    missed > 0 ? sentence("alarm.bells-missed", { bells: missed }) : "",
    late > 0 ? sentence("alarm.bells-late", { bells: late }) : "",
    unheard > 0 && devices === 1 ? sentence("alarm.bells-unheard-one", { bells: unheard }) : "",
    unheard > 0 && devices !== 1 ? sentence("alarm.bells-unheard", { bells: unheard, devices }) : "",
  ].filter(Boolean);
  const reason = sentence("alarm.bells-troubled", { bells: parts.join(", "), threshold });
  return [{ alarm: "missed_bells", endpointId: endpoint, code: "bells", reason }];
}

/** Changes of the last day of whom the appliance trusts and of the highest rights. */
function detectTrustChanges(now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ id: string; who: string; details: string | null }>(
    `SELECT id, actor_name AS who, details FROM audit_entries
     WHERE ${TRUST_CHANGES_SQL} AND created_at > ? ORDER BY created_at DESC, pk DESC LIMIT ${MAX_FINDINGS}`,
    now - TRUST_CHANGE_SHOWN_MS,
  );
  const endpoint = endpointId();
  return lines.map(({ id, who, details }) => {
    const { change, request } = JSON.parse(details ?? "{}") as { change?: string; request?: string };
    const reason = `${who}: ${change ?? request ?? "change"}`;
    return { alarm: "security_change" as const, endpointId: endpoint, code: id, reason, certain: true };
  });
}

/** Many wrong passwords, codes or tokens: somebody guesses. Throttled attempts are summed up in the audit. */
function detectLoginAttack(now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const endpoint = endpointId();
  const counted = reader.one<{ attempts: number }>(
    `SELECT COALESCE(SUM(COALESCE(details ->> '$.count', 1)), 0) AS attempts FROM audit_entries
     WHERE ${REFUSED_LOGINS_SQL} AND created_at > ?`,
    now - ATTACK_WINDOW_MS,
  );
  const threshold = thresholdOf("login_attack", reader)(endpoint, counted?.attempts ?? 0);
  const pins = detectPinGuesses(now, reader).map((finding) => ({ ...finding, endpointId: endpoint }));
  if (threshold === null) return pins;
  const reason = sentence("alarm.login-attack", { threshold });
  return [{ alarm: "login_attack", endpointId: endpoint, code: "log-ins", reason, certain: true }, ...pins];
}

/** Telephone numbers whose PIN is being guessed: of ten thousand PINs far fewer tries are many than of passwords. */
function detectPinGuesses(now: number, reader: StoreReader): Omit<AlarmFinding, "endpointId">[] {
  const guessed = reader.all<{ id: string; name: string }>(
    `SELECT d.id, d.name FROM audit_entries a JOIN dialcast_dialing_configurations d ON d.id = a.row_id
     WHERE a.${REFUSED_LOGINS_SQL} AND a.created_at > ? GROUP BY d.pk HAVING COUNT(*) >= ${MIN_PIN_GUESSES}
     ORDER BY d.pk LIMIT ${MAX_FINDINGS}`,
    now - ATTACK_WINDOW_MS,
  );
  return guessed.map(({ id, name }) => ({
    alarm: "login_attack",
    code: `pin ${id}`,
    reason: sentence("alarm.pin-guesses", { name, threshold: MIN_PIN_GUESSES }),
    certain: true,
  }));
}

/** Permanent tokens that expire soon. */
function detectExpiringTokens(now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ id: string; name: string; expires: number; owner: string | null }>(
    `SELECT t.id, t.name, t.expires, u.email AS owner FROM user_tokens t JOIN users u ON u.pk = t.user_pk
     WHERE t.kind = 'permanent' AND t.expires > ? AND t.expires <= ? ORDER BY t.expires LIMIT ${MAX_FINDINGS}`,
    now,
    now + TOKEN_EXPIRY_WARNING_MS,
  );
  const endpoint = endpointId();
  return lines.map(({ id, name, expires, owner }) => {
    const day = new Date(expires).toISOString().slice(0, 10);
    const reason = sentence("alarm.token-expires", {
      ...{ name, date: day },
      owner: owner ?? sentence("alarm.token-without-owner"),
    });
    return { alarm: "token_expiration", endpointId: endpoint, code: id, reason, certain: true };
  });
}

/** Faults that other modules reported with `fault.changed`. */
function detectReportedFaults(_now: number, { reader }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ alarm: AlarmType; endpoint: string; code: string; reason: string }>(
    `SELECT alarm, endpoint, code, reason FROM alarm_reported_faults ORDER BY at, code LIMIT ${MAX_FINDINGS}`,
  );
  return lines.map(({ alarm, endpoint, code, reason }) => ({ alarm, endpointId: endpoint, code, reason }));
}
