import { useQuery } from "@tanstack/react-query";
import type { Client, Page } from "../api/client.ts";
import type { TemplateRow } from "../api/rows.ts";
import { useConsole } from "../console-context.tsx";
import { markIn } from "../parts/form-fields.ts";

/**
 * Where a template says that it is a tile of the emergency sheet. own choice: in its free data, which every client may use,
 * so that no field is added to the contract for a button of the console.
 */
export const EMERGENCY_MARK = ["console", "emergency"] as const;

/** True for a template that an administrator has marked for emergencies. */
export function isForEmergencies({ metadata }: Pick<TemplateRow, "metadata">): boolean {
  return markIn(metadata, EMERGENCY_MARK) === true;
}

const MOST_ROWS = 1_000;

/** The marked templates by name; read before anybody asks, since then nothing may have to be waited for. */
export function useEmergencyTemplates() {
  const { client } = useConsole();
  return useQuery({
    queryKey: ["message-templates", "emergency"],
    queryFn: () => readMarked(client),
  });
}

async function readMarked(client: Client): Promise<TemplateRow[]> {
  const marked: TemplateRow[] = [];
  for (let start: string | null = ""; start !== null; ) {
    const page: Page<TemplateRow> = await client.get(
      "message-templates",
      {},
      { sort: "name", limit: MOST_ROWS, ...(start ? { start } : {}) },
    );
    marked.push(...page.data.filter(isForEmergencies));
    start = page.next;
  }
  return marked;
}
