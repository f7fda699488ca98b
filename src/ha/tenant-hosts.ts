import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { openPostgresConnection } from "./postgres-connection.ts";
import { createTables, withDefaultUser } from "./tenant-database.ts";

/** An organisation and its host name. */
export interface TenantHost {
  name: string;
  /** In lower case. */
  host: string;
}

/** Host names of the organisations of a database. All methods throw UpstreamError if it is unreachable. */
export interface TenantHosts {
  /** Organisations with a host name, by name. */
  list(): Promise<TenantHost[]>;
  /** Sets the host name of an organisation, which is created if it does not exist. */
  assign(organisation: string, host: string): Promise<void>;
  /** Removes the host name; the data stay. Throws CallerError for an organisation without one. */
  release(organisation: string): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 8_000;
/** @source RFC 1123 2.1: letters, digits and hyphens; WHATWG URL, "ends in a number": such a host is an IPv4 address */
const HOST_NAME =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!(\d+|0x[0-9a-f]*)$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The tenant's folder has this name. */
const MAX_TENANT_NAME_LENGTH = 100;

/** Connects, and creates missing tables. Throws UpstreamError if the database is unreachable. */
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
      if (!HOST_NAME.test(host)) throw new CallerError("invalid-value", `${JSON.stringify(given)} is not a valid host name.`);
      requireTenantName(organisation);
      // One statement: both or nothing.
      const sql = `WITH made AS (INSERT INTO carillon_organisations (name) VALUES ($1)
          ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id)
        INSERT INTO carillon_hosts (host, organisation) SELECT $2, id FROM made
          ON CONFLICT (organisation) DO UPDATE SET host = excluded.host`;
      try {
        await connection.query(sql, [organisation, host]);
      } catch (error) {
        // @source PostgreSQL 15, Appendix A: unique_violation
        if ((error as { code?: string }).code !== "23505") throw error;
        throw new ConflictError(`${host} already belongs to another organisation.`, "host");
      }
    },
    async release(organisation) {
      const sql =
        "DELETE FROM carillon_hosts USING carillon_organisations o WHERE o.id = organisation AND o.name = $1 RETURNING host";
      const gone = await connection.query(sql, [organisation]);
      if (gone.length === 0) throw new CallerError("not-found", `The organisation "${organisation}" has no host name.`);
    },
    close: () => connection.close(),
  };
}

function requireTenantName(name: string): void {
  if (name.length > 0 && name.length <= MAX_TENANT_NAME_LENGTH && name.trim() === name && !/\p{Cc}/u.test(name)) return;
  throw new CallerError("invalid-value", `The name of an organisation must have 1 to ${MAX_TENANT_NAME_LENGTH} characters, without control characters or surrounding spaces.`);
}
