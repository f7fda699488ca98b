import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type endpointActivities from "../../resources/devices/endpoint-activities.ts";
import { ENDPOINT_COMMAND_TYPES } from "../../resources/devices/endpoint-activity-types.ts";
import type { ResourceHooks } from "../../store/store.ts";

/** Users create commands, which start as pending; all other activities are written by modules. @source docs/decisions/0012-extensions-and-endpoints.md */
export const endpointActivityHooks: ResourceHooks<typeof endpointActivities> = {
  beforeWrite({ op, after }, _tx, by) {
    if (op !== "create" || !after || by.actor.kind !== "user") return;
    if (!(ENDPOINT_COMMAND_TYPES as readonly string[]).includes(after.type)) {
      throw invalidValue(
        "type",
        sentence("field.must-be-one-of-values", { values: ENDPOINT_COMMAND_TYPES.join(", ") }),
      );
    }
    after.state = "pending";
  },
};
