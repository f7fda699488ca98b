import { afterAll, beforeAll, expect, it } from "vitest";
import { providerKey } from "../../../src/access/identity-providers.ts";
import { createEvents } from "../../../src/base/events.ts";
import { silentLog } from "../../../src/base/log.ts";
import { createDirectorySync } from "../../../src/identity/directory-sync.ts";
import type { Vouched } from "../../../src/identity/provider.ts";
import type { Providers } from "../../../src/identity/providers.ts";
import users from "../../../src/resources/people/users.ts";
import identityProviders from "../../../src/resources/security/identity-providers.ts";
import scimGroupMembers from "../../../src/resources/security/scim-group-members.ts";
import scimGroups from "../../../src/resources/security/scim-groups.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../access/access-fixture.ts";

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
});
afterAll(() => fixture.close());

it("holds back who would lose all groups, also to groups that nobody knows", async () => {
  const { store, clock, system: by } = fixture;
  const directory = { ...{ name: "House", type: "ldap", createsGroups: false }, url: "ldap://dir", userBase: "o=x" };
  const row = await store.create(identityProviders, directory, by);
  const known = { name: "All", externalId: "cn=all" };
  const { id: scimGroupId } = await store.create(scimGroups, { ...known, identityProviderId: row.id }, by);
  await store.write((tx) => {
    for (let n = 0; n < 11; n++) {
      const { id: userId } = tx.create(users, { name: `P ${n}` }, by, { providerKey: providerKey(row.id, `p${n}`) });
      tx.create(scimGroupMembers, { scimGroupId, userId }, by);
    }
  });
  let groups = [{ name: "All", externalId: "cn=all,ou=elsewhere" }];
  async function* people(subjects: ReadonlySet<string>): AsyncGenerator<Vouched> {
    for (const subject of subjects) yield { subject, email: null, name: null, groups };
  }
  const providers = { made: () => ({ password: { people } }) } as unknown as Providers;
  const needs = { store, clock, providers, by, events: createEvents(() => undefined), log: silentLog };
  const { signal } = new AbortController();
  const sync = createDirectorySync({ ...needs, signal, schedule: () => () => undefined });
  const outcome = () => {
    const { lastSyncOutcome, lastSyncGone } = store.get(identityProviders, row.id) ?? {};
    return [lastSyncOutcome, lastSyncGone, store.count(scimGroupMembers, { scimGroupId })];
  };
  await sync.run(row);
  expect(outcome()).toEqual(["held-back", 11, 11]);
  groups = [known];
  await sync.run(row);
  expect(outcome()).toEqual(["in-line", 0, 11]);
  groups = [];
  await sync.run(row, true);
  expect(outcome()).toEqual(["in-line", 11, 0]);
});
