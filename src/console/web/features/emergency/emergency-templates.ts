import { useQuery } from "@tanstack/react-query";
import { hasEmergencyFlag } from "../../../../resources/messages/emergency-template.ts";
import type { ApiClient, RowPage } from "../../api/client.ts";
import { useTrackedQuery } from "../../api/page-queries.ts";
import type { TemplateRow } from "../../api/rows.ts";
import type { ScenarioRow } from "../../api/scenario-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";

const MAX_ROWS = 1_000;

/**
 * The marked templates by name; read before anybody asks, since then nothing may have to be waited for. A domain has 3,500
 * templates at most, so that a few pages hold them all.
 */
export function useEmergencyTemplates() {
  const { client } = useConsole();
  return useTrackedQuery(
    useQuery({
      queryKey: ["message-templates", "emergency"],
      queryFn: () => readMarked(client),
    }),
  );
}

/** The marked scenarios by name. */
export function useEmergencyScenarios() {
  return useRows<ScenarioRow>("scenarios", {}, { emergency: true, sort: "name", limit: 100 });
}

async function readMarked(client: ApiClient): Promise<TemplateRow[]> {
  const marked: TemplateRow[] = [];
  for (let start: string | null = ""; start !== null; ) {
    const page: RowPage<TemplateRow> = await client.get(
      "message-templates",
      {},
      { sort: "name", limit: MAX_ROWS, ...(start ? { start } : {}) },
    );
    marked.push(...page.data.filter(({ metadata }) => hasEmergencyFlag(metadata)));
    start = page.next;
  }
  return marked;
}
