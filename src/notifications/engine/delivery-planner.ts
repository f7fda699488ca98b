import { type Sentence, sentence, sentenceSql } from "../../lib/sentences/sentences.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { type MessageSettings, parseEffectiveSettings } from "../compose/sending-profile.ts";
import type { TargetRange } from "../recipients/target-ranges.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders, providerSettings } from "./delivery-providers.ts";
import { MISSED_AUDIO_SQL, UNREACHED_LEVELS_SQL } from "./delivery-state.ts";
import type { UnreachedChannels } from "./unreached-channels.ts";

/** JSON: why a provider cannot work, by its name. */
export type ProviderProblems = string;

/** Distinct providers of devices, read by skip scan of the index. */
const PROVIDERS = `WITH RECURSIVE named(name) AS (
    SELECT min(provider) FROM devices
    UNION ALL SELECT (SELECT min(provider) FROM devices WHERE provider > named.name) FROM named WHERE named.name IS NOT NULL
  ) SELECT name FROM named WHERE name IS NOT NULL`;

const COLUMNS = `id, created_at, updated_at, notification_pk, device_pk, user_device_pk, user_pk, endpoint_pk,
  device_identifier, name, type, provider, level, reason, attempt, priority, late, text_only, planned_at, ended_at, not_after`;

/** Devices that another appliance activates, with its key; 0 where none is reachable. */
export type RemoteActivations = readonly (readonly [device: number, endpoint: number])[];

/**
 * Why nothing is sent to a device `d` that the appliance `acting` activates, as two columns, null where there is no
 * reason: `skipped` for a device that is disabled, unlicensed or excluded by the profile, `failed` for one that another
 * appliance serves or whose plugin is missing or disabled. Takes our endpoint's key; needs the table `troubles`. An
 * emergency ignores the licence.
 */
function deliverabilitySql(acting: string, { priorityLevel }: Pick<NotificationRow, "priorityLevel">): string {
  const unlicensed = `WHEN d.is_licensed = 0 THEN ${sentenceSql("delivery.unlicensed")}`;
  return `CASE WHEN d.defunct = 1 THEN ${sentenceSql("delivery.out-of-use")}
      ${priorityLevel === 0 ? "" : unlicensed}
      ELSE (SELECT problem FROM troubles WHERE troubles.provider = d.provider AND skips) END AS skipped,
    CASE WHEN ${acting} = 0 THEN ${sentenceSql("delivery.no-appliance")}
      WHEN ${acting} <> ? THEN ${sentenceSql("delivery.other-appliance")}
      WHEN d.provider IS NULL THEN ${sentenceSql("delivery.no-plugin")}
      ELSE (SELECT problem FROM troubles WHERE troubles.provider = d.provider AND NOT skips) END AS failed`;
}

const ELSEWHERE = `elsewhere(device, endpoint) AS MATERIALIZED (
  SELECT value ->> 0, value ->> 1 FROM json_each(?))`;
const ACTING = "coalesce((SELECT endpoint FROM elsewhere WHERE device = d.pk), d.endpoint_pk)";

const TROUBLES = `troubles(provider, problem, skips) AS MATERIALIZED (
  SELECT key, value ->> 'problem', value ->> 'skips' FROM json_each(?))`;

/** Determines which providers cannot, or must not, deliver now; before the rows of a broadcast are created. */
export function findProviderProblems(
  reader: StoreReader,
  providers: DeliveryProviders,
  row: MessageSettings,
): ProviderProblems {
  const troubles: Record<string, { problem: string; skips: boolean }> = {};
  const settings = parseEffectiveSettings(row);
  for (const { name } of reader.all<{ name: string }>(PROVIDERS)) {
    const skips = providerSettings(name, settings, providers).disabled;
    const problem = skips ? excludedByProfile(name) : providerProblem(name, providers);
    if (problem !== null) troubles[name] = { problem, skips };
  }
  return JSON.stringify(troubles);
}

const excludedByProfile = (provider: string): Sentence => sentence("delivery.profile-excludes", { plugin: provider });

const PROVIDER_PROBLEMS = { absent: "delivery.plugin-absent", disabled: "delivery.plugin-disabled" } as const;
/** SQL: the reasons that `describeProblem` gives to the row's provider. */
const PROVIDER_PROBLEMS_SQL = `(${Object.values(PROVIDER_PROBLEMS)
  .map((code) => sentenceSql(code, { plugin: "provider" }))
  .join(", ")})`;

const describeProblem = (provider: string, state: keyof typeof PROVIDER_PROBLEMS): Sentence =>
  sentence(PROVIDER_PROBLEMS[state], { plugin: provider });

/** The channels that rows of a message could not be given to, with the reason. */
export function findUnreachedChannels(reader: StoreReader, { pk }: Pick<NotificationRow, "pk">): UnreachedChannels {
  const found = reader.all<{ provider: string; reason: Sentence }>(
    `SELECT DISTINCT provider, reason FROM deliveries WHERE notification_pk = ? AND level IN ${UNREACHED_LEVELS_SQL}
       AND ended_at IS NOT NULL AND reason IN ${PROVIDER_PROBLEMS_SQL}`,
    pk,
  );
  return new Map(found.map(({ provider, reason }) => [provider, reason]));
}

function providerProblem(provider: string, providers: DeliveryProviders): string | null {
  const state = providers.state(provider);
  return state === "absent" || state === "disabled" ? describeProblem(provider, state) : null;
}

/** The provider that carries messages to the appliances of a cloud; null where none is connected. */
export function remoteProviderOf({ providers }: { providers: DeliveryProviders }): string | null {
  return providers.state(APPLIANCES_PROVIDER) === "running" ? APPLIANCES_PROVIDER : null;
}

/** Creates the rows for on-premises devices; those of other appliances go through `carrier`, if there is one. */
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
       coalesce(skipped, failed), 0, ?, 0, 0, ?, CASE WHEN coalesce(skipped, failed) IS NOT NULL THEN ? END, ?
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

/** A device in a preview; `problem` says why nothing would be sent, `doubt` why it may not answer. */
export interface PreviewedDevice {
  id: string;
  name: string;
  type: string;
  problem: string | null;
  doubt: string | null;
  /** 1 when another message holds it now, else 0. */
  busy: number;
}

/**
 * What a message would do on devices. A device that did not answer the last message, or that its call manager does not
 * see, is presumed offline.
 */
export function previewDevices(
  reader: StoreReader,
  row: Pick<NotificationRow, "priorityLevel">,
  devicePks: readonly number[],
  { ours, troubles, elsewhere, carrier }: Pick<ReopenDeps, "ours" | "troubles" | "elsewhere" | "carrier">,
): PreviewedDevice[] {
  return reader.all<PreviewedDevice & Record<string, string | number | null>>(
    `WITH ${TROUBLES}, ${ELSEWHERE},
     seen AS (
       SELECT d.*, ${deliverabilitySql(ACTING, row)}, ${ACTING} NOT IN (0, ?) AND ? IS NOT NULL AS is_carried
       FROM devices d WHERE d.pk IN (SELECT value FROM json_each(?))
     )
     SELECT id, description AS name, type, coalesce(skipped, iif(is_carried, NULL, failed)) AS problem,
       CASE WHEN failures > 0 THEN ${sentenceSql("delivery.last-unanswered")}
            WHEN attributes ->> 'IsRegistered' = 'false' THEN ${sentenceSql("delivery.unregistered")} END AS doubt,
       EXISTS (SELECT 1 FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk AND l.device_pk = seen.pk
         WHERE n.stage IN ('deliver', 'collect') AND l.ended_at IS NULL) AS busy
     FROM seen`,
    troubles,
    JSON.stringify(elsewhere),
    ours,
    ours,
    carrier,
    JSON.stringify(devicePks),
  );
}

/** On-premises devices, by internal key, that a settled message has not reached, or whose audio was missed. */
export function findUnheardDevices(reader: StoreReader, row: NotificationRow, before: number): number[] {
  const sql = `SELECT device_pk AS pk FROM deliveries WHERE ${UNHEARD_SQL} AND ended_at < ?`;
  return reader.all<{ pk: number }>(sql, row.pk, before).map(({ pk }) => pk);
}

/** On-premises devices that have not heard a settled message and that it can be sent to now. */
export interface UnheardDevices {
  /** All of them. */
  count: number;
  /** Those that were reached without the audio. */
  withoutAudio: number;
  /** Those that were verified, or have registered, since their delivery ended. */
  back: number;
}

/**
 * Counts the devices to which a settled message could be sent again by this appliance. Leaves out devices at which another
 * appliance has started it: that appliance sends it again.
 */
export function countUnheardDevices(
  reader: StoreReader,
  row: NotificationRow,
  { ours, troubles, elsewhere, carrier }: Pick<ReopenDeps, "ours" | "troubles" | "elsewhere" | "carrier">,
): UnheardDevices {
  const found = reader.one<UnheardDevices & Record<string, number>>(
    `WITH ${TROUBLES}, ${ELSEWHERE},
     judged AS (
       SELECT ${deliverabilitySql(ACTING, row)}, iif(deliveries.endpoint_pk <> ?, ?, NULL) AS carried,
         level NOT IN ${UNREACHED_LEVELS_SQL} AS is_reached,
         d.proven_at > ended_at OR (d.updated_at > ended_at
           AND lower(coalesce(d.attributes ->> 'IsRegistered', d.attributes ->> 'IsRegisteredSip')) = 'true') AS is_back
       FROM deliveries JOIN devices d ON d.pk = device_pk
       WHERE ${UNHEARD_SQL} AND ${automaticSql(row)} AND ended_at IS NOT NULL
     )
     SELECT count(*) AS count, count(*) FILTER (WHERE is_reached) AS withoutAudio,
       count(*) FILTER (WHERE is_back AND NOT is_reached) AS back FROM judged
     WHERE skipped IS NULL AND (failed IS NULL OR carried IS NOT NULL)`,
    troubles,
    JSON.stringify(elsewhere),
    ours,
    ours,
    carrier,
    row.pk,
  );
  return found ?? { count: 0, withoutAudio: 0, back: 0 };
}

/** True where devices have not heard a settled message and this appliance would send it again, once it can. */
export function hasUnheardDevices(reader: StoreReader, row: NotificationRow): boolean {
  return reader.one(`SELECT 1 FROM deliveries WHERE ${UNHEARD_SQL} AND ${automaticSql(row)} LIMIT 1`, row.pk) !== null;
}

export interface ReopenDeps {
  ours: number;
  troubles: ProviderProblems;
  providers: DeliveryProviders;
  elsewhere: RemoteActivations;
  /** The provider that carries messages to other appliances; null without one. */
  carrier: string | null;
  /** Reopens rows that ended before this; epoch ms. */
  before: number;
}

const REOPEN_SQL = `SET level = CASE WHEN skipped IS NOT NULL THEN 'skipped' WHEN failed IS NOT NULL THEN 'failed' ELSE 'planned' END,
  reason = coalesce(skipped, failed), ended_at = CASE WHEN coalesce(skipped, failed) IS NOT NULL THEN ? END,
  provider = carrier, retry_at = NULL, sent_at = NULL, accepted_at = NULL, playing_at = NULL, proven_at = NULL, late = 0, text_only = 0, repeat_level = NULL, not_after = ?, updated_at = ?`;

/** Proven states stay, whatever the result of the repeat. */
const REPEAT_SQL = `SET repeat_level = iif(skipped IS NULL, 'planned', 'skipped'), reason = ${sentenceSql("delivery.not-sent-again", { reason: "skipped" })},
  ended_at = CASE WHEN skipped IS NOT NULL THEN ? END, provider = carrier, retry_at = NULL, not_after = ?, updated_at = ?`;

/** The proven state and the reason stay until the audio is heard. */
const REPEAT_AUDIO_SQL = `SET repeat_level = iif(coalesce(skipped, failed) IS NULL, 'planned', 'skipped'),
  ended_at = CASE WHEN coalesce(skipped, failed) IS NOT NULL THEN ? END, provider = carrier, retry_at = NULL, not_after = ?, updated_at = ?`;

const REACHED = "level IN ('accepted', 'playing', 'heard', 'confirmed')";

const UNREACHED_SQL = `SELECT pk FROM deliveries WHERE notification_pk = ? AND level IN ${UNREACHED_LEVELS_SQL} AND ended_at < ?`;

const UNHEARD_AUDIO_SQL = `SELECT pk FROM deliveries WHERE notification_pk = ? AND ${MISSED_AUDIO_SQL} AND ended_at < ?`;

/** Rows of on-premises devices that did not hear a message, or were not reached. */
const UNHEARD_SQL = `notification_pk = ? AND (level IN ${UNREACHED_LEVELS_SQL} OR ${MISSED_AUDIO_SQL}) AND device_pk IS NOT NULL`;

/** Not carried out by another appliance, which sends its emergencies again on its own. */
const OURS_SQL = `NOT (deliveries.provider IS '${APPLIANCES_PROVIDER}' AND sent_at IS NOT NULL)`;

/** Rows of emergencies that are sent again automatically. A channel skips a device for lack of anything to present. */
function automaticSql({ programmeSha }: Pick<NotificationRow, "programmeSha">): string {
  return `${OURS_SQL}${programmeSha === null ? " AND level <> 'skipped'" : ""}`;
}

/**
 * Reopens the deliveries of on-premises devices that a settled message has not reached, at most `limit`, by the current
 * configuration; returns the number handled. A row is reopened once per retry, so repeating is safe.
 */
export function reopenDeviceDeliveries(tx: Transaction, row: NotificationRow, limit: number, deps: ReopenDeps): number {
  return reopenDevices(tx, row, limit, deps, { rows: UNREACHED_SQL, opened: REOPEN_SQL });
}

/** The same for phones that a settled message has reached without its audio. */
export function reopenMissedAudioDeliveries(
  tx: Transaction,
  row: NotificationRow,
  limit: number,
  deps: ReopenDeps,
): number {
  return reopenDevices(tx, row, limit, deps, { rows: UNHEARD_AUDIO_SQL, opened: REPEAT_AUDIO_SQL });
}

function reopenDevices(
  tx: Transaction,
  row: NotificationRow,
  limit: number,
  deps: ReopenDeps,
  { rows, opened }: { rows: string; opened: string },
): number {
  const { ours, troubles, elsewhere, before } = deps;
  const filter = row.goesAgainTo === "unheard" ? `AND ${automaticSql(row)}` : "";
  return tx.run(
    `WITH ${TROUBLES}, ${ELSEWHERE},
     judged AS (
       SELECT l.pk AS row, d.provider, ${deliverabilitySql(ACTING, row)}, iif(l.endpoint_pk <> ?, ?, NULL) AS carried
       FROM deliveries l JOIN devices d ON d.pk = l.device_pk
       WHERE l.pk IN (${rows} AND device_pk IS NOT NULL ${filter} LIMIT ?)
     ),
     seen AS (
       SELECT row, skipped, coalesce(carried, provider) AS carrier, iif(carried IS NULL, failed, NULL) AS failed
       FROM judged
     )
     UPDATE deliveries ${opened} FROM seen WHERE pk = seen.row`,
    troubles,
    JSON.stringify(elsewhere),
    ours,
    ours,
    deps.carrier,
    row.pk,
    before,
    limit,
    before,
    row.notAfter,
    before,
  ).changes;
}

/** The same for user devices; one disabled since then is skipped with a reason. */
export function reopenUserDeliveries(tx: Transaction, row: NotificationRow, limit: number, deps: ReopenDeps): number {
  const query = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed,
      CASE WHEN d.disabled = 1 THEN ${sentenceSql("delivery.device-disabled")} ELSE ${NO_DELIVERY} END AS skipped
    FROM deliveries l JOIN user_devices d ON d.pk = l.user_device_pk LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
    WHERE l.pk IN (${UNREACHED_SQL} AND user_device_pk IS NOT NULL LIMIT ?)`;
  const { providers, before } = deps;
  return reopenRows(tx, row, {
    query,
    params: [row.pk, before, limit],
    channels: channelsOf(tx, providers, row),
    before,
  });
}

/**
 * The same for all devices of recipients who have not answered; the proven state of reached ones is kept. Scans the
 * ledger by user devices: reads at most `most` after `after`, and returns up to which, and how many, it has read.
 */
export function reopenUnansweredDeliveries(
  tx: Transaction,
  row: NotificationRow,
  limit: number,
  { providers, before, after }: Pick<ReopenDeps, "providers" | "before"> & { after: number },
): { last: number; n: number } {
  const looked = tx.one<{ last: number | null; n: number }>(
    `SELECT max(device) AS last, count(*) AS n FROM (SELECT user_device_pk AS device FROM deliveries
     WHERE notification_pk = ? AND user_device_pk > ? ORDER BY user_device_pk LIMIT ?)`,
    ...[row.pk, after, limit],
  );
  const { last, n } = { last: looked?.last ?? after, n: looked?.n ?? 0 };
  const query = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed,
      CASE WHEN d.disabled = 1 THEN ${sentenceSql("delivery.device-disabled")} ELSE ${NO_DELIVERY} END AS skipped
    FROM deliveries l JOIN user_devices d ON d.pk = l.user_device_pk LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
    WHERE l.pk IN (SELECT o.pk FROM deliveries o JOIN notification_recipients r
        ON r.notification_pk = o.notification_pk AND r.user_pk = o.user_pk
      WHERE o.notification_pk = ? AND o.ended_at < ? AND o.user_device_pk > ? AND o.user_device_pk <= ?
        AND r.confirmation_response IS NULL)`;
  const params = [row.pk, before, after, last];
  const channels = channelsOf(tx, providers, row);
  // Before the others: a reopened row has no end and is not found again.
  reopenRows(tx, row, { query: `${query} AND l.${REACHED}`, params, channels, before, opened: REPEAT_SQL });
  reopenRows(tx, row, { query: `${query} AND NOT l.${REACHED}`, params, channels, before });
  return { last, n };
}

/** The same for groups of other systems. */
export function reopenGroupDeliveries(tx: Transaction, row: NotificationRow, limit: number, deps: ReopenDeps): number {
  const query = `SELECT l.pk AS row, c.provider AS carrier, NULL AS failed, ${NO_GROUP_CHANNEL} AS skipped
    FROM deliveries l JOIN collaboration_groups g ON g.pk = l.collaboration_group_pk
    LEFT JOIN channels c ON c.type = g.type
    WHERE l.pk IN (${UNREACHED_SQL} AND collaboration_group_pk IS NOT NULL LIMIT ?)`;
  const channels = channelsOf(tx, deps.providers, row, "collaboration");
  return reopenRows(tx, row, { query, params: [row.pk, deps.before, limit], channels, before: deps.before });
}

interface ReopenedRows {
  query: string;
  params: readonly number[];
  channels: string;
  before: number;
  opened?: string;
}

/** Reopens the rows that `seen` selects, with these parameters, for the channels of its type. */
function reopenRows(
  tx: Transaction,
  row: NotificationRow,
  { query, params, channels, before, opened = REOPEN_SQL }: ReopenedRows,
): number {
  return tx.run(
    `WITH ${CHANNELS}, seen AS (${query}) UPDATE deliveries ${opened} FROM seen WHERE pk = seen.row`,
    ...[channels, ...params],
    ...[before, row.notAfter, before],
  ).changes;
}

/**
 * Maps user device types to the type that plugins serve; a test service has its own. @source
 * docs/decisions/0005-users-and-devices.md, User devices
 */
const DEVICE_TYPE_SQL =
  "CASE d.type WHEN 'APNS' THEN 'apns' WHEN 'apns-sandbox' THEN 'apns' WHEN 'GCM' THEN 'Android' ELSE d.type END";

const CHANNELS = `channels(type, provider, problem) AS MATERIALIZED (
  SELECT value ->> 'type', value ->> 'provider', value ->> 'problem' FROM json_each(?))`;
const NO_CHANNEL = `CASE WHEN c.provider IS NULL THEN ${sentenceSql("delivery.no-plugin-for-device-type", { type: "d.type" })} ELSE c.problem END`;
/** An address whose owner has not proven it gets nothing. @source docs/decisions/0765-proof-of-own-addresses.md */
const NO_DELIVERY = `CASE WHEN d.awaits_verification = 1 THEN ${sentenceSql("delivery.address-not-verified")} ELSE ${NO_CHANNEL} END`;
const NO_GROUP_CHANNEL = `CASE WHEN c.provider IS NULL THEN ${sentenceSql("delivery.no-plugin-for-group-type", { type: "g.type" })} ELSE c.problem END`;

/**
 * Creates the rows for the recipients' devices: carried by the plugin that serves their type, skipped when there is
 * none. Recipients who opted out get no rows, so they count neither as unreached nor for a retry.
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
       SELECT d.*, c.provider AS carrier, ${NO_DELIVERY} AS skipped
       FROM notification_recipients r JOIN user_devices d ON d.user_pk = r.user_pk
       LEFT JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
       WHERE r.notification_pk = ? AND r.user_pk > ? AND r.user_pk <= ? AND r.declined IS NOT 1
         AND d.disabled IS NOT 1
     )
     SELECT uuid7(), ?, ?, ?, NULL, pk, user_pk, ?, device_identifier, coalesce(name, type), type, carrier,
       CASE WHEN skipped IS NOT NULL THEN 'skipped' ELSE 'planned' END,
       skipped, 0, ?, 0, 0, ?, CASE WHEN skipped IS NOT NULL THEN ? END, ?
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

/**
 * Creates the rows for groups of other systems that a message names: at most 5,000; skipped where no plugin serves
 * their type.
 */
export function insertGroupDeliveries(
  tx: Transaction,
  row: NotificationRow,
  { ours, providers, now }: { ours: number; providers: DeliveryProviders; now: number },
): void {
  tx.run(
    `INSERT OR IGNORE INTO deliveries (id, created_at, updated_at, notification_pk, collaboration_group_pk, endpoint_pk,
       device_identifier, name, type, provider, level, reason, attempt, priority, late, text_only, planned_at, ended_at, not_after)
     WITH ${CHANNELS},
     seen AS (
       SELECT g.*, c.provider AS carrier, ${NO_GROUP_CHANNEL} AS skipped
       FROM notifications__collaboration_group_ids l JOIN collaboration_groups g ON g.pk = l.target
       LEFT JOIN channels c ON c.type = g.type WHERE l.owner = ?
     )
     SELECT uuid7(), ?, ?, ?, pk, ?, id, name, type, carrier,
       CASE WHEN skipped IS NOT NULL THEN 'skipped' ELSE 'planned' END,
       skipped, 0, ?, 0, 0, ?, CASE WHEN skipped IS NOT NULL THEN ? END, ?
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

/** True where a message could be sent to a device of one of these users (internal keys) now. */
export function reachesUsers(
  reader: StoreReader,
  row: MessageSettings,
  userPks: readonly number[],
  providers: DeliveryProviders,
): boolean {
  const found = reader.one(
    `WITH ${CHANNELS} SELECT 1 FROM user_devices d JOIN channels c ON c.type = ${DEVICE_TYPE_SQL}
     WHERE d.user_pk IN (SELECT value FROM json_each(?)) AND d.disabled IS NOT 1 AND d.awaits_verification IS NOT 1 AND c.problem IS NULL LIMIT 1`,
    channelsOf(reader, providers, row),
    JSON.stringify(userPks),
  );
  return found !== null;
}

/** True where a message could be posted to one of its groups of other systems now. */
export function reachesGroups(reader: StoreReader, row: NotificationRow, providers: DeliveryProviders): boolean {
  const found = reader.one(
    `WITH ${CHANNELS} SELECT 1 FROM collaboration_groups g JOIN channels c ON c.type = g.type
     WHERE g.id IN (SELECT value FROM json_each(?)) AND c.problem IS NULL LIMIT 1`,
    channelsOf(reader, providers, row, "collaboration"),
    JSON.stringify(row.collaborationGroupIds),
  );
  return found !== null;
}

/** JSON: the plugins that serve types of user devices, or of groups, and why they cannot deliver. */
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
  const problemFor = (provider: string, isOff: boolean): string | null => {
    if (providerSettings(provider, settings, providers).disabled) return excludedByProfile(provider);
    return isOff ? describeProblem(provider, "disabled") : providerProblem(provider, providers);
  };
  return JSON.stringify(
    channels.map(({ type, provider, off }) => ({
      type,
      provider,
      problem: problemFor(provider, off === 1),
    })),
  );
}
