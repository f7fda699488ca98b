import { loadAreaCircles } from "../../areas/area-geometry.ts";
import { circleTouchesBox, parseBoundingBox } from "../../areas/bounding-box.ts";
import { notFound } from "../../lib/errors.ts";
import areasOfInterest from "../../resources/areas/areas-of-interest.ts";
import boundaryTriggerActivities from "../../resources/areas/boundary-trigger-activities.ts";
import boundaryTriggers from "../../resources/areas/boundary-triggers.ts";
import userDevices from "../../resources/people/user-devices.ts";
import users from "../../resources/people/users.ts";
import { json, number, text, timestamp } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { compileBodyValidator } from "./body-validator.ts";

const POSITION = {
  latitude: number("North of the equator, in degrees.", { required: true, min: -90, max: 90 }),
  longitude: number("East of Greenwich, in degrees.", { required: true, min: -180, max: 180 }),
  accuracyInM: number("Radius of uncertainty. own choice: 0 when not given.", {
    min: 0,
    max: 100_000_000,
    unit: "m",
    default: 0,
  }),
  at: timestamp("When the device was there; now unless given."),
};
const validatePosition = compileBodyValidator(POSITION);

/** Where devices are, and lists that depend on places. @source decisions.md 5; digest */
export const areaActions: readonly Action[] = [
  {
    method: "get",
    at: "areas-of-interest",
    doc: "Lists areas; with a bounding box, those of which any part lies in it.",
    query: { boundingBox: text("`minLon,minLat,maxLon,maxLat` in degrees; minLon > maxLon crosses the antimeridian.") },
    response: { kind: "list", resource: areasOfInterest },
    async handle(request) {
      const asked = textParameter(request.query, "boundingBox");
      if (asked === null || asked === "") return request.respondWithList(areasOfInterest, {});
      const box = parseBoundingBox(asked);
      const ids = loadAreaCircles(request.needs.store).flatMap((circle) =>
        circleTouchesBox(circle, box) ? [circle.id] : [],
      );
      return request.respondWithList(areasOfInterest, { ids });
    },
  },
  {
    method: "get",
    at: "areas-of-interest/{areaOfInterestId}/boundary-triggers/{boundaryTriggerId}/activities",
    doc: "Lists what a trigger did, newest last.",
    query: { device: json("Object with `userId`: what the devices of one user made it do.") },
    response: { kind: "list", resource: boundaryTriggerActivities },
    async handle(request) {
      const { areaOfInterestId = "", boundaryTriggerId = "" } = request.params;
      if (request.needs.store.get(boundaryTriggers, boundaryTriggerId)?.areaOfInterestId !== areaOfInterestId) {
        throw notFound();
      }
      const { userId } = (request.query.device ?? {}) as Record<string, unknown>;
      const within = { areaOfInterestId, boundaryTriggerId, ...(typeof userId === "string" ? { userId } : {}) };
      return request.respondWithList(boundaryTriggerActivities, { within });
    },
  },
  {
    method: "post",
    at: "users/{userId}/devices/{deviceId}/locations",
    doc: "Tells where a device is; the answer is the device, which says what areas it is inside of. Reports older than the last change nothing.",
    accepts: POSITION,
    response: { kind: "row", resource: userDevices },
    async handle(request) {
      const { needs, params, body } = request;
      const { id } = requireVisibleRow(request, users, params.userId ?? "");
      const { latitude, longitude, accuracyInM, at } = validatePosition(body) as Record<string, number | null>;
      const position = { latitude: latitude ?? 0, longitude: longitude ?? 0, accuracyM: accuracyInM ?? 0 };
      const row = await needs.areas.reportPosition(id, params.deviceId ?? "", { ...position, at: at ?? null });
      return request.respondWithRow(userDevices, row);
    },
  },
];
