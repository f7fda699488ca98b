import type { DeliveryLevel } from "../resources/notifications/delivery-levels.ts";
import { type DeviceOutcome, deviceOutcome } from "../resources/notifications/device-outcomes.ts";
import type { StoreReader } from "../store/store.ts";

/** Rows per chunk: under 5 ms of the event loop. */
const CHUNK_ROWS = 200;

/** A delivery from the ledger; times in epoch ms. */
export interface IncidentDelivery {
  name: string | null;
  type: string | null;
  deviceIdentifier: string | null;
  /** Owner of a user device. */
  owner: string | null;
  level: DeliveryLevel;
  outcome: DeviceOutcome;
  reason: string | null;
  sentAt: number | null;
  acceptedAt: number | null;
  playingAt: number | null;
  provenAt: number | null;
  endedAt: number | null;
}

/** A person and a notification; times in epoch ms. */
export interface IncidentPerson {
  name: string | null;
  email: string | null;
  readAt: number | null;
  answer: string | null;
  answeredAt: number | null;
  reply: string | null;
}

// Keyset paging on the notification index: constant cost per chunk, and stable while rows change.
const SELECT_DELIVERIES = `SELECT l.pk, l.name, l.type, l.device_identifier AS deviceIdentifier, u.name AS owner, l.level, l.reason,
    coalesce(l.text_only, 0) AS textOnly,
    l.sent_at AS sentAt, l.accepted_at AS acceptedAt, l.playing_at AS playingAt, l.proven_at AS provenAt, l.ended_at AS endedAt
  FROM deliveries l INDEXED BY deliveries__notification_pk LEFT JOIN users u ON u.pk = l.user_pk
  WHERE l.notification_pk = ? AND l.pk > ? ORDER BY l.pk LIMIT ${CHUNK_ROWS}`;

const SELECT_PEOPLE = `SELECT r.pk, r.name, r.email, r.read_timestamp AS readAt, r.confirmation_response AS answer,
    r.confirmation_response_timestamp AS answeredAt, r.dynamic_reply AS reply
  FROM notification_recipients r INDEXED BY notification_recipients__notification_pk
  WHERE r.notification_pk = ? AND r.pk > ? AND r.declined IS NOT 1 ORDER BY r.pk LIMIT ${CHUNK_ROWS}`;

/** Deliveries of a notification, in chunks. */
export function* deliveryChunks(reader: StoreReader, notificationPk: number): Generator<readonly IncidentDelivery[]> {
  type Stored = Omit<IncidentDelivery, "outcome"> & { textOnly: number };
  for (const rows of readChunks<Stored>(reader, SELECT_DELIVERIES, notificationPk)) {
    yield rows.map(({ textOnly, ...row }) => ({
      ...row,
      outcome: deviceOutcome({ level: row.level, textOnly: textOnly === 1 }),
    }));
  }
}

/** People of a notification with their responses, in chunks. */
export function personChunks(reader: StoreReader, notificationPk: number): Generator<readonly IncidentPerson[]> {
  return readChunks<IncidentPerson>(reader, SELECT_PEOPLE, notificationPk);
}

function* readChunks<T>(reader: StoreReader, sql: string, notificationPk: number): Generator<readonly T[]> {
  for (let after = 0; ; ) {
    const rows = reader.all<T & { pk: number }>(sql, notificationPk, after);
    if (rows.length > 0) yield rows;
    if (rows.length < CHUNK_ROWS) return;
    after = rows.at(-1)?.pk ?? 0;
  }
}
