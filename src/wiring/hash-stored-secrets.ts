import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { hashWithArgon2 } from "../lib/password-hash.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { hashedFields } from "../store/secret-hashes.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { buildTableLayout } from "../store/table-layout.ts";

export interface StoredSecretDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  by: ActorContext;
  /** Whether the cloud has the row, or will have it. */
  isShared(type: string, id: string): boolean;
}

export interface SecretHashing {
  start(): void;
  /** Resolves when all are hashed, or could not be. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const ROWS_PER_READ = 50;

/**
 * Hashes the PINs that earlier releases stored encrypted, so that they replicate; they are valid before, too. Nothing is
 * sent of rows that the cloud does not have.
 * @source docs/decisions/0466-secrets-and-replication.md
 */
export function createSecretHashing(deps: StoredSecretDeps): SecretHashing {
  const { store, catalogue, clock, log } = deps;
  let isStopped = false;
  let done: Promise<void> = Promise.resolve();

  async function hashField(resource: AnyResource, field: string): Promise<number> {
    const { table, columnOf } = buildTableLayout(resource, catalogue);
    const column = columnOf(field)?.name;
    const sql = `SELECT pk, id, ${column} AS sealed FROM ${table} WHERE ${column} LIKE 'v1:%' AND pk > ? ORDER BY pk LIMIT ${ROWS_PER_READ}`;
    let count = 0;
    for (let after = 0; !isStopped; ) {
      const rows = store.all<{ pk: number; id: string; sealed: string }>(sql, after);
      for (const { id, sealed } of rows) {
        if (isStopped) return count;
        if (await hashValue(resource, id, { field, sealed })) count += 1;
        await yieldToEventLoop(clock);
      }
      if (rows.length < ROWS_PER_READ) return count;
      after = rows.at(-1)?.pk ?? after;
    }
    return count;
  }

  async function hashValue(
    resource: AnyResource,
    id: string,
    { field, sealed }: { field: string; sealed: string },
  ): Promise<boolean> {
    try {
      const hash = await hashWithArgon2(store.secrets.open(sealed));
      const by = deps.isShared(resource.name, id) ? deps.by : { ...deps.by, replicated: true };
      return await store.write((tx) => {
        const row = tx.get(resource, id) as Record<string, unknown> | null;
        if (row?.[field] !== sealed) return false;
        tx.update(resource, id, {}, by, { [field]: hash } as never);
        return true;
      });
    } catch (error) {
      log.warn(
        { event: "secret.hash_failed", err: error, resource: resource.name, id, field },
        "failed to hash a stored PIN; set it again",
      );
      return false;
    }
  }

  async function run(): Promise<void> {
    let count = 0;
    for (const resource of catalogue.all)
      for (const field of hashedFields(resource)) count += await hashField(resource, field);
    if (count > 0) log.info({ event: "secret.hashed", count }, "PINs of an earlier release are stored as hashes now");
  }

  return {
    start() {
      done = run().catch((error: unknown) =>
        log.error(
          { event: "secret.hashing_failed", err: error },
          "failed to hash stored PINs; tried again at the next start",
        ),
      );
    },
    idle: () => done,
    async stop() {
      isStopped = true;
      await done;
    },
  };
}
