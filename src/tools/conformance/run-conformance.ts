import { checkBulkCommit } from "./bulk-commit.ts";
import { checkCommonRules } from "./common-checks.ts";
import {
  type CheckContext,
  type ClauseCounts,
  type ConformanceFinding,
  describeResponse,
  expectThat,
} from "./findings.ts";
import { checkFilterLimit, checkLimit } from "./limits.ts";
import { checkMembership } from "./membership.ts";
import { checkItem, checkList } from "./read-checks.ts";
import { countReferenceItems, ON_PREMISES, REFERENCE, type ReferencePath } from "./reference.ts";
import { createRowFactory } from "./row-factory.ts";
import type { ConformanceTarget } from "./target.ts";
import { checkChange, checkCreation, checkDeletion } from "./write-checks.ts";

/** Result of a conformance run. */
export interface ConformanceResult {
  paths: number;
  operations: number;
  fields: number;
  /** Number of documented paths, operations and fields that are missing or deviate. */
  missing: number;
  /** Clauses that were checked: each documented path, operation, field, parameter, limit and rule in each way it is used. */
  clauses: ClauseCounts;
  findings: ConformanceFinding[];
  /** Documented paths that are not served. */
  unserved: string[];
  /** Resources that are not served below the on-premises prefix. */
  unservedOnPremises: string[];
  /** Paths of created rows that could not be deleted. */
  left: string[];
}

/** Extent of the checks. */
export interface ConformanceOptions {
  /** Fill resources up to their limits; others can't create rows during the run. */
  limits: boolean;
  /** Called before each path. */
  onPath?(at: string): void;
}

const ANY_ID = "0190b7c2-7f3a-7000-8000-000000000000";

/** Checks a server for conformance with the documented API, path by path, and deletes the rows created for it. */
export async function runConformance(
  target: ConformanceTarget,
  options: ConformanceOptions,
): Promise<ConformanceResult> {
  const rows = createRowFactory(target);
  const findings: ConformanceFinding[] = [];
  const unserved: string[] = [];
  const clauses: ClauseCounts = { held: 0, broken: 0 };
  const known = { target, rows, clauses };
  try {
    options.onPath?.(COMMON_RULES.at);
    findings.push(...(await checkAll(COMMON_RULES, known, [checkCommonRules])));
    for (const path of REFERENCE) {
      options.onPath?.(path.at);
      if (await isServed(target, path)) findings.push(...(await checkPath(path, known, options)));
      else unserved.push(path.at);
    }
    const unservedOnPremises = await checkOnPremisesPrefix(target);
    clauses.held += REFERENCE.length - unserved.length + ON_PREMISES.length - unservedOnPremises.length;
    clauses.broken += unserved.length + unservedOnPremises.length;
    const missing = countMissing(findings, unserved);
    const left = await target.cleanUp();
    return { ...countReferenceItems(REFERENCE), missing, clauses, findings, unserved, unservedOnPremises, left };
  } finally {
    await target.cleanUp();
  }
}

async function allowedMethods(target: ConformanceTarget, at: string): Promise<Set<string>> {
  const { status, headers } = await target.request("OPTIONS", at.replace(/\{\w+\}/g, ANY_ID));
  if (status === 404) return new Set();
  return new Set((headers.get("allow") ?? "").split(/,\s*/).map((word) => word.toLowerCase()));
}

async function isServed(target: ConformanceTarget, { at }: ReferencePath): Promise<boolean> {
  return (await allowedMethods(target, `/v1${at}`)).size > 0;
}

async function checkOnPremisesPrefix(target: ConformanceTarget): Promise<string[]> {
  const unserved: string[] = [];
  for (const family of ON_PREMISES) {
    const { status, body } = await target.request("GET", `/onprem/v1/${family}`);
    if (status !== 200 || !Array.isArray(body?.data)) unserved.push(family);
  }
  return unserved;
}

/** Findings about rules of every request. */
const COMMON_RULES: ReferencePath = { at: "every request", methods: [], fields: [] };

type Known = Pick<CheckContext, "target" | "rows" | "clauses">;

function checkPath(path: ReferencePath, known: Known, options: ConformanceOptions): Promise<ConformanceFinding[]> {
  const rest = path.membership ? checkMembership : path.at.endsWith("/commit") ? checkBulkCommit : checkRows;
  return checkAll(path, known, [
    checkMethods,
    ...(path.methods.includes("get") ? [checkList] : []),
    rest,
    ...(options.limits ? [checkLimit] : []),
  ]);
}

/** Runs the checks until one of them fails without a finding. */
async function checkAll(
  path: ReferencePath,
  known: Known,
  checks: readonly ((context: CheckContext) => Promise<unknown>)[],
): Promise<ConformanceFinding[]> {
  const findings: ConformanceFinding[] = [];
  const report: CheckContext["report"] = (message, { operation, field } = {}) =>
    void findings.push({ at: path.at, operation: operation ?? null, field: field ?? null, message });
  const context: CheckContext = { ...known, path, report };
  try {
    for (const check of checks) await check(context);
  } catch (error) {
    expectThat(context, false, error instanceof Error ? error.message : String(error));
  }
  return findings;
}

/** The documented operations are supported, others are not. */
async function checkMethods(context: CheckContext): Promise<void> {
  const { path, target } = context;
  const served = new Set([
    ...(await allowedMethods(target, `/v1${path.at}`)),
    ...(await allowedMethods(target, `/v1${path.at}/${ANY_ID}`)),
  ]);
  for (const operation of path.methods) {
    expectThat(context, served.has(operation), `${operation.toUpperCase()} is not served`, { operation });
  }
  if (path.more || path.membership) return;
  for (const operation of ["get", "post", "put", "delete"] as const) {
    if (path.methods.includes(operation)) continue;
    const response = await target.request(operation.toUpperCase(), `/v1${path.at.replace(/\{\w+\}/g, ANY_ID)}`);
    const isRejected = response.status === 405 && response.headers.has("allow");
    expectThat(
      context,
      isRejected,
      `${operation.toUpperCase()} returned ${describeResponse(response)} instead of 405`,
      {
        operation,
      },
    );
  }
}

/** Life cycle of a row: create, read, update, delete; rows that can't be created are only read and updated. */
async function checkRows(context: CheckContext): Promise<void> {
  const { path } = context;
  const item = path.methods.includes("post") ? await checkCreation(context) : await findItem(context);
  if (item === null) return;
  if (path.methods.includes("put")) await checkChange(context, item);
  await checkFilterLimit(context);
  if (path.methods.includes("delete")) await checkDeletion(context, item);
}

async function findItem(context: CheckContext): Promise<string | null> {
  if (context.path.single) return null;
  const at = await context.rows.fillPath(context.path.at);
  const { body } = await context.target.request("GET", `${at}?limit=1`);
  const [row] = (body?.data ?? []) as { id?: string }[];
  if (row?.id === undefined) return null;
  await checkItem(context, `${at}/${row.id}`);
  return `${at}/${row.id}`;
}

/** Counts each path, operation and field once; a finding about no operation and no field counts for its path. */
function countMissing(findings: readonly ConformanceFinding[], unserved: readonly string[]): number {
  const { paths, operations, fields } = countReferenceItems(REFERENCE.filter(({ at }) => unserved.includes(at)));
  const deviations = new Set(findings.map(({ at, operation, field }) => `${at} ${field ?? operation ?? ""}`));
  return paths + operations + fields + deviations.size;
}
