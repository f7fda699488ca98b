import { invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import type { RowOf } from "../schema/resource.ts";
import { isCronExpression } from "../settings/cron.ts";
import type { ResourceHooks } from "../store/store.ts";

type LoadDefinitionType = RowOf<typeof loadDefinitions>["type"];

/** Chooses the type of a source without one, validates the cron expression and that the path stays inside the loads folder. */
export const loadDefinitionHooks: ResourceHooks<typeof loadDefinitions> = {
  async prepare(input, op) {
    if (op === "create" && (input.type === undefined || input.type === null)) input.type = typeByFields(input);
  },
  beforeWrite({ after }) {
    if (!after) return;
    if (after.schedule !== null && !isCronExpression(after.schedule)) {
      throw invalidValue("schedule", sentence("field.must-be-a-cron-expression-such-as-30-4-1-5"));
    }
    if (after.type === "oneroster-api") assertServiceUrls(after);
    const parts = after.path?.split("/") ?? [];
    if (after.path?.startsWith("/") || parts.includes("..") || after.path?.includes("\\")) {
      throw invalidValue("path", sentence("field.must-be-a-path-inside-the-loads-folder"));
    }
  },
};

/** Without TLS the secret and the people's data could be read on the way. */
function assertServiceUrls({ url, tokenUrl }: { url: string | null; tokenUrl: string | null }): void {
  for (const [field, value] of Object.entries({ url, tokenUrl })) {
    if (value === null) throw requiredValue(field);
    if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
      throw invalidValue(field, sentence("field.must-be-a-url-such-as-https-sis-example-ims-oneroster-rostering-v1p2"));
    if (new URL(value).protocol === "http:" && !/^(127\.|\[::1\])/.test(new URL(value).hostname))
      throw invalidValue(field, sentence("field.must-be-an-https-url"));
  }
}

/** A roster is a service, a folder or a .zip of files; a table is one file. */
function typeByFields({ path, url, tokenUrl }: Readonly<Record<string, unknown>>): LoadDefinitionType {
  if ([url, tokenUrl].some((given) => typeof given === "string" && given !== "")) return "oneroster-api";
  const [name = ""] = typeof path === "string" ? path.replace(/\/+$/, "").split("/").slice(-1) : [];
  if (name === "") return "table";
  return /\.zip$/i.test(name) || !name.includes(".") ? "oneroster" : "table";
}
