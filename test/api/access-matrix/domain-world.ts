import { createToken } from "../../../src/auth/tokens.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import domains from "../../../src/resources/domains/domains.ts";
import deliveries from "../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import scenarioNotifications from "../../../src/resources/scenarios/scenario-notifications.ts";
import scenarios from "../../../src/resources/scenarios/scenarios.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import { methodsOf, pathParams } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import type { ApiFixture } from "../api-fixture.ts";
import type { RequestOptions } from "../http-client.ts";
import { SAMPLE_OVERRIDES } from "../sample-overrides.ts";
import { createSampleRows, existingRows, requestOptionsFor } from "../sample-rows.ts";

/** root > parent > { own > child, sibling } */
export const DOMAIN_NAMES = ["root", "parent", "own", "child", "sibling"] as const;
/** Name of a domain of the test's tree. */
export type DomainName = (typeof DOMAIN_NAMES)[number];

/** One row as the database holds it: plain facts, from which the oracle reasons. */
export interface MatrixRow {
  resource: string;
  id: string;
  /** Every ref field's id by name. */
  refs: Readonly<Record<string, string>>;
  domains: readonly string[];
  shared: boolean;
  /** For rows of the organisation that belong to a domain. */
  belongsTo: string | null;
  /** What must not be read where the row is out of sight. */
  name: string | null;
}

/** Who asks. */
export interface MatrixActor {
  name: string;
  userId: string | null;
  token: string | null;
  /** Where the user is; null where nobody is recognised. */
  home: DomainName | null;
  /** Domain within which alone its grants hold; null for wherever it may act. */
  limitedTo: DomainName | null;
  /** May do everything. */
  isSuper: boolean;
  /** Methods it has on every path; ignored for super users. */
  verbs: readonly string[];
  /** First segments that its token may read; null for all. */
  reads: readonly string[] | null;
}

/** A domain tree full of rows, and those who look at it. */
export interface DomainWorld {
  api: ApiFixture;
  domainOf: Readonly<Record<DomainName, string>>;
  facts: readonly MatrixRow[];
  byId: ReadonlyMap<string, MatrixRow>;
  byResource: ReadonlyMap<string, readonly MatrixRow[]>;
  actors: readonly MatrixActor[];
}

/** Fills an empty appliance: a row of every family in every domain, shared ones, one in two domains, and rows below them. */
export async function buildDomainWorld(api: ApiFixture): Promise<DomainWorld> {
  const domainOf = await createDomainTree(api);
  // Collaboration groups are of a type that an extension serves.
  const served = {
    name: "Chat rooms",
    type: "collaboration",
    deviceType: SAMPLE_OVERRIDES["collaboration-groups.type"],
  };
  await api.store.create(extensions, served, api.system);
  for (const place of DOMAIN_NAMES) await fill(api, place, domainOf[place]);
  await joinTwo(api, domainOf);
  const actors = await createActors(api, domainOf);
  const facts = readMatrixRows(api);
  const byResource = new Map<string, MatrixRow[]>(api.declarations.map(({ name }) => [name, []]));
  for (const fact of facts) byResource.get(fact.resource)?.push(fact);
  return { api, domainOf, facts, byId: new Map(facts.map((fact) => [fact.id, fact])), byResource, actors };
}

async function createDomainTree(api: ApiFixture): Promise<Record<DomainName, string>> {
  const make = async (place: DomainName, parentId: string): Promise<string> =>
    (await api.store.create(domains, { name: `tag-${place}-domain`, parentId }, api.system)).id;
  const parent = await make("parent", api.rootId);
  const own = await make("own", parent);
  return { root: api.rootId, parent, own, child: await make("child", own), sibling: await make("sibling", parent) };
}

/** Requests of the administrator in one domain. */
function actingIn(api: ApiFixture, domainId: string): ApiFixture {
  const call = (method: string, path: string, sending: RequestOptions = {}) =>
    api.call(method, path, { ...sending, headers: { ...sending.headers, "x-service-domain": domainId } });
  return { ...api, call };
}

async function fill(api: ApiFixture, place: DomainName, domainId: string): Promise<void> {
  const here = actingIn(api, domainId);
  const names = api.declarations.filter(({ fields }) => fields.name?.kind === "text");
  const tagged = Object.fromEntries(
    names.map(({ name, fields }) => {
      const tag = `tag-${place}-${name}`;
      const isUnique = fields.name?.kind === "text" && fields.name.unique === true;
      return [`${name}.name`, isUnique ? (serial: number) => `${tag} ${serial}` : tag];
    }),
  );
  const fixed = { "devices.defunct": false };
  const foreign = api.declarations.filter(({ fields }) => fields.externalId?.kind === "text");
  const unique = {
    "users.email": (serial: number) => `tag-${place}-mail-${serial}@example.org`,
    ...Object.fromEntries(foreign.map(({ name }) => [`${name}.externalId`, `tag-${place}`])),
  };
  const given = {
    ...existingRows(() => here),
    domains: async () => domainId,
    notifications: async () => notificationId,
  };
  const rows = createSampleRows(() => here, { ...SAMPLE_OVERRIDES, ...tagged, ...unique, ...fixed }, given);
  const notificationId = await broadcast(api, place, domainId);
  for (const resource of api.declarations) {
    if (["domains", "notifications", "scenario-notifications", "alarm-events"].includes(resource.name)) continue;
    if (resource.scope === "organisation" && !resource.domainField && place !== "root") continue;
    const path = resource.paths.find((each) => methodsOf(each).includes("post"));
    if (!path) continue;
    const at = await rows.place(path, resource);
    const canShare = "isShared" in resource.fields;
    for (const isShared of canShare ? [false, true] : [false]) {
      const input = { ...(await rows.input(resource, at)), ...(canShare ? { isShared } : {}) };
      const made = await here.call("POST", at.collection, requestOptionsFor(resource, input));
      if (made.status !== 200) throw new Error(`${resource.name} in ${place}: ${made.text}`);
    }
  }
  await startScenario(api, domainId);
}

/** A scenario of the domain that was started. */
async function startScenario({ store, system }: ApiFixture, domainId: string): Promise<void> {
  const [scenario] = store.find(scenarios, { domainId }, 1);
  if (!scenario) throw new Error("the domain has no scenario");
  await store.create(scenarioNotifications, { scenarioId: scenario.id }, system, { domainId });
}

/** A sent message with a recipient, a diary entry and a delivery. */
async function broadcast({ store, system }: ApiFixture, place: DomainName, domainId: string): Promise<string> {
  const { id } = await store.create(notifications, { subject: `tag-${place}-notification` }, system, {
    stage: "settled",
    domainId,
  });
  const user = await store.create(users, { name: `tag-${place}-recipient` }, system, { domainId });
  const ids = { notificationId: id, userId: user.id };
  await store.create(notificationRecipients, {}, system, { ...ids, name: user.name } as never);
  await store.create(notificationActivities, {}, system, { ...ids, type: "info" } as never);
  await store.create(deliveries, {}, system, { notificationId: id } as never).catch(() => undefined);
  return id;
}

/** A list in two domains beside each other, and one in a domain and the child of its neighbour. */
async function joinTwo(api: ApiFixture, domainOf: Readonly<Record<DomainName, string>>): Promise<void> {
  for (const [home, other] of [
    ["own", "sibling"],
    ["sibling", "child"],
  ] as const) {
    const made = await actingIn(api, domainOf[home]).call("POST", "/distribution-lists", {
      json: { name: `tag-${home}-both` },
    });
    await api.call("POST", `/domains/${domainOf[other]}/distribution-lists`, { json: { id: made.body.id } });
    const lists = api.store.all<{ id: string }>("SELECT id FROM distribution_lists").map(({ id }) => id);
    const json = { name: `tag-${home}-wide`, subject: "s", distributionListIds: lists };
    const wide = await api.call("POST", "/message-templates", { json });
    await api.call("POST", `/message-templates/${wide.body.id}/domains`, {
      json: { id: domainOf[home], demote: true },
    });
  }
}

const ALL_VERBS = ["get", "put", "post", "delete"];

async function createActors(api: ApiFixture, domainOf: Readonly<Record<DomainName, string>>): Promise<MatrixActor[]> {
  const join = async (
    name: string,
    home: DomainName,
    verbs: readonly string[],
    { reads = null, limitedTo = null }: { reads?: string[] | null; limitedTo?: DomainName | null } = {},
  ) => {
    const { id } = await api.store.create(users, { name: `tag-${home}-${name}` }, api.system, {
      domainId: domainOf[home],
    });
    const specs = specsOf(api.declarations);
    const domainId = limitedTo && domainOf[limitedTo];
    await api.store.write((tx) => {
      for (const spec of specs)
        for (const verb of verbs) tx.create(userPermissions, { userId: id, verb, spec, domainId }, api.system);
    });
    const { row, token } = await createToken(api.store, id, { name: `tag-${home}-token` }, api.system);
    if (reads) {
      const scope = reads.map((family) => `urn:service:${family}:read`).join(" ");
      await api.store.update(userTokens, row.id, {}, api.system, { scope });
    }
    return { actor: { name, userId: id, token, home, limitedTo, isSuper: false, verbs, reads }, tokenId: row.id };
  };
  const reader = await join("reader", "own", ["get"]);
  const revoked = await join("revoked", "own", ["get"]);
  await api.store.remove(userTokens, revoked.tokenId, api.system);
  const locked = await join("locked", "own", ["get"]);
  const start = new Date(Date.now() - 60_000).toISOString();
  await api.store.update(users, locked.actor.userId, { lock: { start, end: null } }, api.system);
  const others = [
    await join("parent", "parent", ["get"]),
    await join("child", "child", ["get"]),
    await join("sibling", "sibling", ["get"]),
    await join("writer", "own", ALL_VERBS),
    await join("narrow", "own", ["get"], { reads: ["users", "message-templates"] }),
    await join("limited", "sibling", ["get"], { limitedTo: "own" }),
  ].map(({ actor }) => actor);
  const nobody = { userId: null, home: null, limitedTo: null, isSuper: false, verbs: [], reads: null };
  return [
    { ...nobody, name: "administrator", userId: api.adminId, token: api.token, home: "root", isSuper: true },
    reader.actor,
    ...others,
    { ...nobody, name: "anonymous", token: null },
    { ...nobody, name: "revoked", token: revoked.actor.token },
    { ...nobody, name: "locked", token: locked.actor.token },
  ];
}

/** Every path of the catalogue, and those of membership. */
function specsOf(declarations: readonly AnyResource[]): string[] {
  const patterns = declarations.flatMap(({ paths }) => paths.map(({ at }) => at));
  const families = declarations.filter(({ scope }) => scope === "domain").map(({ paths }) => paths[0]?.at as string);
  const membership = families.flatMap((at) => [`domains/{x}/${at}`, `${at}/{x}/domains`]);
  const specs = [...patterns, ...membership].map((at) => `/${at.replaceAll(/\{\w+\}/g, "*")}/*`);
  return [...new Set(specs)];
}

function readMatrixRows({ store, declarations }: ApiFixture): MatrixRow[] {
  return declarations.flatMap((resource) =>
    store.find(resource, {}, 100_000).map((row): MatrixRow => {
      const values = row as unknown as Record<string, unknown>;
      const refs = Object.entries(resource.fields).flatMap(([field, { kind }]) =>
        kind === "ref" && typeof values[field] === "string" ? [[field, values[field]]] : [],
      );
      const { domainField } = resource;
      const inDomain = resource.scope === "domain" && row.domainId !== null;
      return {
        resource: resource.name,
        id: row.id,
        refs: Object.fromEntries(refs),
        domains: inDomain ? [row.domainId as string, ...(row.alsoIn ?? [])] : [],
        shared: values.isShared === true,
        belongsTo: domainField ? ((domainField === "id" ? row.id : values[domainField]) as string | null) : null,
        name: /tag-[a-z]+-[a-z-]+/.exec(String(values.name ?? values.subject ?? ""))?.[0] ?? null,
      };
    }),
  );
}

/** Names of the placeholders above a collection. */
export const parentsOf = pathParams;
