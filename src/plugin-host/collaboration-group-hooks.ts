import { invalidValue } from "../lib/errors.ts";
import type collaborationGroups from "../resources/collaboration/collaboration-groups.ts";
import extensions from "../resources/devices/extensions.ts";
import type { ResourceHooks } from "../store/store.ts";

/**
 * A group is of a type that a collaboration extension serves when the group is made; what it needs to be found is an
 * object. Throws invalid-value. @source service-api.md, /v1/collaboration-groups
 */
export const collaborationGroupHooks: ResourceHooks<typeof collaborationGroups> = {
  beforeWrite({ op, after }, tx) {
    if (!after) return;
    const { type, properties } = after;
    if (op === "create" && tx.find(extensions, { type: "collaboration", deviceType: type }, 1).length === 0) {
      throw invalidValue("type", "It is the deviceType of a collaboration extension.");
    }
    if (properties !== null && (typeof properties !== "object" || Array.isArray(properties))) {
      throw invalidValue("properties", "An object is expected.");
    }
  },
};
