import { invalidValue } from "../base/errors.ts";
import type endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ENDPOINT_ORDER_TYPES } from "../resources/devices/endpoint-activity-types.ts";
import type { Behaviour } from "../store/store.ts";

/** Users add orders to an endpoint, which begin as pending; everything else is written by rooms. @source decisions.md 12 */
export const endpointActivityBehaviour: Behaviour<typeof endpointActivities> = {
  beforeWrite({ op, after }, _tx, by) {
    if (op !== "create" || !after || by.actor.kind !== "user") return;
    if (!(ENDPOINT_ORDER_TYPES as readonly string[]).includes(after.type)) {
      throw invalidValue("type", `It must be one of ${ENDPOINT_ORDER_TYPES.join(", ")}.`);
    }
    after.state = "pending";
  },
};
