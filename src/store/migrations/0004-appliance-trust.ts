import type { Migration } from "./migration.ts";

/** New columns of tables of replication: tables that exist get none otherwise. */
const COLUMNS = [
  ["hub_decided", "reason"],
  ["hub_conflict", "reason"],
  ["sync_local_edits", "reason"],
  ["hub_enrolment", "domainIds"],
] as const;

/**
 * Stores with decided edits why they were refused, and with enrolment codes the domains of the appliance. Older edits have no
 * reason; older codes are for the whole organisation.
 */
export const applianceTrust: Migration = {
  name: "0004-appliance-trust",
  up(db) {
    const columnsOf = db.prepare("SELECT name FROM pragma_table_info(?)").pluck();
    for (const [table, column] of COLUMNS) {
      const known = columnsOf.all(table);
      if (known.length > 0 && !known.includes(column)) db.exec(`ALTER TABLE ${table} ADD COLUMN "${column}" TEXT`);
    }
  },
};
