import type { Method } from "../../schema/resource.ts";
import type { ReferenceField, ReferencePath } from "./reference.ts";
import type { RowFactory } from "./row-factory.ts";
import type { ConformanceTarget, TargetResponse } from "./target.ts";

/** Something that is not as it is documented. */
export interface ConformanceFinding {
  /** The documented path. */
  at: string;
  /** Operation it is about, null where it is about the path or a field. */
  operation: Method | null;
  field: string | null;
  /** What was asked, and what came instead. */
  message: string;
}

/** What a check of one path works with. */
export interface CheckContext {
  path: ReferencePath;
  target: ConformanceTarget;
  rows: RowFactory;
  report(message: string, about?: { operation?: Method; field?: string }): void;
}

/** Tells unless `fine`. Returns `fine`. */
export function expectThat(
  checking: CheckContext,
  fine: boolean,
  message: string,
  about: { operation?: Method; field?: string } = {},
): boolean {
  if (!fine) checking.report(message, about);
  return fine;
}

/** An answer in words, for findings. */
export function describeResponse({ status, body }: TargetResponse): string {
  return body?.message === undefined ? String(status) : `${status} ${String(body.type)}: ${String(body.message)}`;
}

/** Whether the answer refuses with 400 because of `field`, and for `type`. */
export function isRejection({ status, body }: TargetResponse, field: string, type: string): boolean {
  const faults = (body?.errors ?? []) as { field: string | null; type: string }[];
  const root = field.split("[", 1)[0] as string;
  const named = faults.some((fault) => fault.type === type && (fault.field ?? "").startsWith(root));
  return status === 400 && body?.type !== undefined && named;
}

/** Fields that callers give. */
export function writableFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "write");
}

/** Fields that every answer holds. */
export function readableFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "read");
}
