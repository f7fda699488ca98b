import { invalidValue } from "../lib/errors.ts";
import { isUuid, newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { ALARM_IDS, ALARM_THRESHOLDS, ALARM_TYPES, type AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import { ADMINISTRATION_LIST_ID } from "../resources/lists/administration-list.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, PresentContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";

type Alarm = RowOf<typeof alarms>;

/**
 * What an appliance may exceed without an alarm; units in `ALARM_THRESHOLDS`.
 * @source docs/decisions/0013-other-resources.md, Alarms; docs/decisions/0440-device-outcomes.md
 */
export interface AlarmThreshold {
  id: string;
  alarmId: string;
  endpointId: string;
  /** Whole number as a string. */
  threshold: string;
}

const FIELD = "alarmThresholds";
/** @source docs/decisions/0203-alarms-and-inputs.md, Alarms */
const MAX_THRESHOLDS = 200;

/** Validates and normalizes thresholds; query flags add thresholds, actions and the administration list to the response. */
export const alarmHooks: ResourceHooks<typeof alarms> = {
  beforeWrite({ before, after }, tx) {
    if (!after || JSON.stringify(before?.alarmThresholds) === JSON.stringify(after.alarmThresholds)) return;
    after.alarmThresholds = parseThresholds(after, tx);
  },
  present(rows, context) {
    const { query } = context;
    const thresholds = query.includeThresholds === true || query.includeAlarmThresholds === true;
    const actions = query.includeActions === true ? actionIdsByAlarm(rows, context.reader) : null;
    const reasons = reasonsByAlarm(rows, context);
    const list =
      query.includeAdministrationDistributionList === true ? findAdministrationList(context.reader) : undefined;
    return rows.map((row) => ({
      ...(thresholds ? {} : { alarmThresholds: undefined }),
      ...(actions ? { alarmActionIds: actions.get(row.id) ?? [] } : {}),
      ...(list === undefined ? {} : { administrationDistributionList: list }),
      reasons: reasons.get(row.id) ?? [],
    }));
  },
};

function parseThresholds({ id, type, alarmThresholds }: Alarm, reader: StoreReader): AlarmThreshold[] {
  const given = alarmThresholds ?? [];
  if (!Array.isArray(given)) throw invalidValue(FIELD, sentence("field.must-be-a-list"));
  const max = type === null ? undefined : ALARM_THRESHOLDS[type]?.max;
  if (max === undefined && given.length > 0) {
    const types = Object.keys(ALARM_THRESHOLDS).join(", ");
    throw invalidValue(FIELD, sentence("field.thresholds-are-only-allowed-for-the-alarms-types", { types }));
  }
  if (given.length > MAX_THRESHOLDS)
    throw invalidValue(FIELD, sentence("field.must-have-at-most-limit-items", { limit: MAX_THRESHOLDS }));
  const thresholds = given.map((each, at) => parseThreshold(each, { id, max: max ?? 0 }, `${FIELD}[${at}]`, reader));
  const endpoints = new Set(thresholds.map(({ endpointId }) => endpointId));
  if (endpoints.size < thresholds.length)
    throw invalidValue(FIELD, sentence("field.must-have-at-most-one-threshold-per-appliance"));
  return thresholds;
}

function parseThreshold(
  given: unknown,
  { id: alarmId, max }: { id: string; max: number },
  field: string,
  reader: StoreReader,
): AlarmThreshold {
  if (typeof given !== "object" || given === null) throw invalidValue(field, sentence("field.must-be-an-object"));
  const { id, endpointId, threshold, alarmId: named } = given as Record<string, unknown>;
  if (id !== undefined && id !== null && !isUuid(id))
    throw invalidValue(`${field}.id`, sentence("field.must-be-a-uuid"));
  if (typeof named === "string" && named.toLowerCase() !== alarmId) {
    throw invalidValue(`${field}.alarmId`, sentence("field.must-be-the-id-of-this-alarm"));
  }
  const isKnown = isUuid(endpointId) && reader.one("SELECT 1 FROM endpoints WHERE id = ?", endpointId.toLowerCase());
  if (!isKnown) throw invalidValue(`${field}.endpointId`, sentence("field.no-appliance-with-this-id-was-found"));
  const digits = String(threshold ?? "").trim();
  if (!/^\d{1,7}$/.test(digits) || Number(digits) > max) {
    throw invalidValue(`${field}.threshold`, sentence("field.must-be-a-whole-number-between-0-and-max", { max }));
  }
  return {
    id: isUuid(id) ? id.toLowerCase() : newId(),
    alarmId,
    endpointId: (endpointId as string).toLowerCase(),
    threshold: String(Number(digits)),
  };
}

function actionIdsByAlarm(rows: readonly Alarm[], reader: StoreReader): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { alarm, id } of reader.all<{ alarm: string; id: string }>(
    `SELECT a.id AS alarm, x.id FROM alarm_actions x JOIN alarms a ON a.pk = x.alarm_pk
     WHERE a.id IN (SELECT value FROM json_each(?)) ORDER BY x.pk`,
    JSON.stringify(rows.map(({ id }) => id)),
  )) {
    found.set(alarm, [...(found.get(alarm) ?? []), id]);
  }
  return found;
}

/** Most reasons returned per alarm. @source docs/decisions/0203-alarms-and-inputs.md, Alarms */
const MAX_REASONS = 100;

function reasonsByAlarm(rows: readonly Alarm[], { reader, sentences }: PresentContext): ReadonlyMap<string, object[]> {
  const found = new Map<string, object[]>();
  const lines = reader.all<{ alarm: string; endpoint: string; name: string | null; reason: string; since: number }>(
    `SELECT r.alarm, r.endpoint, e.name, r.reason, r.since FROM alarm_reasons r LEFT JOIN endpoints e ON e.id = r.endpoint
     WHERE r.alarm IN (SELECT value FROM json_each(?)) ORDER BY r.since, r.code`,
    JSON.stringify(rows.map(({ id }) => id)),
  );
  for (const { alarm, endpoint, name, reason, since } of lines) {
    const reasons = found.get(alarm) ?? [];
    const reasonSentence = sentences.read(reason);
    const shown = {
      endpointId: endpoint,
      endpointName: name,
      reason,
      reasonSentence,
      since: new Date(since).toISOString(),
    };
    if (reasons.length < MAX_REASONS) reasons.push(shown);
    found.set(alarm, reasons);
  }
  return found;
}

function findAdministrationList(reader: StoreReader): object | null {
  return reader.one<{ id: string; name: string }>(
    "SELECT id, name FROM distribution_lists WHERE id = ?",
    ADMINISTRATION_LIST_ID,
  );
}

/** Creates missing alarms. */
export function seedAlarms(tx: Transaction, by: ActorContext): void {
  for (const type of ALARM_TYPES as readonly AlarmType[]) {
    if (!tx.get(alarms, ALARM_IDS[type])) tx.create(alarms, {}, by, { id: ALARM_IDS[type], type });
  }
}
