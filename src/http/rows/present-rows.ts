import type { AnyResource } from "../../schema/resource.ts";
import type { PresentContext, Store } from "../../store/store.ts";
import { sentenceAt } from "../sentence-members.ts";
import type { UntypedRow } from "./representation.ts";

/** Members of rows besides the stored ones, in row order: those of the hook, and the sentences declared beside texts. */
export function presentRows(
  resource: AnyResource,
  rows: readonly UntypedRow[],
  store: Store,
  context: PresentContext,
): readonly Readonly<Record<string, unknown>>[] | undefined {
  const extras = store.hooksFor(resource).present?.(rows as never, context);
  const sentenceFields = Object.entries(resource.fields).flatMap(([name, field]) =>
    field.kind === "computed" && field.sentenceOf !== undefined ? [[name, field.sentenceOf] as const] : [],
  );
  if (sentenceFields.length === 0) return extras;
  return rows.map((row, at) => ({
    ...extras?.[at],
    ...Object.fromEntries(sentenceFields.map(([name, of]) => [name, sentenceAt(row, of, context.sentences)])),
  }));
}
