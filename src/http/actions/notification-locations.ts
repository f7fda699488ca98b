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
import notifications from "../../resources/notifications/notifications.ts";
import type { RoomLocation } from "../../resources/notifications/roll-call.ts";
import users from "../../resources/people/users.ts";
import { boolean, computed, integer, number, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { idListParameter, integerParameter } from "../query/query.ts";

/** People of a room given at most when a request bounds them. own choice */
const MAX_PEOPLE = 1_000;
/** People written in one turn: some ms of the event loop. */
const SLICE_PEOPLE = 500;

const ROOM = computed("The room; null for those of none.", "object", {
  of: {
    zoneId: uuid("The room.", { required: true }),
    name: text("Its name.", { required: true }),
    floorId: uuid("Its floor.", { required: true }),
    floorName: text("Name of the floor.", { required: true }),
    buildingId: uuid("Its building.", { required: true }),
    buildingName: text("Name of the building.", { required: true }),
    siteId: uuid("Its site.", { required: true }),
    siteName: text("Name of the site.", { required: true }),
  },
  nullable: true,
});

const ROLL_CALL = {
  total: integer("People asked.", { required: true }),
  answered: integer("Those of them who answered.", { required: true }),
  rooms: computed("By the place of each, rooms in order and those of none last.", "array", {
    of: {
      room: ROOM,
      total: integer("People in it.", { required: true }),
      answered: integer("Those of them who answered.", { required: true }),
      more: integer("Those of them who are left out by `limit`.", { required: true }),
      people: computed("The people of the room, whoever has not answered first, by name.", "array", {
        of: {
          recipientId: uuid("The recipient.", { required: true }),
          userId: uuid("The account; null once it is deleted."),
          name: text("Name at that time.", { required: true }),
          answer: text("The last answer; null before one."),
          answeredAt: timestamp("When it was given."),
          read: boolean("The message was read.", { required: true }),
        },
      }),
    },
  }),
};

const FLOORS = {
  unplaced: integer("Devices of which nobody knows the room.", { required: true }),
  rooms: computed("Rooms with devices that the message went to, in order.", "array", {
    of: {
      room: ROOM,
      devices: computed("The devices in it.", "array", {
        of: {
          deviceId: uuid("The device.", { required: true }),
          name: text("Its description at that time.", { required: true }),
          level: option("How far it is proven.", DELIVERY_LEVELS, { required: true }),
          reason: text("Why it stands where it stands, in words."),
        },
      }),
    },
  }),
};

const POSITION = {
  deviceId: uuid("The device.", { required: true }),
  at: timestamp("When it was there.", { required: true }),
  longitude: number("East of Greenwich, in degrees.", { required: true }),
  latitude: number("North of the equator, in degrees.", { required: true }),
  accuracyInM: number("Radius of uncertainty.", { required: true, unit: "m" }),
};

const TRACKS = {
  tracks: computed("Whose devices are or were followed, by name; at most 1,000 people.", "array", {
    of: {
      userId: uuid("The account.", { required: true }),
      name: text("Its name.", { required: true }),
      startedAt: timestamp("Since when.", { required: true }),
      endedAt: timestamp("Until when; null while it goes on."),
      count: integer("Positions that are kept, at most 1,000.", { required: true }),
      last: computed("The last position; null before the first.", "object", { of: POSITION, nullable: true }),
    },
  }),
  positions: computed("With userId: the positions of that account, newest first.", "array", { of: POSITION }),
};

/** A message seen by places: who answered in which room, what sounds in which room, where people were followed. own choice: the paths */
export const notificationLocationActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/roll-call",
    doc: "Who of a notification's recipients gave which answer and who none, by room.",
    query: {
      limit: integer("Most people given of each room; everybody when it is left out.", { min: 1, max: MAX_PEOPLE }),
    },
    response: { kind: "members", fields: ROLL_CALL },
    permission: "anyone",
    async handle(request) {
      const { store, clock } = request.needs;
      const most = integerParameter(request.query, "limit", 1, MAX_PEOPLE) ?? undefined;
      const called = await rollCall(requireReadable(request, "recipients").pk, store, clock, most);
      return { body: Readable.from(writeRollCallJson(called, clock)) };
    },
  },
  {
    method: "get",
    at: "notifications/{notificationId}/rooms",
    doc: "How far a notification came to the devices of each room.",
    response: { kind: "members", fields: FLOORS },
    permission: "anyone",
    async handle(request) {
      const { store, clock } = request.needs;
      const found: { rooms: { room: RoomLocation; devices: object[] }[]; unplaced: number } = await devicesByRoom(
        requireReadable(request, "devices").pk,
        store,
        clock,
      );
      return jsonResponse({ ...found });
    },
  },
  {
    method: "get",
    at: "notifications/{notificationId}/tracks",
    doc: "Where those were whose answer started tracking.",
    query: { userId: uuid("Somebody of whom all positions are given.") },
    response: { kind: "members", fields: TRACKS },
    permission: "anyone",
    async handle(request) {
      const { store, clock } = request.needs;
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

/** Written piece by piece: a room may hold everybody. */
async function* writeRollCallJson(called: readonly RollCallRoom[], clock: Clock): AsyncGenerator<string> {
  const sum = (name: "total" | "answered"): number => called.reduce((before, room) => before + room[name], 0);
  yield `{"total":${sum("total")},"answered":${sum("answered")},"rooms":[`;
  for (const [place, { people, ...room }] of called.entries()) {
    const head = JSON.stringify({ ...room, more: room.total - people.length });
    yield `${place === 0 ? "" : ","}${head.slice(0, -1)},"people":[`;
    for (let at = 0; at < people.length; at += SLICE_PEOPLE) {
      await yieldToEventLoop(clock);
      yield `${at === 0 ? "" : ","}${people
        .slice(at, at + SLICE_PEOPLE)
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

/** The notification, for whoever may read that part of it. */
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
