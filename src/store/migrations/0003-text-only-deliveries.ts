import type Database from "better-sqlite3";
import { MISSED_AUDIO_REASONS } from "../../resources/notifications/missed-audio.ts";
import type { Migration } from "./migration.ts";

/**
 * Marks stored deliveries of devices that showed the text and played no audio: those of messages without audio, and
 * phones that answered after the audio. Adds them to the stored counters, and drops the index that counted by level
 * alone: the schema creates one with the new column.
 */
export const textOnlyDeliveries: Migration = {
  name: "0003-text-only-deliveries",
  up(db) {
    if (!columnsOf(db, "deliveries").includes("level")) return;
    if (!columnsOf(db, "deliveries").includes("text_only"))
      db.exec("ALTER TABLE deliveries ADD COLUMN text_only INTEGER DEFAULT 0");
    db.exec("DROP INDEX IF EXISTS deliveries__notification_pk__level");
    if (!columnsOf(db, "notifications").includes("t0")) return;
    db.prepare(
      `UPDATE deliveries SET text_only = 1 WHERE device_pk IS NOT NULL AND (level = 'accepted' OR level = 'playing')
         AND (reason IN (?, ?) OR notification_pk IN (SELECT pk FROM notifications WHERE t0 IS NULL))`,
    ).run(MISSED_AUDIO_REASONS.asked, MISSED_AUDIO_REASONS.joined);
    if (!columnsOf(db, "notification_counters").includes("name")) return;
    db.exec(`INSERT INTO notification_counters (notification, name, n)
      SELECT d.notification_pk, 'text:' || d.level, count(*) FROM deliveries d
      WHERE d.text_only = 1 AND EXISTS (SELECT 1 FROM notification_counters c
        WHERE c.notification = d.notification_pk AND c.name = 'level:' || d.level)
      GROUP BY 1, 2 ON CONFLICT (notification, name) DO UPDATE SET n = excluded.n`);
  },
};

function columnsOf(db: Database.Database, table: string): unknown[] {
  return db.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table);
}
