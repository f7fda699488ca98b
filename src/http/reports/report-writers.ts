import { escapeCsvFormula } from "../../lib/csv-formula.ts";
import type { ReportCell, ReportDefinition } from "./report.ts";

/** A report as JSON: `{"id", "name", "data": [{column: value}]}`, streamed. */
export async function* writeReportJson(
  { id, name, columns }: Pick<ReportDefinition, "id" | "name" | "columns">,
  chunks: AsyncIterable<ReportCell[][]>,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ id, name }).slice(0, -1)},"data":[`;
  let separator = "";
  for await (const lines of chunks) {
    if (lines.length === 0) continue;
    const objects = lines.map((line) =>
      JSON.stringify(Object.fromEntries(columns.map((name, at) => [name, line[at]]))),
    );
    yield separator + objects.join();
    separator = ",";
  }
  yield "]}";
}

/** A report as CSV with a header line, streamed; spreadsheet formulas are escaped. @source RFC 4180 */
export async function* writeReportCsv(
  { columns }: Pick<ReportDefinition, "columns">,
  chunks: AsyncIterable<ReportCell[][]>,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const lines of chunks) yield lines.map(csvLine).join("");
}

function csvLine(cells: readonly ReportCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(value: ReportCell): string {
  if (value === null) return "";
  const text = typeof value === "string" ? escapeCsvFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
