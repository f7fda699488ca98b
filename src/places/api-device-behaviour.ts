import type apiDevices from "../resources/places/api-devices.ts";
import type { Behaviour } from "../store/store.ts";
import { requireBelonging } from "./belonging.ts";

/**
 * The levels of a device's place lie in each other; a zone alone tells its floor.
 * @source service-api.md, API device; decisions.md 7
 */
export const apiDeviceBehaviour: Behaviour<typeof apiDevices> = {
  beforeWrite({ after }, tx) {
    if (!after) return;
    const { siteId, buildingId, floorId, zoneId } = after;
    const whole = requireBelonging({ siteId, buildingId, floorId, zoneId }, tx, (level) => `${level}Id`);
    after.floorId = whole.floorId;
  },
};
