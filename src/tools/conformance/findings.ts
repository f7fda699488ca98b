import type { Method } from "../../schema/resource.ts";
import type { ReferenceField, ReferencePath } from "./reference.ts";
import type { RowFactory } from "./row-factory.ts";
import type { ConformanceTarget, TargetResponse } from "./target.ts";

/** A deviation from the documented API. */
export interface ConformanceFinding {
  /** The documented path. */
  at: string;
  /** The operation concerned; null for the path or a field. */
  operation: Method | null;
  field: string | null;
  /** The request, and what came instead of the expected response. */
  message: string;
}

/** Number of checked clauses. */
export interface ClauseCounts {
  held: number;
  broken: number;
}

/** Context of the checks of one path. */
export interface CheckContext {
  path: ReferencePath;
  target: ConformanceTarget;
  rows: RowFactory;
  /** What `expectThat` has checked. */
  clauses: ClauseCounts;
  report(message: string, about?: { operation?: Method; field?: string }): void;
}

/** Counts a clause, and reports a finding unless `isExpected`; returns `isExpected`. */
export function expectThat(
  context: CheckContext,
  isExpected: boolean,
  message: string,
  about: { operation?: Method; field?: string } = {},
): boolean {
  context.clauses[isExpected ? "held" : "broken"] += 1;
  if (!isExpected) context.report(message, about);
  return isExpected;
}

/** A response as text, for findings. */
export function describeResponse({ status, body }: TargetResponse): string {
  return body?.message === undefined ? String(status) : `${status} ${String(body.type)}: ${String(body.message)}`;
}

/** True if the response rejects `field` with status 400 and the error type `type`. */
export function isRejection({ status, body }: TargetResponse, field: string, type: string): boolean {
  const errors = (body?.errors ?? []) as { field: string | null; type: string }[];
  const root = field.split("[", 1)[0] as string;
  const named = errors.some((error) => error.type === type && (error.field ?? "").startsWith(root));
  return status === 400 && body?.type !== undefined && named;
}

/** Fields that requests may contain. */
export function writableFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "write");
}

/** Fields that responses contain. */
export function readableFields({ fields }: ReferencePath): ReferenceField[] {
  return fields.filter((field) => field.in === undefined || field.in === "read");
}
