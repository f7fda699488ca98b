import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import sites from "../resources/places/sites.ts";
import type { StoreReader } from "../store/store.ts";
import { readPresence } from "../sync/hub/presence-store.ts";
import {
  APPLIANCE_DOMAINS,
  FEED_HEAD,
  FEED_RECORDS,
  ISSUED_COMMANDS,
  LINK_RECORDS,
  SITE_RECORDS,
  WAITING_EDITS,
  WAITING_ROWS,
} from "../sync/hub/tables.ts";
import { APPLIANCE_IDENTITIES } from "../sync/identity/enrolment-records.ts";

/** An ACTIVE alarm of an appliance. All times here are epoch ms. */
export interface ApplianceAlarm {
  alarmId: string;
  type: string;
  since: number;
  reasons: string[];
}

/** Location of an appliance; coordinates in degrees, null if the site has none. */
export interface ApplianceSite {
  siteId: string;
  name: string;
  latitude: number | null;
  longitude: number | null;
}

/** Status of an appliance as the cloud knows it. */
export interface ApplianceStatus {
  endpointId: string;
  name: string | null;
  /** Null if none is assigned. */
  site: ApplianceSite | null;
  /** Ids of the topmost domains that it is bound to; null for the whole organisation. */
  domainIds: readonly string[] | null;
  /** `never`: not connected yet; `revoked`: its keys were revoked. */
  link: "linked" | "away" | "never" | "revoked";
  /** Start of the present link state; null if it was never connected. */
  since: number | null;
  /** When it was last connected; null for never. */
  heardAt: number | null;
  version: string | null;
  certificateUntil: number | null;
  /** Position of the appliance in the cloud's feed, and the head of the feed. */
  position: number | null;
  head: number;
  /** Rows that it does not have yet, up to 10,000, and when the oldest of them was written. */
  rowsBehind: number | null;
  behindSince: number | null;
  /** Commands without an outcome. */
  openCommands: number;
  /** Rows and edits of the appliance that wait here for rows that they refer to, and the first of them. */
  waitingRows: number;
  waits: readonly { type: string; id: string; reason: string }[];
  /** Last reported health; null if none was reported yet. */
  health: { status: "GREEN" | "YELLOW" | "RED"; reasons: readonly string[]; at: number } | null;
  /** Last reported size of its outbox, up to 10,000, and when the oldest record was written. */
  unsentRows: number | null;
  unsentSince: number | null;
  alarms: ApplianceAlarm[];
}

export interface ApplianceStatusDeps {
  reader: StoreReader;
  clock: Pick<Clock, "defer" | "now">;
  /** The cloud's own endpoint, which is excluded. */
  ownId(): string;
  /** Ids of the connected appliances. */
  connected(): readonly string[];
}

const MAX_COUNTED = 10_000;
const MAX_APPLIANCES = 10_000;

/** Status of all appliances of the organisation, in order of creation. Yields to the event loop between them. */
export async function listApplianceStatuses(deps: ApplianceStatusDeps): Promise<ApplianceStatus[]> {
  const { reader, clock } = deps;
  const connected = new Set(deps.connected());
  const readLag = createLagReader(reader);
  const statuses: ApplianceStatus[] = [];
  for (const { pk, id, name, siteId } of reader.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, MAX_APPLIANCES)) {
    if (id === deps.ownId()) continue;
    statuses.push({
      ...{
        endpointId: id,
        name,
        site: readSite(siteId, reader),
        domainIds: readDomainIds(id, reader),
        ...readLink(id, connected.has(id), reader, clock.now()),
        ...readLag(id),
      },
      ...{ ...countWaiting(id, reader), alarms: readAlarms(pk, reader) },
    });
    await yieldToEventLoop(clock);
  }
  return statuses;
}

function readSite(siteId: string | null, reader: StoreReader): ApplianceSite | null {
  const found = siteId === null ? null : reader.get(sites, siteId);
  return found && { siteId: found.id, name: found.name, latitude: found.latitude, longitude: found.longitude };
}

function readDomainIds(id: string, reader: StoreReader): readonly string[] | null {
  const sql = `SELECT domainIds FROM ${APPLIANCE_DOMAINS.name} WHERE endpoint = ?`;
  const found = reader.one<{ domainIds: string }>(sql, id);
  return found && (JSON.parse(found.domainIds) as string[]);
}

type LinkFields = Pick<
  ApplianceStatus,
  "link" | "since" | "heardAt" | "version" | "certificateUntil" | "health" | "unsentRows" | "unsentSince"
>;

function readLink(id: string, isLinked: boolean, reader: StoreReader, now: number): LinkFields {
  const found = readPresence(reader, id);
  const key = reader.one<{ until: number }>(
    `SELECT until FROM ${APPLIANCE_IDENTITIES.name} WHERE endpoint = ? AND revokedAt IS NULL AND until > ? ORDER BY until DESC LIMIT 1`,
    ...[id, now],
  );
  const reported = found?.told ?? null;
  const wasKnown = reader.one(`SELECT 1 FROM ${APPLIANCE_IDENTITIES.name} WHERE endpoint = ? LIMIT 1`, id) !== null;
  return {
    link: isLinked ? "linked" : key ? "away" : wasKnown ? "revoked" : "never",
    since: found?.since ?? null,
    heardAt: isLinked ? now : (found?.heardAt ?? null),
    version: found?.version ?? null,
    certificateUntil: key?.until ?? null,
    health: reported && { status: reported.health, reasons: reported.reasons, at: reported.since },
    unsentRows: reported?.unsent ?? null,
    unsentSince: reported?.unsentSince ?? null,
  };
}

type ReplicationLag = Pick<ApplianceStatus, "position" | "head" | "rowsBehind" | "behindSince">;

/** Replication lag; appliances at the same position share one query. */
function createLagReader(reader: StoreReader): (id: string) => ReplicationLag {
  const head = reader.one<{ seq: number }>(`SELECT seq FROM ${FEED_HEAD.name}`)?.seq ?? 0;
  const known = new Map<number, Pick<ReplicationLag, "rowsBehind" | "behindSince">>();
  const count = (after: number): Pick<ReplicationLag, "rowsBehind" | "behindSince"> => ({
    rowsBehind:
      reader.one<{ n: number }>(
        `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${FEED_RECORDS.name} WHERE seq > ? LIMIT ${MAX_COUNTED})`,
        after,
      )?.n ?? 0,
    behindSince:
      reader.one<{ at: number }>(`SELECT at FROM ${FEED_RECORDS.name} WHERE seq > ? ORDER BY seq LIMIT 1`, after)?.at ??
      null,
  });
  return (id) => {
    const link = reader.one<{ applied: number }>(`SELECT applied FROM ${LINK_RECORDS.name} WHERE endpoint = ?`, id);
    if (!link) return { position: null, head, rowsBehind: null, behindSince: null };
    const counted = known.get(link.applied) ?? count(link.applied);
    known.set(link.applied, counted);
    return { position: link.applied, head, ...counted };
  };
}

const MAX_LISTED = 20;

function countWaiting(
  id: string,
  reader: StoreReader,
): Pick<ApplianceStatus, "openCommands" | "waitingRows" | "waits"> {
  const count = (sql: string): number => reader.one<{ n: number }>(`SELECT COUNT(*) AS n FROM ${sql}`, id)?.n ?? 0;
  const rows = `${WAITING_ROWS.name} w JOIN ${SITE_RECORDS.name} s ON s.type = w.type AND s.id = w.id WHERE s.endpoint = ?`;
  const edits = `${WAITING_EDITS.name} w WHERE w.endpoint = ?`;
  const list = (from: string): { type: string; id: string; reason: string }[] =>
    reader.all(`SELECT w.type AS type, w.id AS id, w.reason AS reason FROM ${from} LIMIT ${MAX_LISTED}`, id);
  return {
    openCommands: count(`${ISSUED_COMMANDS.name} WHERE endpoint = ? AND open = 1`),
    waitingRows: count(rows) + count(edits),
    waits: [...list(rows), ...list(edits)].slice(0, MAX_LISTED),
  };
}

/** Alarms whose newest event of the appliance is ACTIVE. */
function readAlarms(pk: number, reader: StoreReader): ApplianceAlarm[] {
  const found = reader.all<{ alarmId: string; type: string; since: number; reasons: string }>(
    `SELECT a.id AS alarmId, a.type, e.created_at AS since, e.reasons FROM alarm_events e JOIN alarms a ON a.pk = e.alarm_pk
     WHERE e.status = 'ACTIVE' AND e.pk IN (SELECT MAX(pk) FROM alarm_events WHERE endpoint_pk = ? GROUP BY alarm_pk)
     ORDER BY e.created_at`,
    pk,
  );
  return found.map(({ reasons, ...rest }) => ({ ...rest, reasons: JSON.parse(reasons) as string[] }));
}
