import type { StoreReader } from "../store/store.ts";

/** Rows of one slice: under 5 ms of the event loop. */
const CHUNK_ROWS = 200;

/** One device and one message, as the ledger has it; times in epoch ms. */
export interface IncidentDelivery {
  name: string | null;
  type: string | null;
  deviceIdentifier: string | null;
  /** Owner of a device of a user. */
  owner: string | null;
  level: string;
  reason: string | null;
  sentAt: number | null;
  acceptedAt: number | null;
  playingAt: number | null;
  provenAt: number | null;
  endedAt: number | null;
}

/** One person and one message; times in epoch ms. */
export interface IncidentPerson {
  name: string | null;
  email: string | null;
  readAt: number | null;
  answer: string | null;
  answeredAt: number | null;
  reply: string | null;
}

// By the index on the message, so that a slice costs the same wherever it begins and rows that change stay where they are.
const SELECT_DELIVERIES = `SELECT l.pk, l.name, l.type, l.device_identifier AS deviceIdentifier, u.name AS owner, l.level, l.reason,
    l.sent_at AS sentAt, l.accepted_at AS acceptedAt, l.playing_at AS playingAt, l.proven_at AS provenAt, l.ended_at AS endedAt
  FROM deliveries l INDEXED BY deliveries__notification_pk LEFT JOIN users u ON u.pk = l.user_pk
  WHERE l.notification_pk = ? AND l.pk > ? ORDER BY l.pk LIMIT ${CHUNK_ROWS}`;

const SELECT_PEOPLE = `SELECT r.pk, r.name, r.email, r.read_timestamp AS readAt, r.confirmation_response AS answer,
    r.confirmation_response_timestamp AS answeredAt, r.dynamic_reply AS reply
  FROM notification_recipients r INDEXED BY notification_recipients__notification_pk
  WHERE r.notification_pk = ? AND r.pk > ? AND r.declined IS NOT 1 ORDER BY r.pk LIMIT ${CHUNK_ROWS}`;

/** What became of a message on each device, in slices. */
export function deliveryChunks(reader: StoreReader, notificationPk: number): Generator<readonly IncidentDelivery[]> {
  return readChunks<IncidentDelivery>(reader, SELECT_DELIVERIES, notificationPk);
}

/** What each person did with a message, in slices. */
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
