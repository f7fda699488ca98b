import { type RowBody, readProductRow, type TransactionProgram } from "../storage/transaction-program.ts";
import type { ReplicatedReference, ReplicatedTypes } from "./replicated-types.ts";

/** A reference of a row to a row; it may not exist on this side. */
export interface MissingReference extends ReplicatedReference {
  id: string;
}

/** References of a row to missing rows, in the order of the declaration. A row may refer to itself. */
export function* findMissingReferences(
  { type, id, body }: { type: string; id: string; body: RowBody },
  types: ReplicatedTypes,
): TransactionProgram<MissingReference[]> {
  const missing: MissingReference[] = [];
  for (const reference of findReferences({ type, id, body }, types))
    if (!(yield* readProductRow(reference.to, reference.id))) missing.push(reference);
  return missing;
}

/** References of a row to other rows, in the order of the declaration. */
export function findReferences(
  { type, id, body }: { type: string; id: string; body: RowBody },
  types: Pick<ReplicatedTypes, "references">,
): MissingReference[] {
  return types
    .references(type)
    .flatMap((field) => referencedIds(body[field.name]).map((target) => ({ ...field, id: target })))
    .filter((reference) => reference.to !== type || reference.id !== id);
}

/** The row without its optional references to missing rows, as it may be written before them. */
export function withoutReferences(body: RowBody, missing: readonly MissingReference[]): RowBody {
  const cleared: Record<string, unknown> = { ...body };
  for (const { name, isList, isOptional, lostIn, id } of missing) {
    if (!isOptional) continue;
    // Without its targets an empty list would mean more than it says.
    if (lostIn !== undefined) cleared[lostIn] = Number(cleared[lostIn] ?? 0) + 1;
    cleared[name] = isList ? referencedIds(cleared[name]).filter((other) => other !== id) : null;
  }
  return cleared;
}

function referencedIds(value: unknown): string[] {
  return [value ?? []].flat().filter((each) => typeof each === "string");
}
