import { invalidValue } from "../lib/errors.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import { isCronExpression } from "../settings/cron.ts";
import type { ResourceHooks } from "../store/store.ts";

/** Validates the cron expression and that the path stays inside the loads folder. */
export const loadDefinitionHooks: ResourceHooks<typeof loadDefinitions> = {
  beforeWrite({ after }) {
    if (!after) return;
    if (after.schedule !== null && !isCronExpression(after.schedule)) {
      throw invalidValue("schedule", "Must be a cron expression such as 30 4 * * 1-5.");
    }
    const parts = after.path?.split("/") ?? [];
    if (after.path?.startsWith("/") || parts.includes("..") || after.path?.includes("\\")) {
      throw invalidValue("path", "Must be a path inside the loads folder.");
    }
  },
};
