import type { AccessControl } from "../../../src/auth/principal.ts";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createSsrfGuard } from "../../../src/lib/ssrf-guard.ts";
import { createAccessControl } from "../../../src/permissions/access-control.ts";
import domains from "../../../src/resources/domains/domains.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import users from "../../../src/resources/people/users.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import triggerDeliveries from "../../../src/resources/webhooks/trigger-deliveries.ts";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { type Catalogue, createCatalogue } from "../../../src/schema/catalogue.ts";
import type { RowOf } from "../../../src/schema/resource.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";
import { ruleActionHooks } from "../../../src/webhooks/rule-action-hooks.ts";
import { triggerHooks } from "../../../src/webhooks/trigger-hooks.ts";
import { createTrigger } from "../../../src/webhooks/trigger-service.ts";
import { createWebhookDispatcher, type WebhookDispatcher } from "../../../src/webhooks/webhook-dispatcher.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** Webhooks on a store of their own; loopback addresses are allowed. */
export interface WebhookFixture {
  store: Store;
  access: AccessControl;
  clock: FakeClock;
  events: Events;
  catalogue: Catalogue;
  system: ActorContext;
  /** Makes webhooks that begin at once, in place of those before. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Makes a trigger, of the organisation's own unless a user makes it. */
  trigger(input: object, by?: ActorContext): Promise<{ id: string; secret: string }>;
  list(name: string): Promise<string>;
  rename(id: string, name: string): Promise<void>;
  /** A user with permissions given as `verb spec`, as one who acts. */
  user(name: string, ...grants: string[]): Promise<{ id: string; by(): ActorContext }>;
  /** As `user`, but the user and the permissions belong to a domain. */
  userOf(domainId: string, name: string, ...grants: string[]): Promise<{ id: string; by(): ActorContext }>;
  domain(name: string): Promise<string>;
  row(id: string): RowOf<typeof triggers>;
  deliveries(triggerId: string): RowOf<typeof triggerDeliveries>[];
  /** Resolves when the test holds; looks after each turn of the event loop. */
  until(test: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** Opens a fixture; `allowedTargets` takes the place of the loopback network. */
export async function openWebhookFixture(allowedTargets: readonly string[] = ["127.0.0.0/8"]): Promise<WebhookFixture> {
  const clock = createFakeClock();
  const fail = (error: unknown): never => {
    throw error;
  };
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const policy = createSsrfGuard({ allowedTargets });
  const behaviours = {
    triggers: triggerHooks({ catalogue, policy }) as unknown as ResourceHooks,
    "rule-actions": ruleActionHooks(policy) as unknown as ResourceHooks,
  };
  const store = openStore({
    ...{ dataDir: makeTempDir(), catalogue, hooks: behaviours, clock, events, log: silentLog, onFatal: fail },
  });
  const access = createAccessControl({ store, catalogue, clock, events });
  const system = access.systemContext("test");
  const root = await store.create(domains, { name: "Root" }, system);
  let webhooks: WebhookDispatcher | null = null;
  const stop = async (): Promise<void> => {
    await webhooks?.stop();
    webhooks = null;
  };
  const addUser = async (within: { domainId?: string }, name: string, grants: readonly string[]) => {
    const row = await store.create(users, { name }, system, within);
    for (const grant of grants) {
      const [verb, spec] = grant.split(" ");
      await store.create(userPermissions, { userId: row.id, verb, spec, ...within }, system);
    }
    const { id: userId, pk: userPk } = row;
    const principal = { userId, userPk, name, email: null, tokenId: "", scopes: null, accessToken: null };
    const actor = { kind: "user" as const, userId, name, address: null };
    return { id: userId, by: () => ({ actor, scope: access.resolveScope(principal, null) }) };
  };
  return {
    ...{ store, access, clock, events, catalogue, system, stop },
    async restart() {
      await stop();
      webhooks = createWebhookDispatcher({
        ...{ store, access, catalogue, clock, events, ssrfGuard: policy },
        log: silentLog,
        by: system,
      });
      webhooks.start();
    },
    async trigger(input, by = system) {
      const given = { name: "T", type: "webhook", spec: "/distribution-lists/*", ...input };
      const { row, secret } = await createTrigger(store, given, by);
      return { id: row.id, secret: secret ?? "" };
    },
    list: async (name) => (await store.create(distributionLists, { name }, system)).id,
    async rename(id, name) {
      await store.update(distributionLists, id, { name }, system);
    },
    user: (name, ...grants) => addUser({}, name, grants),
    userOf: (domainId, name, ...grants) => addUser({ domainId }, name, grants),
    domain: async (name) => (await store.create(domains, { name, parentId: root.id }, system)).id,
    row: (id) => store.get(triggers, id) as RowOf<typeof triggers>,
    deliveries: (triggerId) => store.find(triggerDeliveries, { triggerId }),
    async until(test) {
      while (!test()) await new Promise((resolve) => setImmediate(resolve));
    },
    async close() {
      await stop();
      access.close();
      await store.close();
    },
  };
}
