import type { Migration } from "./migration.ts";

/** Name of the mark in `store_meta`. */
const MARK = "plain_http";

/**
 * Earlier releases served plain HTTP unless told otherwise, and devices call these addresses. Their data keep it until somebody
 * sets `tls.listen`. @source docs/decisions/0510-tls-by-default.md
 */
export const plainHttp: Migration = {
  name: "0013-plain-http",
  up: (db) => void db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, '1')").run(MARK),
};

/** Whether the data are those of such a release. */
export function hasServedPlainHttp(reader: { one<T>(sql: string, ...params: string[]): T | null }): boolean {
  return reader.one("SELECT 1 FROM store_meta WHERE name = ?", MARK) !== null;
}
