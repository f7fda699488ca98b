import { afterAll, beforeAll, expect, it } from "vitest";
import { viewConflict } from "../../../src/cloud-link/edit-conflicts.ts";
import { newId } from "../../../src/lib/ids.ts";
import domains from "../../../src/resources/domains/domains.ts";
import users from "../../../src/resources/people/users.ts";
import sites from "../../../src/resources/places/sites.ts";
import type { EditConflict } from "../../../src/sync/hub/tables.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

let fixture: AccessFixture;
let north: string;
let south: string;
let southern: string;

beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
  const { store, system, rootId } = fixture;
  north = (await store.create(domains, { name: "North", parentId: rootId }, system)).id;
  south = (await store.create(domains, { name: "South", parentId: rootId }, system)).id;
  southern = (await store.create(sites, { name: "Pier" }, system, { domainId: south })).id;
});
afterAll(() => fixture.close());

/** What somebody in the north who may see sites and buildings is shown of an edit whose row is not there. */
async function shown(type: string, op: "create" | "update", set: object): Promise<unknown> {
  const { store, system, catalogue, adminId } = fixture;
  const { id, token } = await fixture.user("Ann", "get /sites/*", "get /sites/*/buildings/*", "get /users/*");
  await store.update(users, id, {}, system, { domainId: north });
  const edit = { op, set, add: {}, remove: {}, was: {} };
  const lost = {
    uid: newId(),
    type,
    id: newId(),
    endpoint: newId(),
    edit,
    lost: ["*"],
    actor: adminId,
    at: 0,
    reason: null,
  };
  const seen = viewConflict(lost as EditConflict, fixture.scope(token), { reader: store, catalogue });
  const byAll = viewConflict(lost as EditConflict, system.scope, { reader: store, catalogue });
  expect(byAll?.actorName).toBe("Admin");
  return seen && [seen.rowName, seen.actorName === adminId];
}

it("shows a conflict of a missing row only to users who would see the row", async () => {
  expect(await shown("sites", "create", { name: "Hut", domainId: north })).toEqual(["Hut", true]);
  expect(await shown("sites", "create", { name: "Hut", domainId: south })).toBeNull();
  expect(await shown("sites", "update", { name: "Hut" })).toBeNull();
});

it("shows a conflict of a nested row to users who see its parent", async () => {
  const { store, system } = fixture;
  const own = await store.create(sites, { name: "Mill" }, system, { domainId: north });
  expect(await shown("buildings", "create", { name: "A", siteId: own.id })).toEqual(["A", true]);
  expect(await shown("buildings", "create", { name: "A", siteId: southern })).toBeNull();
  expect(await shown("distribution-lists", "create", { name: "All", domainId: north })).toBeNull();
});
