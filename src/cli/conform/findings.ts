import type { Method } from "../../schema/resource.ts";
import type { ReferenceField, ReferencePath } from "./reference.ts";
import type { Rows } from "./rows.ts";
import type { Heard, Target } from "./target.ts";

/** Something that is not as it is documented. */
export interface Finding {
  /** The documented path. */
  at: string;
  /** Operation it is about, null where it is about the path or a field. */
  operation: Method | null;
  field: string | null;
  /** What was asked, and what came instead. */
  message: string;
}

/** What a check of one path works with. */
export interface Checking {
  path: ReferencePath;
  target: Target;
  rows: Rows;
  tell(message: string, about?: { operation?: Method; field?: string }): void;
}

/** Tells unless `fine`. Returns `fine`. */
export function expect(
  checking: Checking,
  fine: boolean,
  message: string,
  about: { operation?: Method; field?: string } = {},
): boolean {
  if (!fine) checking.tell(message, about);
  return fine;
}

/** An answer in words, for findings. */
export function heardWords({ status, body }: Heard): string {
  return body?.message === undefined ? String(status) : `${status} ${String(body.type)}: ${String(body.message)}`;
}

/** Whether the answer refuses with 400 because of `field`, and for `type`. */
export function refuses({ status, body }: Heard, field: string, type: string): boolean {
  const faults = (body?.errors ?? []) as { field: string | null; type: string }[];
  const root = field.split("[", 1)[0] as string;
  const named = faults.some((fault) => fault.type === type && (fault.field ?? "").startsWith(root));
  return status === 400 && body?.type !== undefined && named;
}

/** Fields that callers give. */
export function givenFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "write");
}

/** Fields that every answer holds. */
export function shownFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "read");
}
