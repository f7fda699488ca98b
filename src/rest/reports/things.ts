import { invalidValue } from "../../base/errors.ts";
import { derivedId } from "../../base/ids.ts";
import notificationActivities from "../../resources/broadcasts/notification-activities.ts";
import devices from "../../resources/devices/devices.ts";
import userDevices from "../../resources/people/user-devices.ts";
import { boolean, integer, option, uuid } from "../../schema/field.ts";
import type { Filter, Reader } from "../../store/store.ts";
import { type Query, singleText } from "../query.ts";
import { daysAgo, flagGiven, idsGiven, PERIOD, periodFilters } from "./parameters.ts";
import { isoText, type Report, type Source, source } from "./report.ts";

/** Phones, speakers and zones of appliances, and devices of users. */
export const deviceReport: Report = {
  id: derivedId("reports", "devices"),
  name: "Devices",
  description: "Devices of appliances and of users, and what their last message said of them.",
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
    includeEndpointDevices: boolean("Devices of appliances.", { default: true }),
    includeUserDevices: boolean("Devices of users.", { default: true }),
    devicesDisabled: boolean("Only those out of use or switched off, or only the others."),
    receivedLastDays: integer("Devices of appliances that answered in the last so many days.", {
      min: 1,
      max: 9_999,
      unit: "d",
    }),
    devicesExcluded: boolean(
      "own choice: only devices of appliances that the licence filters leave out, or only the others.",
    ),
    devicesUnverified: boolean("Devices of users that are not proven to be theirs, or that are."),
  },
  sources(query, { store, clock }) {
    const seenSince = daysAgo(query, "receivedLastDays", clock);
    const seen: Filter[] = seenSince === null ? [] : [{ field: "lastSeenAt", op: "gte", value: seenSince }];
    const disabled = flagGiven(query, "devicesDisabled");
    const excluded = flagGiven(query, "devicesExcluded");
    const unverified = flagGiven(query, "devicesUnverified");
    const licensed = equal("isLicensed", excluded === null ? null : !excluded);
    const found: Source[] = [];
    if (query.includeEndpointDevices !== false && unverified === null) {
      found.push(
        source({
          resource: devices,
          restriction: { filters: [...equal("defunct", disabled), ...licensed, ...seen] },
          lines: deviceLines,
        }),
      );
    }
    // own choice: when devices of users answered last is not known.
    if (query.includeUserDevices !== false && seenSince === null && excluded !== true) {
      const filters = [...equal("disabled", disabled), ...equal("verified", unverified === null ? null : !unverified)];
      const lines = (rows: readonly UserDeviceRow[]) => userDeviceLines(store, rows);
      found.push(source({ resource: userDevices, restriction: { filters }, lines }));
    }
    return found;
  },
};

type DeviceRow = Parameters<Source<typeof devices>["lines"]>[0][number];
type UserDeviceRow = Parameters<Source<typeof userDevices>["lines"]>[0][number];
type ActivityRow = Parameters<Source<typeof notificationActivities>["lines"]>[0][number];

function equal(field: string, value: boolean | null): Filter[] {
  return value === null ? [] : [{ field, op: "eq", value }];
}

function deviceLines(rows: readonly DeviceRow[]) {
  return rows.map(({ id, type, deviceIdentifier, description, defunct, lastLevel, lastSeenAt, createdAt }) => {
    const last = [lastLevel, isoText(lastSeenAt), isoText(createdAt)];
    return [id, type, deviceIdentifier, description, null, defunct, null, ...last];
  });
}

function userDeviceLines(reader: Reader, rows: readonly UserDeviceRow[]) {
  const names = namesOf(
    reader,
    rows.map(({ userId }) => userId),
  );
  return rows.map(({ id, type, deviceIdentifier, name, userId, disabled, verified, createdAt }) => {
    const owner = names.get(userId) ?? null;
    return [id, type, deviceIdentifier, name, owner, disabled, verified, null, null, isoText(createdAt)];
  });
}

/** What happened to messages. */
export const activityReport: Report = {
  id: derivedId("reports", "activity"),
  name: "Activity",
  description: "What happened to messages: sent, answered, read, ended.",
  columns: ["at", "notificationId", "subject", "type", "user", "answer", "words"],
  query: {
    notificationId: uuid("Of this message."),
    userId: uuid("Of this user."),
    type: option("Of this type.", notificationActivities.fields.type.values),
    filterSms: boolean("Only what happened to text messages. own choice."),
    ...PERIOD,
  },
  sources(query, { store, clock }) {
    const filters = periodFilters(query, clock);
    for (const field of ["notificationId", "userId"]) {
      const [id] = idsGiven(query, field) ?? [];
      if (id) filters.push({ field, op: "eq", value: id });
    }
    const type = typeGiven(query);
    if (flagGiven(query, "filterSms")) filters.push({ field: "type", op: "in", value: OF_SMS });
    if (type) filters.push({ field: "type", op: "eq", value: type });
    const lines = (rows: readonly ActivityRow[]) => activityLines(store, rows);
    return [source({ resource: notificationActivities, restriction: { filters }, lines })];
  },
};

const OF_SMS = notificationActivities.fields.type.values.filter((type) => type.startsWith("sms-"));

function typeGiven(query: Query): string | null {
  const type = singleText(query, "type");
  const known: readonly string[] = notificationActivities.fields.type.values;
  if (type && !known.includes(type)) throw invalidValue("type", `It must be one of ${known.join(", ")}.`);
  return type;
}

function activityLines(reader: Reader, rows: readonly ActivityRow[]) {
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

function namesOf(reader: Reader, ids: readonly string[]): ReadonlyMap<string, string | null> {
  const found = reader.all<{ id: string; name: string | null }>(
    "SELECT id, name FROM users WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(found.map(({ id, name }) => [id, name]));
}
