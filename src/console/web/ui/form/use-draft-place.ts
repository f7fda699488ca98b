import { useMemo } from "react";
import type { JsonSchema } from "../../api/client.ts";
import { useConsole } from "../../console-context.tsx";
import { type DraftPlace, draftableNames } from "./form-drafts.ts";

/** Where the input of the form `name` is kept; undefined until it is known whose it is and what may be kept. */
export function useDraftPlace(name: string, schema: JsonSchema | undefined): DraftPlace | undefined {
  const { userId, acting } = useConsole();
  const { domainId } = acting;
  return useMemo(
    () =>
      userId === null || !schema
        ? undefined
        : { key: [userId, domainId ?? "-", name].join(" "), names: draftableNames(schema) },
    [userId, domainId, name, schema],
  );
}
