import { readableDomains } from "../../src/cloud-link/appliance-authority.ts";
import { domainIdsOf } from "../../src/permissions/domain-membership.ts";
import { type Catalogue, visibilityReferences } from "../../src/schema/catalogue.ts";
import type { AnyResource, RowBase } from "../../src/schema/resource.ts";
import type { Store } from "../../src/store/store.ts";
import { type FeedCursor, readDownstreamPage, readSnapshotPage } from "../../src/sync/hub/downstream-feed.ts";
import { setSiteScopes } from "../../src/sync/hub/handshake.ts";
import { readRowInventory } from "../../src/sync/hub/row-inventory.ts";
import { followScopeChanges } from "../../src/sync/hub/scope-changes.ts";
import { LINK_RECORDS } from "../../src/sync/hub/tables.ts";
import { createInventory, fieldHashes, unequalBuckets } from "../../src/sync/protocol/content-digests.ts";
import { type DownstreamRow, SYNC_LIMITS } from "../../src/sync/protocol/frames.ts";
import type { ReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import type { SqliteProgramRunner } from "../../src/sync/storage/sqlite-program-runner.ts";
import { getRecord, type RowBody } from "../../src/sync/storage/transaction-program.ts";
import { createFakeClock } from "../support/fake-clock.ts";

export interface BoundReaderWorld {
  store: Store;
  catalogue: Catalogue;
  runner: SqliteProgramRunner;
  types: ReplicatedTypes;
  /** Domains of the appliance, topmost first. */
  bound: ReadonlySet<string>;
  root: string;
  endpoint: string;
}

/** Mistakes that are made on purpose; the appliance must then read too much. */
export const READING_BUGS = ["every-row-is-sent", "parts-are-sent", "moves-are-not-followed"] as const;

/** An appliance that keeps all that it is ever sent, and asks for as much as the protocol lets it. */
export interface BoundReader {
  /** Reads on; returns what it has read or still has of other domains, one line each. */
  read(): Promise<string[]>;
  /** Reads all rows anew, and compares what it has with what the cloud says that it should have. */
  verify(): Promise<string[]>;
  readonly rows: ReadonlyMap<string, RowBody>;
}

export async function createBoundReader(world: BoundReaderWorld, bug: string | null = null): Promise<BoundReader> {
  const { store, catalogue, runner, types, bound, root, endpoint } = world;
  const [top] = bound;
  await runner.transact(() =>
    setSiteScopes(endpoint, bug === "every-row-is-sent" ? null : readableDomains([String(top)], store)),
  );
  const sess = (await runner.read(() => getRecord(LINK_RECORDS, endpoint)))?.sess ?? 0;
  const cursor: FeedCursor = {
    ...{ endpoint, sess, types: types.cloudOwned, sentTo: 0, resultsSentTo: 0, lateSentTo: 0 },
    ...{ needsCheckpoint: true, needsDigests: false, snapshot: null },
  };
  const rows = new Map<string, RowBody>();

  function take(received: readonly DownstreamRow[], into: Map<string, RowBody>): void {
    for (const [op, type, id, , body] of received) {
      if (op === "p") into.set(`${type}/${id}`, body as RowBody);
      else into.delete(`${type}/${id}`);
    }
  }

  /** Judged by the rows alone, not by what the feed knows of them. */
  function isReadable(resource: AnyResource, row: RowBody): boolean {
    const isOfDomain = domainIdsOf(row as unknown as RowBase).some((id) => bound.has(id) || id === root);
    if (resource.scope === "domain" && !isOfDomain) return false;
    return visibilityReferences(resource).every((field) => {
      const spec = resource.fields[field];
      const id = row[field];
      if (spec?.kind !== "ref" || typeof id !== "string") return true;
      const of = catalogue.byName(spec.to);
      const target = store.get(of, id) as RowBody | null;
      return target === null || isReadable(of, target);
    });
  }

  function excess(all: ReadonlyMap<string, RowBody>): string[] {
    return [...all].flatMap(([key, body]) => {
      const resource = catalogue.byName(key.split("/")[0] as string);
      if (!isReadable(resource, body)) return [`has ${key} of another domain`];
      const hidden = types.references(resource.name).flatMap(({ name, to }) =>
        [body[name] ?? []].flat().filter((id) => {
          const target = store.get(catalogue.byName(to), String(id)) as RowBody | null;
          return target !== null && to !== "domains" && !isReadable(catalogue.byName(to), target);
        }),
      );
      return hidden.map((id) => `${key} names ${id} of another domain`);
    });
  }

  return {
    rows,
    async read() {
      if (bug !== "moves-are-not-followed") await followScopeChanges(runner, types, () => 1_000);
      for (;;) {
        const page = await runner.read(() => readDownstreamPage(cursor, SYNC_LIMITS, types));
        if (!page) break;
        take(page.frame.rows, rows);
        cursor.sentTo = page.frame.to;
        cursor.needsCheckpoint = !page.frame.mark;
        if (page.frame.mark) break;
      }
      return excess(rows);
    },
    async verify() {
      const all = new Map<string, RowBody>();
      const again: FeedCursor = { ...cursor, snapshot: { h0: cursor.sentTo, after: null } };
      while (again.snapshot) {
        const { frame } = await runner.read(() => readSnapshotPage(again, SYNC_LIMITS, types));
        take(frame.rows, all);
        again.snapshot = frame.end ? null : { h0: frame.h0, after: frame.after };
      }
      const differing = [...new Set([...all.keys(), ...rows.keys()])].filter(
        (key) => JSON.stringify(all.get(key)) !== JSON.stringify(rows.get(key)),
      );
      const unequal: string[] = [];
      for (const type of types.cloudOwned) {
        const asked = { type, fields: Object.keys(catalogue.byName(type).fields) };
        const of = { store: runner, clock: createFakeClock(), types };
        const theirs = await readRowInventory(of, endpoint, asked);
        const mine = createInventory(type);
        for (const [key, body] of all) {
          if (key.startsWith(`${type}/`))
            mine.add(String(body.id), 0, fieldHashes(body, asked.fields, types.idListFields(type)));
        }
        if (unequalBuckets(mine.result(), theirs).length > 0) unequal.push(`inventory of ${type} differs`);
      }
      return [...excess(all), ...differing.map((key) => `${key} differs from a first read`), ...unequal];
    },
  };
}
