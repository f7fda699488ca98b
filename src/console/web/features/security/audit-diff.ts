/** A changed member of a row; missing values are undefined. */
export interface AuditDiffLine {
  field: string;
  before: unknown;
  after: unknown;
}

/** What keeps a row's books, and changes with every write. */
const BOOKKEEPING = new Set(["id", "pk", "createdAt", "updatedAt", "seq", "version"]);

/** What differs between a row before and after, in the order of its members; null for a row that was not there. */
export function auditDiff(before: unknown, after: unknown): AuditDiffLine[] {
  const [old, fresh] = [membersOf(before), membersOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .filter((field) => !BOOKKEEPING.has(field) && JSON.stringify(old[field]) !== JSON.stringify(fresh[field]))
    .filter((field) => !(isEmpty(old[field]) && isEmpty(fresh[field])))
    .map((field) => ({ field, before: old[field], after: fresh[field] }));
}

const MOMENT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** A value as one reads it: texts as they are, moments by `moment`, all else as JSON; "" for nothing. */
export function valueText(value: unknown, moment: (at: number) => string): string {
  if (isEmpty(value)) return "";
  if (typeof value !== "string") return JSON.stringify(value);
  return MOMENT.test(value) ? moment(Date.parse(value)) : value;
}

function membersOf(row: unknown): Readonly<Record<string, unknown>> {
  return typeof row === "object" && row !== null ? (row as Record<string, unknown>) : {};
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
