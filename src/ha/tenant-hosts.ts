import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { openPostgresConnection } from "./postgres-connection.ts";
import { createTables, withDefaultUser } from "./tenant-database.ts";

/** An organisation, and the host name by which callers reach it. */
export interface TenantHost {
  name: string;
  /** In lower case. */
  host: string;
}

/** Which host names lead to which organisations of a database. All throw UpstreamError where it is not there. */
export interface TenantHosts {
  /** Those that have a host name, by name. */
  list(): Promise<TenantHost[]>;
  /** Makes the organisation where there is none of that name; another host name takes the place of its earlier one. */
  assign(organisation: string, host: string): Promise<void>;
  /** Takes the host name away; all rows stay. Throws CallerError for an organisation without one. */
  release(organisation: string): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 8_000;
/** @source RFC 1123 2.1: letters, digits and hyphens; WHATWG URL, ends in a number: then it is an address */
const HOST_NAME =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!(\d+|0x[0-9a-f]*)$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Its folder is named like it. */
const MAX_TENANT_NAME_LENGTH = 100;

/** Connects, and makes the tables where there are none. Throws UpstreamError where the database can't be reached. */
export async function openTenantHosts(
  url: string,
  clock: Pick<Clock, "after">,
  onFault: (error: unknown) => void = () => undefined,
): Promise<TenantHosts> {
  const config = { connectionString: withDefaultUser(url), application_name: "carillon front" };
  const connection = await openPostgresConnection({ config, clock, onFault });
  try {
    await connection.waitUntilReady(CONNECT_TIMEOUT_MS);
    await createTables(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return {
    list: () =>
      connection.query<{ name: string; host: string }>(
        "SELECT o.name, h.host FROM carillon_hosts h JOIN carillon_organisations o ON o.id = h.organisation ORDER BY o.name",
      ),
    async assign(organisation, given) {
      const host = given.toLowerCase().replace(/\.$/, "");
      if (!HOST_NAME.test(host)) throw new CallerError("invalid-value", `${JSON.stringify(given)} is no host name.`);
      requireTenantName(organisation);
      // Both or nothing.
      const sql = `WITH made AS (INSERT INTO carillon_organisations (name) VALUES ($1)
          ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id)
        INSERT INTO carillon_hosts (host, organisation) SELECT $2, id FROM made
          ON CONFLICT (organisation) DO UPDATE SET host = excluded.host`;
      try {
        await connection.query(sql, [organisation, host]);
      } catch (error) {
        // @source PostgreSQL 15, Appendix A: unique_violation
        if ((error as { code?: string }).code !== "23505") throw error;
        throw new ConflictError(`${host} leads to another organisation.`, "host");
      }
    },
    async release(organisation) {
      const sql =
        "DELETE FROM carillon_hosts USING carillon_organisations o WHERE o.id = organisation AND o.name = $1 RETURNING host";
      const gone = await connection.query(sql, [organisation]);
      if (gone.length === 0) throw new CallerError("not-found", `No host name leads to "${organisation}".`);
    },
    close: () => connection.close(),
  };
}

function requireTenantName(name: string): void {
  if (name.length > 0 && name.length <= MAX_TENANT_NAME_LENGTH && name.trim() === name && !/\p{Cc}/u.test(name)) return;
  throw new CallerError("invalid-value", `An organisation's name has 1 to ${MAX_TENANT_NAME_LENGTH} characters.`);
}
