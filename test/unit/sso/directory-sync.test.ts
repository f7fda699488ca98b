import { afterAll, beforeAll, expect, it } from "vitest";
import { buildProviderKey } from "../../../src/auth/identity-providers.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import users from "../../../src/resources/people/users.ts";
import identityProviders from "../../../src/resources/security/identity-providers.ts";
import scimGroupMembers from "../../../src/resources/security/scim-group-members.ts";
import scimGroups from "../../../src/resources/security/scim-groups.ts";
import securityGroupScimGroups from "../../../src/resources/security/security-group-scim-groups.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import { createDirectorySync } from "../../../src/sso/directory-sync.ts";
import type { ExternalIdentity } from "../../../src/sso/provider.ts";
import type { IdentityProviders } from "../../../src/sso/providers.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
});
afterAll(() => fixture.close());

it.each([
  ["unknown groups", false],
  ["new groups without rights", true],
])("withholds users who would lose all groups to %s", async (name, createsGroups) => {
  const { store, clock, system: by } = fixture;
  const directory = { ...{ name, type: "ldap", createsGroups }, url: "ldap://dir", userBase: "o=x" };
  const row = await store.create(identityProviders, directory, by);
  const known = { name: "All", externalId: `cn=all ${createsGroups}` };
  const { id: scimGroupId } = await store.create(scimGroups, { ...known, identityProviderId: row.id }, by);
  const { id: securityGroupId } = await store.create(securityGroups, { name }, by);
  await store.create(securityGroupScimGroups, { securityGroupId, scimGroupId }, by);
  await store.write((tx) => {
    for (let n = 0; n < 11; n++) {
      const { id: userId } = tx.create(users, { name: `P ${n}` }, by, {
        providerKey: buildProviderKey(row.id, `p${n}`),
      });
      tx.create(scimGroupMembers, { scimGroupId, userId }, by);
    }
  });
  let groups = [{ name: "Everybody", externalId: `cn=all ${createsGroups},ou=elsewhere` }];
  async function* findPeople(subjects: ReadonlySet<string>): AsyncGenerator<ExternalIdentity> {
    for (const subject of subjects) yield { subject, email: null, name: null, groups };
  }
  const providers = { providerFor: () => ({ password: { findPeople } }) } as unknown as IdentityProviders;
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
