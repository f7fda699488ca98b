import type { Clock } from "../lib/clock.ts";
import { PRESENCES } from "../sync/hub/presence-store.ts";
import { FEED_HEAD, LINK_RECORDS } from "../sync/hub/tables.ts";
import { openPostgresConnection, type PostgresConnection } from "./postgres-connection.ts";
import { LEADER_LOCK_CLASS, NODE_LOCK_CLASS } from "./postgres-schema.ts";
import { withDefaultUser } from "./tenant-database.ts";

/** An appliance of an organisation. Times are epoch ms. */
export interface TenantAppliance {
  endpointId: string;
  name: string | null;
  version: string | null;
  /** When it was last connected, to the minute. */
  heardAt: number;
  health: string | null;
  /** Number of changes that it does not have yet; null if it has none at all. */
  behind: number | null;
}

/** A connected node. `acts`: it is the leader. */
export interface TenantNode {
  name: string;
  acts: boolean;
}

export interface TenantOverview {
  name: string;
  /** Its host name; null for none. */
  host: string | null;
  /** Version that wrote last; null before the first write. */
  version: string | null;
  nodes: TenantNode[];
  appliances: TenantAppliance[];
}

interface StoredImage {
  organisation: number;
  image: string;
}

const CONNECT_TIMEOUT_MS = 8_000;
const NAMES = /^carillon /;

/** All organisations of a database by name. Read-only. Throws UpstreamError if the database is unreachable. */
export async function readTenantOverviews(url: string, clock: Pick<Clock, "after">): Promise<TenantOverview[]> {
  const config = { connectionString: withDefaultUser(url), application_name: "carillon overview" };
  const connection = await openPostgresConnection({ config, clock, onFault: () => undefined });
  try {
    await connection.waitUntilReady(CONNECT_TIMEOUT_MS);
    const [known] = await connection.query<{ is: boolean }>("SELECT to_regclass('carillon_rows') IS NOT NULL AS is");
    if (!known?.is) return [];
    const all = await connection.query<{ id: number; name: string; version: string | null }>(
      "SELECT id, name, version FROM carillon_organisations ORDER BY name",
    );
    const hosts = await readHosts(connection);
    const rows = async (tab: string) => {
      const sql = "SELECT organisation, image FROM carillon_rows WHERE tab = $1 AND image IS NOT NULL";
      return groupByTenant(await connection.query<StoredImage>(sql, [tab]));
    };
    const nodes = await connection.query<NodeRow>(NODE_ROWS);
    const tables = {
      presences: await rows(PRESENCES.name),
      links: await rows(LINK_RECORDS.name),
      heads: await rows(FEED_HEAD.name),
      endpoints: await rows("endpoints"),
    };
    return all.map(({ id, name, version }) => ({
      ...{
        name,
        host: hosts.get(id) ?? null,
        version,
        nodes: nodesOf(nodes, id),
        appliances: appliancesOf(tables, id),
      },
    }));
  } finally {
    await connection.close();
  }
}

/** A database of an earlier version has no table of host names. */
async function readHosts(connection: PostgresConnection): Promise<ReadonlyMap<number, string>> {
  const [known] = await connection.query<{ is: boolean }>("SELECT to_regclass('carillon_hosts') IS NOT NULL AS is");
  if (!known?.is) return new Map();
  const rows = await connection.query<{ organisation: number; host: string }>(
    "SELECT organisation, host FROM carillon_hosts",
  );
  return new Map(rows.map(({ organisation, host }) => [organisation, host]));
}

interface NodeRow {
  organisation: number;
  name: string;
  acts: boolean;
}

/** Each node holds a shared lock; the leader holds another one. */
const NODE_ROWS = `SELECT l.objid::int AS organisation, a.application_name AS name, bool_or(l.classid = ${LEADER_LOCK_CLASS}) AS acts
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid IN (${LEADER_LOCK_CLASS}, ${NODE_LOCK_CLASS})
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  GROUP BY 1, 2 ORDER BY 3 DESC, 2`;

function nodesOf(rows: readonly NodeRow[], id: number): TenantNode[] {
  const own = rows.filter(({ organisation }) => organisation === id);
  return own.map(({ name, acts }) => ({ name: name.replace(NAMES, ""), acts }));
}

type Rows = ReadonlyMap<number, readonly Readonly<Record<string, unknown>>[]>;

function groupByTenant(images: readonly StoredImage[]): Rows {
  const groups = new Map<number, Record<string, unknown>[]>();
  for (const { organisation, image } of images) {
    const group = groups.get(organisation) ?? [];
    group.push(JSON.parse(image) as Record<string, unknown>);
    groups.set(organisation, group);
  }
  return groups;
}

function appliancesOf(
  tables: Readonly<Record<"presences" | "links" | "heads" | "endpoints", Rows>>,
  id: number,
): TenantAppliance[] {
  const head = (tables.heads.get(id)?.[0]?.seq as number | undefined) ?? 0;
  const applied = new Map(tables.links.get(id)?.map((row) => [row.endpoint, row.applied as number]));
  const names = new Map(tables.endpoints.get(id)?.map((row) => [row.id, row.name as string | null]));
  const found = (tables.presences.get(id) ?? []).map((row): TenantAppliance => {
    const endpointId = row.endpoint as string;
    const status = row.told === null ? null : (JSON.parse(row.told as string) as { health: string });
    const at = applied.get(endpointId);
    return {
      ...{ endpointId, name: names.get(endpointId) ?? null, version: row.version as string | null },
      ...{ heardAt: row.heardAt as number, health: status?.health ?? null },
      behind: at === undefined ? null : Math.max(0, head - at),
    };
  });
  return found.sort((a, b) => a.heardAt - b.heardAt);
}
