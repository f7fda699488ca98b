import type { Clock } from "../../../base/clock.ts";
import { PRESENCES } from "../../link/presence.ts";
import { HEAD, LINKS } from "../tables.ts";
import { type Connection, openConnection } from "./connection.ts";
import { withUser } from "./organisation.ts";
import { ACTING, NODES } from "./tables.ts";

/** An appliance of an organisation, as its rows say. Times are epoch ms. */
export interface OverviewAppliance {
  endpointId: string;
  name: string | null;
  version: string | null;
  /** When it was there last, to the minute. */
  heardAt: number;
  health: string | null;
  /** Changes of the cloud that it does not have yet, by their number; null where it has none at all. */
  behind: number | null;
}

/** A node that is there at this moment. */
export interface OverviewNode {
  name: string;
  acts: boolean;
}

/** One organisation of a database. */
export interface OverviewOrganisation {
  name: string;
  /** The host name that leads to it; null for none. */
  host: string | null;
  /** The Carillon that wrote last; null before the first. */
  version: string | null;
  nodes: OverviewNode[];
  appliances: OverviewAppliance[];
}

interface Image {
  organisation: number;
  image: string;
}

const WAIT_MS = 8_000;
const NAMES = /^carillon /;

/** All organisations of a database by name, with who is there. Reads alone. Throws UpstreamError where it can't be reached. */
export async function overviewOf(url: string, clock: Pick<Clock, "after">): Promise<OverviewOrganisation[]> {
  const config = { connectionString: withUser(url), application_name: "carillon overview" };
  const connection = await openConnection({ config, clock, onFault: () => undefined });
  try {
    await connection.ready(WAIT_MS);
    const [known] = await connection.query<{ is: boolean }>("SELECT to_regclass('carillon_rows') IS NOT NULL AS is");
    if (!known?.is) return [];
    const all = await connection.query<{ id: number; name: string; version: string | null }>(
      "SELECT id, name, version FROM carillon_organisations ORDER BY name",
    );
    const hosts = await hostsOf(connection);
    const rows = async (tab: string) => {
      const sql = "SELECT organisation, image FROM carillon_rows WHERE tab = $1 AND image IS NOT NULL";
      return groupOf(await connection.query<Image>(sql, [tab]));
    };
    const nodes = await connection.query<NodeRow>(NODE_ROWS);
    const tables = {
      presences: await rows(PRESENCES.name),
      links: await rows(LINKS.name),
      heads: await rows(HEAD.name),
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

/** A database that no Carillon of this version wrote to has no table of them. */
async function hostsOf(connection: Connection): Promise<ReadonlyMap<number, string>> {
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

/** Each node holds a lock that all may have; the one that acts holds another. */
const NODE_ROWS = `SELECT l.objid::int AS organisation, a.application_name AS name, bool_or(l.classid = ${ACTING}) AS acts
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid IN (${ACTING}, ${NODES})
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  GROUP BY 1, 2 ORDER BY 3 DESC, 2`;

function nodesOf(rows: readonly NodeRow[], id: number): OverviewNode[] {
  const own = rows.filter(({ organisation }) => organisation === id);
  return own.map(({ name, acts }) => ({ name: name.replace(NAMES, ""), acts }));
}

type Rows = ReadonlyMap<number, readonly Readonly<Record<string, unknown>>[]>;

function groupOf(images: readonly Image[]): Rows {
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
): OverviewAppliance[] {
  const head = (tables.heads.get(id)?.[0]?.seq as number | undefined) ?? 0;
  const applied = new Map(tables.links.get(id)?.map((row) => [row.endpoint, row.applied as number]));
  const names = new Map(tables.endpoints.get(id)?.map((row) => [row.id, row.name as string | null]));
  const found = (tables.presences.get(id) ?? []).map((row): OverviewAppliance => {
    const endpointId = row.endpoint as string;
    const told = row.told === null ? null : (JSON.parse(row.told as string) as { health: string });
    const at = applied.get(endpointId);
    return {
      ...{ endpointId, name: names.get(endpointId) ?? null, version: row.version as string | null },
      ...{ heardAt: row.heardAt as number, health: told?.health ?? null },
      behind: at === undefined ? null : Math.max(0, head - at),
    };
  });
  return found.sort((a, b) => a.heardAt - b.heardAt);
}
