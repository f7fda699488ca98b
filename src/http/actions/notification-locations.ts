import { Readable } from "node:stream";
import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { forbidden } from "../../lib/errors.ts";
import {
  devicesByRoom,
  type RollCallPerson,
  type RollCallRoom,
  rollCall,
} from "../../notifications/responses/roll-call.ts";
import { findPositions, findTrackedPeople } from "../../notifications/responses/tracked-people.ts";
import type { TrackedPosition } from "../../notifications/responses/tracking.ts";
import { DELIVERY_LEVELS } from "../../resources/notifications/delivery-levels.ts";
import { DEVICE_OUTCOMES, REACH_VERDICTS } from "../../resources/notifications/device-outcomes.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { OUTCOME_COUNTS } from "../../resources/notifications/progress-fields.ts";
import users from "../../resources/people/users.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, integer, number, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { idListParameter, integerParameter } from "../query/query.ts";

/** Maximum of the `limit` per zone. */
const MAX_PEOPLE = 1_000;
/** People serialized per event loop turn: a few ms. */
const CHUNK_PEOPLE = 500;

const ROOM = computed("The zone; null for those without one.", "object", {
  of: {
    zoneId: uuid("Id of the zone.", { required: true }),
    name: text("Name.", { required: true }),
    floorId: uuid("Id of the floor.", { required: true }),
    floorName: text("Name of the floor.", { required: true }),
    buildingId: uuid("Id of the building.", { required: true }),
    buildingName: text("Name of the building.", { required: true }),
    siteId: uuid("Id of the site.", { required: true }),
    siteName: text("Name of the site.", { required: true }),
  },
  nullable: true,
});

const ROLL_CALL = {
  total: integer("Number of recipients.", { required: true }),
  answered: integer("Number of recipients who answered.", { required: true }),
  rooms: computed("Recipients by zone, in order; those without a zone last.", "array", {
    of: {
      room: ROOM,
      total: integer("Number of recipients in the zone.", { required: true }),
      answered: integer("Number of recipients who answered.", { required: true }),
      more: integer("Number of people omitted because of `limit`.", { required: true }),
      people: computed("Recipients in the zone by name, those without an answer first.", "array", {
        of: {
          recipientId: uuid("Id of the recipient.", { required: true }),
          userId: uuid("Id of the user; null after its deletion."),
          name: text("Name at that time.", { required: true }),
          answer: text("Last answer; null without one."),
          answeredAt: timestamp("Time of the answer."),
          read: boolean("The recipient has read the message.", { required: true }),
        },
      }),
    },
  }),
};

const FLOORS = {
  unplaced: integer("Number of devices without a zone.", { required: true }),
  buildings: computed("Buildings with target devices, in the order of the zones.", "array", {
    of: {
      buildingId: uuid("Id of the building.", { required: true }),
      buildingName: text("Name of the building.", { required: true }),
      siteId: uuid("Id of the site.", { required: true }),
      siteName: text("Name of the site.", { required: true }),
      outcomes: computed("Number of devices by outcome.", "object", { of: OUTCOME_COUNTS }),
      verdict: option("What the outcomes add up to.", REACH_VERDICTS, { required: true }),
    },
  }),
  rooms: computed("Zones with target devices, in order.", "array", {
    of: {
      room: ROOM,
      devices: computed("Devices in the zone.", "array", {
        of: {
          deviceId: uuid("Id of the device.", { required: true }),
          name: text("Description of the device at that time.", { required: true }),
          level: option("Delivery level.", DELIVERY_LEVELS, { required: true }),
          outcome: option("Outcome.", DEVICE_OUTCOMES, { required: true }),
          textOnly: boolean(
            "The device shows the text and did not play audio, or in an emergency less than half of it.",
            { required: true },
          ),
          reason: text("Reason for the level."),
          reasonSentence: sentenceField("Reason"),
        },
      }),
    },
  }),
};

const POSITION = {
  deviceId: uuid("Id of the device.", { required: true }),
  at: timestamp("Time of the position.", { required: true }),
  longitude: number("Longitude in degrees.", { required: true }),
  latitude: number("Latitude in degrees.", { required: true }),
  accuracyInM: number("Radius of uncertainty.", { required: true, unit: "m" }),
};

const TRACKS = {
  tracks: computed("Tracked people, by name; at most 1,000.", "array", {
    of: {
      userId: uuid("Id of the user.", { required: true }),
      name: text("Name.", { required: true }),
      startedAt: timestamp("Start of tracking.", { required: true }),
      endedAt: timestamp("End of tracking; null while active."),
      count: integer("Number of stored positions, at most 1,000.", { required: true }),
      last: computed("Last position; null without one.", "object", { of: POSITION, nullable: true }),
    },
  }),
  positions: computed("With userId: positions of that user, newest first.", "array", { of: POSITION }),
};

/** Notifications by location: roll call, deliveries by zone, and tracks. */
export const notificationLocationActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/roll-call",
    doc: "Returns the roll call of a notification: answers of the recipients by zone.",
    query: {
      limit: integer("Maximum number of people per zone; default: all.", { min: 1, max: MAX_PEOPLE }),
    },
    response: { kind: "members", fields: ROLL_CALL },
    permission: "anyone",
    async handle(request) {
      const { store, clock } = request.deps;
      const limit = integerParameter(request.query, "limit", 1, MAX_PEOPLE) ?? undefined;
      const rooms = await rollCall(requireReadable(request, "recipients").pk, store, clock, limit);
      return { body: Readable.from(writeRollCallJson(rooms, clock)) };
    },
  },
  {
    method: "get",
    at: "notifications/{notificationId}/rooms",
    doc: "Returns the outcomes of a notification by zone and by building.",
    response: { kind: "members", fields: FLOORS },
    permission: "anyone",
    async handle(request) {
      const { store, clock, plugins } = request.deps;
      const { pk } = requireReadable(request, "devices");
      return jsonResponse({ ...(await devicesByRoom(pk, { reader: store, clock, sentences: plugins.sentences })) });
    },
  },
  {
    method: "get",
    at: "notifications/{notificationId}/tracks",
    doc: "Returns the positions of recipients whose answer started tracking.",
    query: { userId: uuid("User whose positions are returned completely.") },
    response: { kind: "members", fields: TRACKS },
    permission: "anyone",
    async handle(request) {
      const { store, clock } = request.deps;
      const { pk } = requireReadable(request, "recipients");
      const userId = idListParameter(request.query, "userId")?.[0]?.toLowerCase();
      const user = userId === undefined ? null : requireVisibleRow(request, users, userId);
      const tracks = (await findTrackedPeople(pk, store, clock)).map((track) => ({
        ...track,
        startedAt: isoTime(track.startedAt),
        endedAt: isoTime(track.endedAt),
        last: track.last && presentPosition(track.last),
      }));
      return jsonResponse({ tracks, positions: user ? findPositions(store, pk, user.pk).map(presentPosition) : [] });
    },
  },
];

/** Streamed, because a zone may contain all recipients. */
async function* writeRollCallJson(rooms: readonly RollCallRoom[], clock: Clock): AsyncGenerator<string> {
  const sum = (name: "total" | "answered"): number => rooms.reduce((before, room) => before + room[name], 0);
  yield `{"total":${sum("total")},"answered":${sum("answered")},"rooms":[`;
  for (const [place, { people, ...room }] of rooms.entries()) {
    const head = JSON.stringify({ ...room, more: room.total - people.length });
    yield `${place === 0 ? "" : ","}${head.slice(0, -1)},"people":[`;
    for (let at = 0; at < people.length; at += CHUNK_PEOPLE) {
      await yieldToEventLoop(clock);
      yield `${at === 0 ? "" : ","}${people
        .slice(at, at + CHUNK_PEOPLE)
        .map(personText)
        .join()}`;
    }
    yield "]}";
  }
  yield "]}";
}

function personText(person: RollCallPerson): string {
  return JSON.stringify({ ...person, answeredAt: isoTime(person.answeredAt) });
}

/** The notification, for users who may read that part of it. */
function requireReadable(request: ApiRequest, part: "recipients" | "devices") {
  const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
  if (!request.by.scope.allows("get", `/notifications/${row.id}/${part}`)) throw forbidden();
  return row;
}

function presentPosition({ accuracyM, at, ...position }: TrackedPosition) {
  return { ...position, at: new Date(at).toISOString(), accuracyInM: accuracyM };
}

function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
