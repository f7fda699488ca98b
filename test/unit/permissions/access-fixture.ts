import { createNewPasswords, type NewPasswords } from "../../../src/auth/new-passwords.ts";
import type { AccessControl, Principal } from "../../../src/auth/principal.ts";
import { createToken } from "../../../src/auth/tokens.ts";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createAccessControl } from "../../../src/permissions/access-control.ts";
import { accessHooks } from "../../../src/permissions/hooks.ts";
import domains from "../../../src/resources/domains/domains.ts";
import users from "../../../src/resources/people/users.ts";
import securityGroupMembers from "../../../src/resources/security/security-group-members.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import { type Catalogue, createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { AccessScope, ActorContext, Store } from "../../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

/** An appliance's access room on a store of its own, with a root domain and one super user. */
export interface AccessFixture {
  store: Store;
  access: AccessControl;
  passwords: NewPasswords;
  clock: FakeClock;
  events: Events;
  catalogue: Catalogue;
  system: ActorContext;
  rootId: string;
  adminsId: string;
  adminId: string;
  /** Makes a user with permissions given as `verb spec`, and a token of its own. */
  user(name: string, ...grants: string[]): Promise<{ id: string; token: string }>;
  principal(token: string): Principal;
  scope(token: string): AccessScope;
  by(token: string): ActorContext;
  close(): Promise<void>;
}

/** Opens the fixture in the empty folder `dataDir`. */
export async function openAccess(dataDir: string): Promise<AccessFixture> {
  const clock = createFakeClock();
  const fail = (error: unknown): never => {
    throw error;
  };
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const hooks = Object.fromEntries(accessHooks(clock, catalogue).map(([resource, bound]) => [resource.name, bound]));
  const store = openStore({ dataDir, catalogue, hooks, clock, events, log: silentLog, onFatal: fail });
  const access = createAccessControl({ store, catalogue, clock, events });
  const system = access.systemContext("test");
  const root = await store.create(domains, { name: "Root" }, system);
  const admins = await store.create(securityGroups, { name: "Administrators", superGroup: true }, system);
  const admin = await store.create(users, { name: "Admin", email: "admin@example.org" }, system);
  await store.create(securityGroupMembers, { securityGroupId: admins.id, userId: admin.id }, system);

  const passwords = createNewPasswords(clock, 12);
  const principal = (token: string): Principal => {
    const found = access.authenticate(token);
    if (!found) throw new Error("the token is refused");
    return found;
  };
  const scope = (token: string): AccessScope => access.resolveScope(principal(token), null);
  return {
    store,
    access,
    passwords,
    events,
    catalogue,
    clock,
    system,
    rootId: root.id,
    adminsId: admins.id,
    adminId: admin.id,
    async user(name, ...grants) {
      const { id } = await store.create(users, { name }, system);
      for (const grant of grants) {
        const [verb, spec] = grant.split(" ");
        await store.create(userPermissions, { userId: id, verb, spec }, system);
      }
      const { token } = await createToken(store, id, { name: "test" }, system);
      return { id, token };
    },
    principal,
    scope,
    by(token) {
      const { userId, name } = principal(token);
      return { actor: { kind: "user", userId, name, address: "127.0.0.1" }, scope: scope(token) };
    },
    async close() {
      access.close();
      await passwords.close();
      await store.close();
    },
  };
}
