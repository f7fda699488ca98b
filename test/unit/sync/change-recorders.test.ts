import { afterAll, beforeAll, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { newId } from "../../../src/lib/ids.ts";
import { silentLog } from "../../../src/lib/log.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import sites from "../../../src/resources/places/sites.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, Store } from "../../../src/store/store.ts";
import { createSiteChangeRecorder } from "../../../src/sync/capture/change-recorders.ts";
import { productReplicatedTypes } from "../../../src/sync/protocol/product-replicated-types.ts";
import { replicatedBody } from "../../../src/sync/protocol/replicated-body.ts";
import { initializeSyncState } from "../../../src/sync/site/sync-state.ts";
import { LOCAL_EDITS } from "../../../src/sync/site/tables.ts";
import {
  createSqliteProgramRunner,
  type SqliteProgramRunner,
} from "../../../src/sync/storage/sqlite-program-runner.ts";
import { applyRow, putRecord, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { SYNC_TABLES } from "../../../src/wiring/cloud-link.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const system: ActorContext = { ...everybody, actor: { kind: "system", userId: null, name: "cli", address: null } };
const person: ActorContext = { ...everybody, actor: { kind: "user", userId: newId(), name: "Boss", address: null } };

const fail = (error: unknown): never => {
  throw error;
};
let store: Store;
let work: SqliteProgramRunner;
let write: (before: object | null, after: object | null, resource?: object, by?: ActorContext) => Promise<void>;
let decide: (state: "merged" | "refused") => Promise<void>;
let edits: () => string[];

beforeAll(async () => {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const clock = createFakeClock(Date.now());
  const of = { catalogue, clock, events: createEvents(fail), log: silentLog, onFatal: fail, tables: SYNC_TABLES };
  store = openStore({ ...of, dataDir: makeTempDir() });
  const types = productReplicatedTypes(catalogue);
  work = createSqliteProgramRunner(store, catalogue, everybody);
  await work.transact(() => initializeSyncState(newId(), types.fingerprint));
  const record = createSiteChangeRecorder({ runner: work, clock, types, endpoint: newId(), isSuperUser: () => false });
  write = (before, after, resource = sites, by = everybody) =>
    store.write((tx) => record({ resource, before, after } as never, tx, by));
  decide = (state) =>
    work.transact(function* () {
      for (const edit of yield* scanRecords(LOCAL_EDITS)) yield* putRecord(LOCAL_EDITS, { ...edit, state });
    });
  edits = () => work.readSync(() => scanRecords(LOCAL_EDITS)).map(({ edit }) => edit.op);
});
afterAll(() => store.close());

it("sends changes of a row that the cloud accepted but has not sent back as updates, not as creates", async () => {
  const row = { id: newId() };
  await write(null, { ...row, name: "Annex" });
  await decide("merged");
  await write({ ...row, name: "Annex" }, { ...row, name: "Shed" });
  expect(edits()).toEqual(["create", "update"]);
  await decide("merged");
  await write({ ...row, name: "Shed" }, null);
  expect(edits().sort()).toEqual(["create", "delete", "update"]);
});

it("drops references to a missing voice, and does not replicate the load source", async () => {
  const id = newId();
  const body = { name: "Spoken", subject: "Drill", ttsVoiceId: newId() };
  expect(await work.transact(() => applyRow("message-templates", id, body))).toBe("done");
  expect(store.get(messageTemplates, id)).toMatchObject({ name: "Spoken", ttsVoiceId: null });
  expect(Object.keys(replicatedBody(users as AnyResource, { name: "Ann", loadSourceId: newId() }))).toEqual(["name"]);
});

it("sends a row that the cloud refused as a create again", async () => {
  const other = { id: newId() };
  await write(null, { ...other, name: "Hut" });
  await decide("refused");
  await write({ ...other, name: "Hut" }, null);
  expect(edits().filter((op) => op === "delete")).toEqual(["delete"]);
});

it("keeps a local unlock and local users on the appliance", async () => {
  const before = edits().length;
  const [lead, own] = [newId(), newId()];
  await write(null, { id: lead, source: "user-loader", lock: null }, users, system);
  expect(edits().length).toBe(before + 1);
  await write({ id: lead, lock: { start: 1 } }, { id: lead, lock: null }, users, system);
  expect(edits().length).toBe(before + 1);
  await write({ id: lead, lock: null }, { id: lead, lock: { start: 1 } }, users, person);
  expect(edits().length).toBe(before + 2);
  await write({ id: own, lock: null }, { id: own, lock: { start: 1 } }, users, person);
  await write(null, { id: newId(), userId: own, kind: "permanent" }, userTokens, person);
  expect(edits().length).toBe(before + 2);
  // A token that is made here is valid only here.
  await write(null, { id: newId(), userId: lead, kind: "permanent" }, userTokens, person);
  expect(edits().length).toBe(before + 2);
});
