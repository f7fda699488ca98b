import { DEDICATED_ALARM_PREFIX } from "../ops/health/dedicated-alarms.ts";
import type { HealthMonitor } from "../ops/health/health.ts";
import { ALARM_IDS, type AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { StoreReader } from "../store/store.ts";
import type { AlarmThreshold } from "./alarm-hooks.ts";
import type { ObservedReason } from "./hold-off.ts";

/** Something wrong at an appliance, and the alarm that it is for. */
export interface AlarmFinding extends ObservedReason {
  alarm: AlarmType;
  endpointId: string;
}

/** Looks for what is wrong now, as far as rows and rooms show it; what it does not find is not wrong. */
export interface AlarmDetector {
  alarms: readonly AlarmType[];
  /** How often it looks; findings stand until then. */
  everyMs: number;
  find(now: number): AlarmFinding[];
}

/** What the detectors look at. */
export interface DetectorDeps {
  reader: StoreReader;
  health: Pick<HealthMonitor, "report">;
  /** This appliance's endpoint. */
  endpointId(): string;
}

const SHORT_INTERVAL_MS = 5_000;
const LONG_INTERVAL_MS = 30_000;
/** A token that expires so soon is told. @source decisions.md 13 */
const TOKEN_EXPIRY_WARNING_MS = 14 * 24 * 3_600_000;
/** Of a threshold. own choice */
const CLEAR_MARGIN = 0.1;
/** Findings of one kind. own choice: nobody reads more */
const MAX_FINDINGS = 200;

/** All that is looked for today. */
export function createDetectors(needs: DetectorDeps): AlarmDetector[] {
  const detectors: [AlarmDetector["alarms"], number, (now: number, needs: DetectorDeps) => AlarmFinding[]][] = [
    [["onprem_server_red", "onprem_server_yellow"], SHORT_INTERVAL_MS, detectHealthReasons],
    [["sis_loader_failed"], SHORT_INTERVAL_MS, detectFailedImports],
    [["scenario_device_resolution_failed"], SHORT_INTERVAL_MS, detectUnknownDevices],
    [["speakers_unregistered"], LONG_INTERVAL_MS, detectUnregisteredSpeakers],
    [["token_expiration"], LONG_INTERVAL_MS, detectExpiringTokens],
    [
      ["license_violation", "phone_cache_update_failed", "onprem_delta_sync_error_event"],
      SHORT_INTERVAL_MS,
      detectReportedFaults,
    ],
  ];
  return detectors.map(([kinds, everyMs, find]) => ({ alarms: kinds, everyMs, find: (now) => find(now, needs) }));
}

/** The reasons of the appliance's own health, but for what has an alarm of its own. */
function detectHealthReasons(_now: number, { health, endpointId }: DetectorDeps): AlarmFinding[] {
  const endpoint = endpointId();
  const reasons = health.report().reasons.filter(({ code }) => !code.startsWith(DEDICATED_ALARM_PREFIX));
  return reasons.map(({ level, code, reason }) => ({
    alarm: level === "red" ? "onprem_server_red" : "onprem_server_yellow",
    ...{ endpointId: endpoint, code, reason },
  }));
}

/** Sources whose last load changed nothing, until one succeeds. */
function detectFailedImports(_now: number, { reader, endpointId }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ id: string; name: string; state: string; reason: string | null }>(
    `SELECT d.id, d.name, r.state, r.reason FROM load_definitions d JOIN load_runs r ON r.pk =
       (SELECT MAX(x.pk) FROM load_runs x WHERE x.load_definition_pk = d.pk AND x.dry_run IS NOT 1
        AND x.state IN ('complete', 'failed', 'stopped'))
     WHERE r.state <> 'complete' ORDER BY d.pk LIMIT ${MAX_FINDINGS}`,
  );
  const endpoint = endpointId();
  return lines.map(({ id, name, state, reason }) => {
    const what = state === "failed" ? "failed" : "was stopped";
    const words = `The load from ${name} ${what}${reason === null ? "." : `: ${reason}`}`;
    return { alarm: "sis_loader_failed", endpointId: endpoint, code: id, reason: words, certain: true };
  });
}

/** Name of the watermark up to which starts by unknown devices are forgiven. */
export const UNKNOWN_DEVICES_WATERMARK = "scenario_unknown_devices";

/** Devices that nobody registered and that started a scenario: until they are registered, or somebody says it is fine. */
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
    reason: `${name} was started by a device that is not registered: ${device}`,
    scenario: { id: scenario, name },
    certain: true,
  }));
}

/**
 * Appliances of whose speakers more than the threshold are not registered. own choice: speakers that report no
 * registration, such as multicast zones, and those not yet configured are not expected to be. What was too many is over
 * once a tenth of the threshold less are missing, so that one speaker that comes and goes at the threshold raises it once.
 * @source decisions.md 13
 */
function detectUnregisteredSpeakers(_now: number, { reader }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ endpoint: string; missing: number }>(
    `SELECT e.id AS endpoint, COUNT(*) AS missing FROM devices d JOIN endpoints e ON e.pk = d.endpoint_pk
     WHERE d.type = 'speakers' AND d.defunct IS NOT 1
       AND LOWER(COALESCE(d.attributes ->> 'IsRegistered', d.attributes ->> 'IsRegisteredSip')) = 'false'
       AND LOWER(COALESCE(d.attributes ->> 'IsConfigured', 'true')) <> 'false'
     GROUP BY e.pk`,
  );
  const alarm = reader.get(alarms, ALARM_IDS.speakers_unregistered);
  const allowed = new Map(
    ((alarm?.alarmThresholds ?? []) as AlarmThreshold[]).map((each) => [each.endpointId, Number(each.threshold)]),
  );
  const isTold = (endpoint: string): boolean =>
    reader.one("SELECT 1 FROM alarm_reasons WHERE alarm = ? AND endpoint = ?", ...[alarm?.id ?? "", endpoint]) !== null;
  return lines.flatMap(({ endpoint, missing }) => {
    const threshold = allowed.get(endpoint) ?? 0;
    const margin = isTold(endpoint) ? Math.floor(threshold * CLEAR_MARGIN) : 0;
    if (missing <= threshold - margin) return [];
    const speakers = missing === 1 ? "1 speaker is" : `${missing} speakers are`;
    const reason = `${speakers} not registered; ${threshold} may be.`;
    return [{ alarm: "speakers_unregistered", endpointId: endpoint, code: "speakers", reason }];
  });
}

/** Tokens that were made by hand and expire soon. */
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
    const reason = `Token ${name} of ${owner ?? "a user without an address"} expires on ${day}.`;
    return { alarm: "token_expiration", endpointId: endpoint, code: id, reason, certain: true };
  });
}

/** What rooms told by `fault.changed`. */
function detectReportedFaults(_now: number, { reader }: DetectorDeps): AlarmFinding[] {
  const lines = reader.all<{ alarm: AlarmType; endpoint: string; code: string; reason: string }>(
    `SELECT alarm, endpoint, code, reason FROM alarm_reported_faults ORDER BY at, code LIMIT ${MAX_FINDINGS}`,
  );
  return lines.map(({ alarm, endpoint, code, reason }) => ({ alarm, endpointId: endpoint, code, reason }));
}
