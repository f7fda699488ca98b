import { invalidValue } from "../../lib/errors.ts";
import type endpointActivities from "../../resources/devices/endpoint-activities.ts";
import { ENDPOINT_COMMAND_TYPES } from "../../resources/devices/endpoint-activity-types.ts";
import type { ResourceHooks } from "../../store/store.ts";

/** Users add orders to an endpoint, which begin as pending; everything else is written by rooms. @source decisions.md 12 */
export const endpointActivityHooks: ResourceHooks<typeof endpointActivities> = {
  beforeWrite({ op, after }, _tx, by) {
    if (op !== "create" || !after || by.actor.kind !== "user") return;
    if (!(ENDPOINT_COMMAND_TYPES as readonly string[]).includes(after.type)) {
      throw invalidValue("type", `It must be one of ${ENDPOINT_COMMAND_TYPES.join(", ")}.`);
    }
    after.state = "pending";
  },
};
