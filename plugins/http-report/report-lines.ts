import type { PluginContext, PluginReportCell, PluginReportRequest } from "#plugin-api";
import type { ReportSource } from "./report-sources.ts";

export interface ReportService {
  fetch: PluginContext["fetch"];
  secret: string | null;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 8 * 1_048_576;
const MAX_CELL = 10_000;

/**
 * Fetches the lines of a report: a list of objects by column, or of lists in the order of the columns. Rejects with a
 * reason for people.
 */
export async function fetchReportLines(
  { report, url }: ReportSource,
  { parameters, userId }: PluginReportRequest,
  { fetch, secret }: ReportService,
): Promise<PluginReportCell[][]> {
  const { status, body } = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json; charset=utf-8",
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ report: report.key, parameters, userId }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  });
  if (status !== 200) throw new RangeError(`the service responded with HTTP ${status}`);
  const data = dataOf(body);
  if (data === null) throw new RangeError("the response must be an object with a list of lines, data");
  return data.map((line) => toCells(line, report.columns));
}

function dataOf(body: string): unknown[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    return Array.isArray(data) ? data : null;
  } catch {
    return null;
  }
}

function toCells(line: unknown, columns: readonly string[]): PluginReportCell[] {
  if (Array.isArray(line)) return columns.map((_column, at) => toCell(line[at]));
  const members = new Map(Object.entries((line ?? {}) as Record<string, unknown>));
  return columns.map((column) => toCell(members.get(column)));
}

function toCell(value: unknown): PluginReportCell {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" || typeof value === "boolean") return value;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, MAX_CELL);
}
