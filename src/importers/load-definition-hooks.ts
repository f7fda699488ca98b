import { invalidValue } from "../lib/errors.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import { isCronExpression } from "../settings/cron.ts";
import type { ResourceHooks } from "../store/store.ts";

/** A definition has times that exist and a path that stays below its folder. */
export const loadDefinitionHooks: ResourceHooks<typeof loadDefinitions> = {
  beforeWrite({ after }) {
    if (!after) return;
    if (after.schedule !== null && !isCronExpression(after.schedule)) {
      throw invalidValue("schedule", "A cron expression such as 30 4 * * 1-5 is expected.");
    }
    const parts = after.path?.split("/") ?? [];
    if (after.path?.startsWith("/") || parts.includes("..") || after.path?.includes("\\")) {
      throw invalidValue("path", "It must lie below loads.");
    }
  },
};
