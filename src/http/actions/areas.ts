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
  latitude: number("Latitude in degrees.", { required: true, min: -90, max: 90 }),
  longitude: number("Longitude in degrees.", { required: true, min: -180, max: 180 }),
  accuracyInM: number("Radius of uncertainty. Default: 0.", {
    min: 0,
    max: 100_000_000,
    unit: "m",
    default: 0,
  }),
  at: timestamp("Time of the position; default: now."),
};
const validatePosition = compileBodyValidator(POSITION);

/**
 * Where devices are, and lists that depend on places.
 * @source docs/decisions/0005-users-and-devices.md; docs/decisions/0042-api-contract.md
 */
export const areaActions: readonly Action[] = [
  {
    method: "get",
    at: "areas-of-interest",
    doc: "Lists areas; with a bounding box, those that intersect it.",
    query: {
      boundingBox: text(
        "Bounding box `minLon,minLat,maxLon,maxLat` in degrees; minLon > maxLon crosses the antimeridian.",
      ),
    },
    response: { kind: "list", resource: areasOfInterest },
    async handle(request) {
      const boundingBox = textParameter(request.query, "boundingBox");
      if (boundingBox === null || boundingBox === "") return request.respondWithList(areasOfInterest, {});
      const box = parseBoundingBox(boundingBox);
      const ids = loadAreaCircles(request.deps.store).flatMap((circle) =>
        circleTouchesBox(circle, box) ? [circle.id] : [],
      );
      return request.respondWithList(areasOfInterest, { ids });
    },
  },
  {
    method: "get",
    at: "areas-of-interest/{areaOfInterestId}/boundary-triggers/{boundaryTriggerId}/activities",
    doc: "Lists the activities of a trigger, oldest first.",
    query: { device: json("Object with `userId`: only activities caused by devices of this user.") },
    response: { kind: "list", resource: boundaryTriggerActivities },
    async handle(request) {
      const { areaOfInterestId = "", boundaryTriggerId = "" } = request.params;
      if (request.deps.store.get(boundaryTriggers, boundaryTriggerId)?.areaOfInterestId !== areaOfInterestId) {
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
    doc: "Reports the position of a device. Returns the device with the areas that contain it. Reports older than the last one are ignored.",
    accepts: POSITION,
    response: { kind: "row", resource: userDevices },
    async handle(request) {
      const { deps, params, body } = request;
      const { id } = requireVisibleRow(request, users, params.userId ?? "");
      const { latitude, longitude, accuracyInM, at } = validatePosition(body) as Record<string, number | null>;
      const position = { latitude: latitude ?? 0, longitude: longitude ?? 0, accuracyM: accuracyInM ?? 0 };
      const row = await deps.areas.reportPosition(id, params.deviceId ?? "", { ...position, at: at ?? null });
      return request.respondWithRow(userDevices, row);
    },
  },
];
