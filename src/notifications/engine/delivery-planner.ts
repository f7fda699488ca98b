import type { StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { type MessageSettings, parseEffectiveSettings } from "../compose/sending-profile.ts";
import type { TargetRange } from "../recipients/target-ranges.ts";
import { type DeliveryProviders, providerSettings } from "./delivery-providers.ts";
import { UNREACHED_LEVELS_SQL } from "./delivery-state.ts";

/** Words for what keeps a provider from working, by its name; JSON. */
export type ProviderProblems = string;

/** Names of the providers of devices, read by jumps in the index. */
const PROVIDERS = `WITH RECURSIVE named(name) AS (
    SELECT min(provider) FROM devices
    UNION ALL SELECT (SELECT min(provider) FROM devices WHERE provider > named.name) FROM named WHERE named.name IS NOT NULL
  ) SELECT name FROM named WHERE name IS NOT NULL`;

const COLUMNS = `id, created_at, updated_at, notification_pk, device_pk, user_device_pk, user_pk, endpoint_pk,
  device_identifier, name, type, provider, level, reason, attempt, priority, late, planned_at, ended_at, not_after`;

/** Devices that another appliance than the one that serves them activates, with its key; 0 where none can be reached. */
export type RemoteActivations = readonly (readonly [device: number, endpoint: number])[];

/**
 * Why nothing is sent to a device `d` that the appliance `acting` activates, as two columns, null where nothing is wrong:
 * `skipped` for what is out of use, not licensed or left out by the profile, `failed` for what is another appliance's or whose plugin is gone
 * or off. Takes our endpoint's key; needs the table `troubles`. own choice: which is which, and that an emergency asks for
 * no licence
 */
function deliverabilitySql(acting: string, { priorityLevel }: Pick<NotificationRow, "priorityLevel">): string {
  const unlicensed = "WHEN d.is_licensed = 0 THEN 'The licence does not include the device.'";
  return `CASE WHEN d.defunct = 1 THEN 'The device is marked as out of use.'
      ${priorityLevel === 0 ? "" : unlicensed}
      ELSE (SELECT words FROM troubles WHERE troubles.provider = d.provider AND skips) END AS skipped,
    CASE WHEN ${acting} = 0 THEN 'None of the appliances that may activate the device can be reached.'
      WHEN ${acting} <> ? THEN 'The device belongs to an appliance that is not connected.'
      WHEN d.provider IS NULL THEN 'No plugin serves the device.'
      ELSE (SELECT words FROM troubles WHERE troubles.provider = d.provider AND NOT skips) END AS failed`;
}

const ELSEWHERE = `elsewhere(device, endpoint) AS MATERIALIZED (
  SELECT value ->> 0, value ->> 1 FROM json_each(?))`;
const ACTING = "coalesce((SELECT endpoint FROM elsewhere WHERE device = d.pk), d.endpoint_pk)";

const TROUBLES = `troubles(provider, words, skips) AS MATERIALIZED (
  SELECT key, value ->> 'words', value ->> 'skips' FROM json_each(?))`;

/** Looks which providers can, or are to, do nothing now, before the rows of a broadcast are made. */
export function findProviderProblems(
  reader: StoreReader,
  providers: DeliveryProviders,
  row: MessageSettings,
): ProviderProblems {
  const troubles: Record<string, { words: string; skips: boolean }> = {};
  const settings = parseEffectiveSettings(row);
  for (const { name } of reader.all<{ name: string }>(PROVIDERS)) {
    const skips = providerSettings(name, settings, providers).disabled;
    const words = skips ? excludedByProfile(name) : providerProblem(name, providers);
    if (words !== null) troubles[name] = { words, skips };
  }
  return JSON.stringify(troubles);
}

const excludedByProfile = (provider: string): string => `The notification profile leaves the plugin ${provider} out.`;

function providerProblem(provider: string, providers: DeliveryProviders): string | null {
  const state = providers.state(provider);
  if (state === "absent") return `The plugin ${provider} is not installed.`;
  return state === "disabled" ? `The plugin ${provider} is switched off.` : null;
}

/** The rows for devices of appliances; those of others go by `carrier`, where there is one. */
export function insertDeviceDeliveries(
  tx: Transaction,
  row: NotificationRow,
  range: TargetRange,
  { ours, troubles, carrier, now }: { ours: number; troubles: ProviderProblems; carrier: string | null; now: number },
): void {
  tx.run(
    `INSERT OR IGNORE INTO deliveries (${COLUMNS})
     WITH ${TROUBLES},
     judged AS (
       SELECT d.*, coalesce(nullif(t.endpoint, 0), d.endpoint_pk) AS acting,
         ${deliverabilitySql("coalesce(t.endpoint, d.endpoint_pk)", row)}
       FROM notification_targets t JOIN devices d ON d.pk = t.device
       WHERE t.notification = ? AND t.device > ? AND t.device <= ?
     ),
     seen AS (
       SELECT pk, acting, device_identifier, description, type, skipped,
         coalesce(carried, provider) AS provider, iif(carried IS NULL, failed, NULL) AS failed
       FROM (SELECT *, iif(acting <> ?, ?, NULL) AS carried FROM judged)
     )
     SELECT uuid7(), ?, ?, ?, pk, NULL, NULL, acting, device_identifier, description, type, provider,
       CASE WHEN skipped IS NOT NULL THEN 'skipped' WHEN failed IS NOT NULL THEN 'failed' ELSE 'planned' END,
       coalesce(skipped, failed), 0, ?, 0, ?, CASE WHEN coalesce(skipped, failed) IS NOT NULL THEN ? END, ?
     FROM seen`,
    troubles,
    ours,
    row.pk,
    range.after,
    range.upTo,
    ours,
    carrier,
    now,
    now,
    row.pk,
    row.priorityLevel,
    now,
    now,
    row.notAfter,
  );
}

/** A device as a preview sees it; `words` says why nothing would be sent, `doubt` why it may not answer. */
export interface PreviewedDevice {
  id: string;
  name: string;
  type: string;
  words: string | null;
  doubt: string | null;
  /** 1 when another message holds it now, else 0. */
  busy: number;
}

/**
 * What would become of devices. own choice: one that did not answer the last message, or that its call manager does not
 * see, is thought to be offline.
 */
export function previewDevices(
  reader: StoreReader,
  row: Pick<NotificationRow, "priorityLevel">,
  devicePks: readonly number[],
  { ours, troubles, elsewhere }: { ours: number; troubles: ProviderProblems; elsewhere: RemoteActivations },
): PreviewedDevice[] {
  return reader.all<PreviewedDevice & Record<string, string | number | null>>(
    `WITH ${TROUBLES}, ${ELSEWHERE},
     seen AS (
       SELECT d.*, ${deliverabilitySql(ACTING, row)} FROM devices d WHERE d.pk IN (SELECT value FROM json_each(?))
     )
     SELECT id, description AS name, type, coalesce(skipped, failed) AS words,
       CASE WHEN failures > 0 THEN 'It did not answer the last message.'
            WHEN attributes ->> 'IsRegistered' = 'false' THEN 'It is not registered.' END AS doubt,
       EXISTS (SELECT 1 FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk AND l.device_pk = seen.pk
         WHERE n.stage IN ('deliver', 'collect') AND l.ended_at IS NULL) AS busy
     FROM seen`,
    troubles,
    JSON.stringify(elsewhere),
    ours,
    JSON.stringify(devicePks),
  );
}

/** Devices of appliances, by internal key, that a settled message has not reached. */
export function findUnreachedDevices(reader: StoreReader, row: NotificationRow, before: number): number[] {
  const sql = `SELECT device_pk AS pk FROM deliveries WHERE pk IN (${UNREACHED_SQL} AND device_pk IS NOT NULL)`;
  return reader.all<{ pk: number }>(sql, row.pk, before).map(({ pk }) => pk);
}

/** What opening rows again needs to know. */
export interface ReopenDeps {
  ours: number;
  troubles: ProviderProblems;
  providers: DeliveryProviders;
  elsewhere: RemoteActivations;
  /** What carries messages to other appliances; null where nothing does. */
  carrier: string | null;
  /** Rows that ended before are opened; epoch ms. */
  before: number;
}

const REOPEN_SQL = `SET level = CASE WHEN skipped IS NOT NULL THEN 'skipped' WHEN failed IS NOT NULL THEN 'failed' ELSE 'planned' END,
  reason = coalesce(skipped, failed), ended_at = CASE WHEN coalesce(skipped, failed) IS NOT NULL THEN ? END,
  provider = carrier, retry_at = NULL, sent_at = NULL, accepted_at = NULL, playing_at = NULL, proven_at = NULL, late = 0, repeat_level = NULL, not_after = ?, updated_at = ?`;

/** What was proven before stays proven, whatever becomes of the repeat. */
const REPEAT_SQL = `SET repeat_level = iif(skipped IS NULL, 'planned', 'skipped'), reason = 'Not sent again: ' || skipped,
  ended_at = CASE WHEN skipped IS NOT NULL THEN ? END, provider = carrier, retry_at = NULL, not_after = ?, updated_at = ?`;

const REACHED = "level IN ('accepted', 'playing', 'heard', 'confirmed')";

const UNREACHED_SQL = `SELECT pk FROM deliveries WHERE notification_pk = ? AND level IN ${UNREACHED_LEVELS_SQL} AND ended_at < ?`;

/**
 * Opens the ledger rows of devices of appliances again that a settled message has not reached, at most `most`, judged by
 * what is true now; tells how many it has handled. A row is opened once per retry, so it may be repeated.
 */
export function reopenDeviceDeliveries(tx: Transaction, row: NotificationRow, most: number, needs: ReopenDeps): number {
  const { ours, troubles, elsewhere, before } = needs;
  return tx.run(
    `WITH ${TROUBLES}, ${ELSEWHERE},
     judged AS (
       SELECT l.pk AS row, d.provider, ${deliverabilitySql(ACTING, row)}, iif(l.endpoint_pk <> ?, ?, NULL) AS carried
       FROM deliveries l JOIN devices d ON d.pk = l.device_pk
       WHERE l.pk IN (${UNREACHED_SQL} AND device_pk IS NOT NULL LIMIT ?)
     ),
     seen AS (
       SELECT row, skipped, coalesce(carried, provider) AS carrier, iif(carried IS NULL, failed, NULL) AS failed
       FROM judged
     )
     UPDATE deliveries ${REOPEN_SQL} FROM seen WHERE pk = seen.row`,
    troubles,
    JSON.stringify(elsewhere),
    ours,
    ours,
    needs.carrier,
    row.pk,
    before,
    most,
    before,
    row.notAfter,
    before,
  ).changes;
}

/** The same for devices of users; one that was switched off meanwhile is skipped in words. */
export function reopenUserDeliveries(tx: Transaction, row: NotificationRow, most: number, needs: ReopenDeps): number {
  const seen = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed,
      CASE WHEN d.disabled = 1 THEN 'The device was switched off.' ELSE ${NO_CHANNEL} END AS skipped
    FROM deliveries l JOIN user_devices d ON d.pk = l.user_device_pk LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
    WHERE l.pk IN (${UNREACHED_SQL} AND user_device_pk IS NOT NULL LIMIT ?)`;
  const { providers, before } = needs;
  return reopenRows(tx, row, { seen, asked: [row.pk, before, most], channels: channelsOf(tx, providers, row), before });
}

/**
 * The same for all devices of those who have not answered; of those that were reached, that stays written. Goes through
 * the ledger by user devices: looks at `most` after `after`, and tells up to which, and at how many, it has looked.
 */
export function reopenUnansweredDeliveries(
  tx: Transaction,
  row: NotificationRow,
  most: number,
  { providers, before, after }: Pick<ReopenDeps, "providers" | "before"> & { after: number },
): { last: number; n: number } {
  const looked = tx.one<{ last: number | null; n: number }>(
    `SELECT max(device) AS last, count(*) AS n FROM (SELECT user_device_pk AS device FROM deliveries
     WHERE notification_pk = ? AND user_device_pk > ? ORDER BY user_device_pk LIMIT ?)`,
    ...[row.pk, after, most],
  );
  const { last, n } = { last: looked?.last ?? after, n: looked?.n ?? 0 };
  const seen = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed,
      CASE WHEN d.disabled = 1 THEN 'The device was switched off.' ELSE ${NO_CHANNEL} END AS skipped
    FROM deliveries l JOIN user_devices d ON d.pk = l.user_device_pk LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
    WHERE l.pk IN (SELECT o.pk FROM deliveries o JOIN notification_recipients r
        ON r.notification_pk = o.notification_pk AND r.user_pk = o.user_pk
      WHERE o.notification_pk = ? AND o.ended_at < ? AND o.user_device_pk > ? AND o.user_device_pk <= ?
        AND r.confirmation_response IS NULL)`;
  const asked = [row.pk, before, after, last];
  const channels = channelsOf(tx, providers, row);
  // Before the others: a row that is opened anew has no end any more, and is not found again.
  reopenRows(tx, row, { seen: `${seen} AND l.${REACHED}`, asked, channels, before, opened: REPEAT_SQL });
  reopenRows(tx, row, { seen: `${seen} AND NOT l.${REACHED}`, asked, channels, before });
  return { last, n };
}

/** The same for groups of other systems. */
export function reopenGroupDeliveries(tx: Transaction, row: NotificationRow, most: number, needs: ReopenDeps): number {
  const seen = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed, ${NO_GROUP_CHANNEL} AS skipped
    FROM deliveries l JOIN collaboration_groups g ON g.pk = l.collaboration_group_pk
    LEFT JOIN channels c ON c.type = g.type
    WHERE l.pk IN (${UNREACHED_SQL} AND collaboration_group_pk IS NOT NULL LIMIT ?)`;
  const channels = channelsOf(tx, needs.providers, row, "collaboration");
  return reopenRows(tx, row, { seen, asked: [row.pk, needs.before, most], channels, before: needs.before });
}

interface ReopenedRows {
  seen: string;
  asked: readonly number[];
  channels: string;
  before: number;
  opened?: string;
}

/** Opens what `seen` finds, asked with these values, by the channels of its type. */
function reopenRows(
  tx: Transaction,
  row: NotificationRow,
  { seen, asked, channels, before, opened = REOPEN_SQL }: ReopenedRows,
): number {
  return tx.run(
    `WITH ${CHANNELS}, seen AS (${seen}) UPDATE deliveries ${opened} FROM seen WHERE pk = seen.row`,
    ...[channels, ...asked],
    ...[before, row.notAfter, before],
  ).changes;
}

/** Other spellings of user device types, by the one that plugins serve; a test service is one's own. @source decisions.md 5 */
const DEVICE_TYPE_SQL =
  "CASE d.type WHEN 'APNS' THEN 'apns' WHEN 'apns-sandbox' THEN 'apns' WHEN 'GCM' THEN 'Android' ELSE d.type END";

const CHANNELS = `channels(type, provider, words) AS MATERIALIZED (
  SELECT value ->> 'type', value ->> 'provider', value ->> 'words' FROM json_each(?))`;
const NO_CHANNEL =
  "CASE WHEN c.provider IS NULL THEN 'Nothing here serves devices of type ' || d.type || '.' ELSE c.words END";
const NO_GROUP_CHANNEL =
  "CASE WHEN c.provider IS NULL THEN 'Nothing here serves groups of type ' || g.type || '.' ELSE c.words END";

/**
 * The rows for the devices of recipients: carried by the plugin that serves their type, skipped when there is none. own
 * choice: none for those of who has declined, which nobody has missed and nothing is sent to again.
 */
export function insertUserDeliveries(
  tx: Transaction,
  row: NotificationRow,
  range: TargetRange,
  { ours, providers, now }: { ours: number; providers: DeliveryProviders; now: number },
): void {
  tx.run(
    `INSERT OR IGNORE INTO deliveries (${COLUMNS})
     WITH ${CHANNELS},
     seen AS (
       SELECT d.*, c.provider AS carrier, ${NO_CHANNEL} AS skipped
       FROM notification_recipients r JOIN user_devices d ON d.user_pk = r.user_pk
       LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
       WHERE r.notification_pk = ? AND r.user_pk > ? AND r.user_pk <= ? AND r.declined IS NOT 1
         AND d.disabled IS NOT 1
     )
     SELECT uuid7(), ?, ?, ?, NULL, pk, user_pk, ?, device_identifier, coalesce(name, type), type, carrier,
       CASE WHEN skipped IS NOT NULL THEN 'skipped' ELSE 'planned' END,
       skipped, 0, ?, 0, ?, CASE WHEN skipped IS NOT NULL THEN ? END, ?
     FROM seen`,
    channelsOf(tx, providers, row),
    row.pk,
    range.after,
    range.upTo,
    now,
    now,
    row.pk,
    ours,
    row.priorityLevel,
    now,
    now,
    row.notAfter,
  );
}

/** The rows for groups of other systems, which a message names itself: at most 5,000; skipped where no plugin serves their type. */
export function insertGroupDeliveries(
  tx: Transaction,
  row: NotificationRow,
  { ours, providers, now }: { ours: number; providers: DeliveryProviders; now: number },
): void {
  tx.run(
    `INSERT OR IGNORE INTO deliveries (id, created_at, updated_at, notification_pk, collaboration_group_pk, endpoint_pk,
       device_identifier, name, type, provider, level, reason, attempt, priority, late, planned_at, ended_at, not_after)
     WITH ${CHANNELS},
     seen AS (
       SELECT g.*, c.provider AS carrier, ${NO_GROUP_CHANNEL} AS skipped
       FROM notifications__collaboration_group_ids l JOIN collaboration_groups g ON g.pk = l.target
       LEFT JOIN channels c ON c.type = g.type WHERE l.owner = ?
     )
     SELECT uuid7(), ?, ?, ?, pk, ?, id, name, type, carrier,
       CASE WHEN skipped IS NOT NULL THEN 'skipped' ELSE 'planned' END,
       skipped, 0, ?, 0, ?, CASE WHEN skipped IS NOT NULL THEN ? END, ?
     FROM seen`,
    channelsOf(tx, providers, row, "collaboration"),
    row.pk,
    now,
    now,
    row.pk,
    ours,
    row.priorityLevel,
    now,
    now,
    row.notAfter,
  );
}

/** The plugins that serve types of user devices, or of groups, with words for what keeps them from it; JSON. */
function channelsOf(
  reader: StoreReader,
  providers: DeliveryProviders,
  row: MessageSettings,
  kind: "device" | "collaboration" = "device",
): string {
  const settings = parseEffectiveSettings(row);
  const channels = reader.all<{ type: string; provider: string; off: number }>(
    `SELECT device_type AS type, min(plugin) AS provider, min(coalesce(disabled, 0) OR coalesce(global_disabled, 0)) AS off
     FROM extensions WHERE type = ? AND device_type IS NOT NULL AND plugin IS NOT NULL GROUP BY device_type`,
    kind,
  );
  const wordsFor = (provider: string, isOff: boolean): string | null => {
    if (providerSettings(provider, settings, providers).disabled) return excludedByProfile(provider);
    return isOff ? `The plugin ${provider} is switched off.` : providerProblem(provider, providers);
  };
  return JSON.stringify(
    channels.map(({ type, provider, off }) => ({
      type,
      provider,
      words: wordsFor(provider, off === 1),
    })),
  );
}
