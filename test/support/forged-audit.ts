import { hash } from "node:crypto";
import type Database from "better-sqlite3";
import { AUDIT_COLUMNS } from "../../src/store/audit-chain.ts";

/** Hashes all entries of the audit again as releases before 0.2 did: everybody can do that. The triggers must be gone. */
export function rechainWithoutKey(db: Database.Database): void {
  const write = db.prepare("UPDATE audit_entries SET hash = ? WHERE pk = ?");
  let previous = "";
  for (const row of db.prepare("SELECT * FROM audit_entries ORDER BY pk").all() as Record<string, unknown>[]) {
    const columns = AUDIT_COLUMNS.map((name) => row[name]);
    previous = hash("sha256", JSON.stringify([previous, ...columns]), "hex");
    write.run(previous, row.pk);
  }
}
