import { join } from "node:path";
import Database from "better-sqlite3";

/** How many rows to make. */
export interface SeedCounts {
  users: number;
  devices: number;
  /** One finished message, `Assembly` with the id `SEEDED_MESSAGE`, to so many of the devices. */
  deliveries?: number;
}

/** Id of the message that `deliveries` makes; of its row only what the console shows is filled in. */
export const SEEDED_NOTIFICATION_ID = "0190b7c2-7f3a-7000-8000-00000000a55e";

const HEX = (bytes: number) => `lower(hex(randomblob(${bytes})))`;
const UUID = `${HEX(4)} || '-' || ${HEX(2)} || '-7' || substr(${HEX(2)}, 2) || '-8' || substr(${HEX(2)}, 2) || '-' || ${HEX(6)}`;
const NUMBERS = "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < ?)";
/** Scatters numbers, so that the order of names is not that of the rows. */
const SCATTER = 7_919;
const MADE_AT = Date.UTC(2026, 0, 1);

/**
 * Fills the data of an appliance that does not run, past the API: 100,000 rows take about 2 s. People are `Person 000000`
 * to the last, phones `Room 000000`; of phones every fourth is silent and every fourth was never tried.
 */
export function seedRows(dataDir: string, { users, devices, deliveries = 0 }: SeedCounts): void {
  const database = new Database(join(dataDir, "carillon.db"));
  try {
    database.transaction(() => {
      if (users > 0) seedUsers(database, users);
      if (devices > 0) seedDevices(database, devices);
      if (deliveries > 0) seedDeliveries(database, deliveries);
    })();
  } finally {
    database.close();
  }
}

function seedUsers(database: Database.Database, count: number): void {
  database
    .prepare(
      `${NUMBERS} INSERT INTO users (id, created_at, updated_at, domain_pk, name, email, type, is_licensed,
         password_reset_required, self_registered, break_glass, source)
       SELECT ${UUID}, ${MADE_AT} + n, ${MADE_AT} + n, (SELECT min(pk) FROM domains),
         printf('Person %06d', n * ${SCATTER} % ?), printf('person%06d@example.org', n * ${SCATTER} % ?), 'regular', 1, 0, 0, 0, 'manual' FROM c`,
    )
    .run(count, count, count);
  database.exec("INSERT OR IGNORE INTO search_pending SELECT 'users', pk FROM users");
}

function seedDevices(database: Database.Database, count: number): void {
  database
    .prepare(
      `${NUMBERS} INSERT INTO devices (id, created_at, updated_at, extension_pk, endpoint_pk, device_identifier, icop_id,
         description, type, attributes, defunct, is_licensed, provider, state, last_level, last_seen_at, failures)
       SELECT ${UUID}, ${MADE_AT} + n, ${MADE_AT} + n, e.extension_pk, e.pk, printf('SEP%012X', n), printf('SEP%012X', n),
         printf('Room %06d', n * ${SCATTER} % ?), 'phones', json_object('IPAddress', '127.0.0.1'), 0, 1, 'ip-phones',
         CASE n % 4 WHEN 0 THEN 'silent' WHEN 1 THEN NULL ELSE 'answering' END,
         CASE n % 4 WHEN 0 THEN 'failed' WHEN 1 THEN NULL ELSE 'playing' END,
         CASE WHEN n % 4 > 1 THEN ${MADE_AT} + n END, CASE n % 4 WHEN 0 THEN 2 WHEN 1 THEN NULL ELSE 0 END
       FROM c, (SELECT pk, extension_pk FROM endpoints LIMIT 1) e`,
    )
    .run(count, count);
  database.exec("INSERT OR IGNORE INTO search_pending SELECT 'devices', pk FROM devices");
}

function seedDeliveries(database: Database.Database, count: number): void {
  database.exec(
    `INSERT INTO notifications (id, created_at, updated_at, domain_pk, subject, unfilled_variables, draft, drill, stage, stage_at, settled_at)
     SELECT '${SEEDED_NOTIFICATION_ID}', ${MADE_AT}, ${MADE_AT}, min(pk), 'Assembly', '[]', 0, 0, 'settled', ${MADE_AT}, ${MADE_AT} + 9000 FROM domains`,
  );
  database
    .prepare(
      `INSERT INTO deliveries (id, created_at, updated_at, notification_pk, device_pk, device_identifier, name, type,
         provider, level, reason, attempt, priority, late, planned_at, sent_at, accepted_at, playing_at, ended_at)
       SELECT ${UUID}, ${MADE_AT}, ${MADE_AT}, (SELECT max(pk) FROM notifications), pk, device_identifier, description, type,
         provider, iif(pk % 50 = 0, 'failed', 'playing'), iif(pk % 50 = 0, 'connection refused', NULL), 1, 5, 0, ${MADE_AT},
         ${MADE_AT} + pk % 900, iif(pk % 50 = 0, NULL, ${MADE_AT} + pk % 900 + 40),
         iif(pk % 50 = 0, NULL, ${MADE_AT} + pk % 900 + 80), ${MADE_AT} + 9000
       FROM devices ORDER BY pk LIMIT ?`,
    )
    .run(count);
}
