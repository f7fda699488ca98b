import { invalidValue } from "../../lib/errors.ts";
import { derivedId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import devices from "../../resources/devices/devices.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import userDevices from "../../resources/people/user-devices.ts";
import { boolean, integer, option, uuid } from "../../schema/field.ts";
import type { FieldFilter, StoreReader } from "../../store/store.ts";
import { type Query, textParameter } from "../query/query.ts";
import { daysAgo, flagParameter, idsParameter, PERIOD_QUERY, periodFilters } from "./parameters.ts";
import { isoText, type ReportDefinition, type ReportSource, reportSource } from "./report.ts";

/** Phones, speakers and zones of appliances, and devices of users. */
export const deviceReport: ReportDefinition = {
  id: derivedId("reports", "devices"),
  name: "Devices",
  description: "Devices of appliances and of users with the level of their last delivery.",
  columns: [
    "id",
    "type",
    "deviceIdentifier",
    "name",
    "owner",
    "disabled",
    "verified",
    "lastLevel",
    "lastSeenAt",
    "createdAt",
  ],
  query: {
    includeEndpointDevices: boolean("Includes devices of appliances.", { default: true }),
    includeUserDevices: boolean("Includes devices of users.", { default: true }),
    devicesDisabled: boolean("Only defunct or disabled devices (true), or only others (false)."),
    receivedLastDays: integer("Only appliance devices that responded within this number of days.", {
      min: 1,
      max: 9_999,
      unit: "d",
    }),
    devicesExcluded: boolean("Only appliance devices excluded by the licence filters (true), or only others (false)."),
    devicesUnverified: boolean("Only unverified (true) or verified (false) user devices."),
  },
  sources(query, { store, clock }) {
    const seenSince = daysAgo(query, "receivedLastDays", clock);
    const seen: FieldFilter[] = seenSince === null ? [] : [{ field: "lastSeenAt", op: "gte", value: seenSince }];
    const disabled = flagParameter(query, "devicesDisabled");
    const excluded = flagParameter(query, "devicesExcluded");
    const unverified = flagParameter(query, "devicesUnverified");
    const licensed = equalFilter("isLicensed", excluded === null ? null : !excluded);
    const found: ReportSource[] = [];
    if (query.includeEndpointDevices !== false && unverified === null) {
      found.push(
        reportSource({
          resource: devices,
          restriction: { filters: [...equalFilter("defunct", disabled), ...licensed, ...seen] },
          lines: deviceLines,
        }),
      );
    }
    // The last response of user devices is unknown.
    if (query.includeUserDevices !== false && seenSince === null && excluded !== true) {
      const filters = [
        ...equalFilter("disabled", disabled),
        ...equalFilter("verified", unverified === null ? null : !unverified),
      ];
      const lines = (rows: readonly UserDeviceRow[]) => userDeviceLines(store, rows);
      found.push(reportSource({ resource: userDevices, restriction: { filters }, lines }));
    }
    return found;
  },
};

type DeviceRow = Parameters<ReportSource<typeof devices>["lines"]>[0][number];
type UserDeviceRow = Parameters<ReportSource<typeof userDevices>["lines"]>[0][number];
type ActivityRow = Parameters<ReportSource<typeof notificationActivities>["lines"]>[0][number];

function equalFilter(field: string, value: boolean | null): FieldFilter[] {
  return value === null ? [] : [{ field, op: "eq", value }];
}

function deviceLines(rows: readonly DeviceRow[]) {
  return rows.map(({ id, type, deviceIdentifier, description, defunct, lastLevel, lastSeenAt, createdAt }) => {
    const last = [lastLevel, isoText(lastSeenAt), isoText(createdAt)];
    return [id, type, deviceIdentifier, description, null, defunct, null, ...last];
  });
}

function userDeviceLines(reader: StoreReader, rows: readonly UserDeviceRow[]) {
  const names = namesOf(
    reader,
    rows.map(({ userId }) => userId),
  );
  return rows.map(({ id, type, deviceIdentifier, name, userId, disabled, verified, createdAt }) => {
    const owner = names.get(userId) ?? null;
    return [id, type, deviceIdentifier, name, owner, disabled, verified, null, null, isoText(createdAt)];
  });
}

/** Activities of notifications. */
export const activityReport: ReportDefinition = {
  id: derivedId("reports", "activity"),
  name: "Activity",
  description: "Activities of notifications: sent, answered, read, ended.",
  columns: ["at", "notificationId", "subject", "type", "user", "answer", "words"],
  query: {
    notificationId: uuid("Only this notification."),
    userId: uuid("Only this user."),
    type: option("Only this activity type.", notificationActivities.fields.type.values),
    filterSms: boolean("Only activities of text messages."),
    ...PERIOD_QUERY,
  },
  sources(query, { store, clock }) {
    const filters = periodFilters(query, clock);
    for (const field of ["notificationId", "userId"]) {
      const [id] = idsParameter(query, field) ?? [];
      if (id) filters.push({ field, op: "eq", value: id });
    }
    const type = typeParameter(query);
    if (flagParameter(query, "filterSms")) filters.push({ field: "type", op: "in", value: SMS_ACTIVITY_TYPES });
    if (type) filters.push({ field: "type", op: "eq", value: type });
    const lines = (rows: readonly ActivityRow[]) => activityLines(store, rows);
    return [reportSource({ resource: notificationActivities, restriction: { filters }, lines })];
  },
};

const SMS_ACTIVITY_TYPES = notificationActivities.fields.type.values.filter((type) => type.startsWith("sms-"));

function typeParameter(query: Query): string | null {
  const type = textParameter(query, "type");
  const known: readonly string[] = notificationActivities.fields.type.values;
  if (type && !known.includes(type))
    throw invalidValue("type", sentence("field.must-be-one-of-values", { values: known.join(", ") }));
  return type;
}

function activityLines(reader: StoreReader, rows: readonly ActivityRow[]) {
  const subjects = reader.all<{ id: string; name: string }>(
    "SELECT id, subject AS name FROM notifications WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ notificationId }) => notificationId))]),
  );
  const bySubject = new Map(subjects.map(({ id, name }) => [id, name]));
  const names = namesOf(
    reader,
    rows.flatMap(({ userId }) => userId ?? []),
  );
  return rows.map(({ createdAt, notificationId, type, userId, confirmationOption, details }) => {
    const { message } = (details ?? {}) as { message?: unknown };
    const words = typeof message === "string" ? message : null;
    const subject = bySubject.get(notificationId) ?? null;
    return [
      isoText(createdAt),
      notificationId,
      subject,
      type,
      names.get(userId ?? "") ?? null,
      confirmationOption,
      words,
    ];
  });
}

function namesOf(reader: StoreReader, ids: readonly string[]): ReadonlyMap<string, string | null> {
  const found = reader.all<{ id: string; name: string | null }>(
    "SELECT id, name FROM users WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(found.map(({ id, name }) => [id, name]));
}
