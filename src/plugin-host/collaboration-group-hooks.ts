import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type collaborationGroups from "../resources/collaboration/collaboration-groups.ts";
import extensions from "../resources/devices/extensions.ts";
import type { ResourceHooks } from "../store/store.ts";

/**
 * Validates the type (on creation it must be served by a collaboration extension) and the properties of a group. Throws
 * invalid-value.
 * @source docs/decisions/0042-api-contract.md
 */
export const collaborationGroupHooks: ResourceHooks<typeof collaborationGroups> = {
  beforeWrite({ op, after }, tx, by) {
    if (!after) return;
    const { type, properties } = after;
    // A replicated group may arrive before its extension.
    if (
      op === "create" &&
      !by.replicated &&
      tx.find(extensions, { type: "collaboration", deviceType: type }, 1).length === 0
    ) {
      throw invalidValue("type", sentence("field.must-be-the-devicetype-of-a-collaboration-extension"));
    }
    if (properties !== null && (typeof properties !== "object" || Array.isArray(properties))) {
      throw invalidValue("properties", sentence("field.must-be-an-object"));
    }
  },
};
