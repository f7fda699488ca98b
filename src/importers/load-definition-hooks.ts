import { invalidValue } from "../lib/errors.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import { isCronExpression } from "../settings/cron.ts";
import type { ResourceHooks } from "../store/store.ts";

/** Chooses the type of a source without one, validates the cron expression and that the path stays inside the loads folder. */
export const loadDefinitionHooks: ResourceHooks<typeof loadDefinitions> = {
  async prepare(input, op) {
    if (op === "create" && (input.type === undefined || input.type === null)) input.type = typeByPath(input.path);
  },
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

/** A roster is a folder or a .zip of files; a table is one file. */
function typeByPath(path: unknown): "table" | "oneroster" {
  const [name = ""] = typeof path === "string" ? path.replace(/\/+$/, "").split("/").slice(-1) : [];
  if (name === "") return "table";
  return /\.zip$/i.test(name) || !name.includes(".") ? "oneroster" : "table";
}
