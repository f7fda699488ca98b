import { checkBulkCommit } from "./bulk-commit.ts";
import { type CheckContext, type ConformanceFinding, describeResponse, expectThat } from "./findings.ts";
import { checkFilterLimit, checkLimit } from "./limits.ts";
import { checkMembership } from "./membership.ts";
import { checkItem, checkList } from "./read-checks.ts";
import { countReferenceItems, ON_PREMISES, REFERENCE, type ReferencePath } from "./reference.ts";
import { createRowFactory, type RowFactory } from "./row-factory.ts";
import type { ConformanceTarget } from "./target.ts";
import { checkChange, checkCreation, checkDeletion } from "./write-checks.ts";

/** What became of a run. */
export interface ConformanceResult {
  paths: number;
  operations: number;
  fields: number;
  /** Documented paths, operations and fields that are not there or not as documented. */
  missing: number;
  findings: ConformanceFinding[];
  /** Documented paths that are not served. */
  unserved: string[];
  /** Families that are not served under the prefix of the appliance. */
  unservedOnPremises: string[];
  /** Paths of rows that the run made and could not take away. */
  left: string[];
}

/** How much is checked. */
export interface ConformanceOptions {
  /** True to fill families up to their limits; leaves other users no room meanwhile. */
  limits: boolean;
  /** Called before each path. */
  onPath?(at: string): void;
}

const ANY_ID = "0190b7c2-7f3a-7000-8000-000000000000";

/** Holds a server against the documented interface, path by path, and takes away what it made there. */
export async function runConformance(
  target: ConformanceTarget,
  options: ConformanceOptions,
): Promise<ConformanceResult> {
  const rows = createRowFactory(target);
  const findings: ConformanceFinding[] = [];
  const unserved: string[] = [];
  try {
    for (const path of REFERENCE) {
      options.onPath?.(path.at);
      if (await isServed(target, path)) findings.push(...(await checkPath(path, target, rows, options)));
      else unserved.push(path.at);
    }
    const unservedOnPremises = await checkOnPremisesPrefix(target);
    const missing = countMissing(findings, unserved);
    const left = await target.cleanUp();
    return { ...countReferenceItems(REFERENCE), missing, findings, unserved, unservedOnPremises, left };
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

async function checkPath(
  path: ReferencePath,
  target: ConformanceTarget,
  rows: RowFactory,
  options: ConformanceOptions,
): Promise<ConformanceFinding[]> {
  const findings: ConformanceFinding[] = [];
  const report: CheckContext["report"] = (message, { operation, field } = {}) =>
    void findings.push({ at: path.at, operation: operation ?? null, field: field ?? null, message });
  const checking: CheckContext = { path, target, rows, report };
  try {
    await checkMethods(checking);
    if (path.methods.includes("get")) await checkList(checking);
    if (path.membership) await checkMembership(checking);
    else if (path.at.endsWith("/commit")) await checkBulkCommit(checking);
    else await checkRows(checking);
    if (options.limits) await checkLimit(checking);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
  }
  return findings;
}

/** The documented operations and no others. */
async function checkMethods(checking: CheckContext): Promise<void> {
  const { path, target } = checking;
  const served = new Set([
    ...(await allowedMethods(target, `/v1${path.at}`)),
    ...(await allowedMethods(target, `/v1${path.at}/${ANY_ID}`)),
  ]);
  for (const operation of path.methods) {
    expectThat(checking, served.has(operation), `${operation.toUpperCase()} is not served`, { operation });
  }
  if (path.more || path.membership) return;
  for (const operation of ["get", "post", "put", "delete"] as const) {
    if (path.methods.includes(operation)) continue;
    const heard = await target.request(operation.toUpperCase(), `/v1${path.at.replace(/\{\w+\}/g, ANY_ID)}`);
    const fine = heard.status === 405 && heard.headers.has("allow");
    expectThat(checking, fine, `${operation.toUpperCase()} answered ${describeResponse(heard)} instead of 405`, {
      operation,
    });
  }
}

/** The life of rows: made, read, changed, deleted; rows that nobody makes are only read and changed. */
async function checkRows(checking: CheckContext): Promise<void> {
  const { path } = checking;
  const item = path.methods.includes("post") ? await checkCreation(checking) : await findItem(checking);
  if (item === null) return;
  if (path.methods.includes("put")) await checkChange(checking, item);
  await checkFilterLimit(checking);
  if (path.methods.includes("delete")) await checkDeletion(checking, item);
}

async function findItem(checking: CheckContext): Promise<string | null> {
  if (checking.path.single) return null;
  const at = await checking.rows.fillPath(checking.path.at);
  const { body } = await checking.target.request("GET", `${at}?limit=1`);
  const [row] = (body?.data ?? []) as { id?: string }[];
  if (row?.id === undefined) return null;
  await checkItem(checking, `${at}/${row.id}`);
  return `${at}/${row.id}`;
}

/** Each path, operation and field once; a finding about none of its operations and fields counts for the path. */
function countMissing(findings: readonly ConformanceFinding[], unserved: readonly string[]): number {
  const { paths, operations, fields } = countReferenceItems(REFERENCE.filter(({ at }) => unserved.includes(at)));
  const faulty = new Set(findings.map(({ at, operation, field }) => `${at} ${field ?? operation ?? ""}`));
  return paths + operations + fields + faulty.size;
}
