import { methodsOf } from "../../../src/schema/catalogue.ts";
import type { AnyResource, ResourcePath } from "../../../src/schema/resource.ts";
import type { ReceivedResponse } from "../http-client.ts";
import {
  DOMAIN_NAMES,
  type DomainName,
  type DomainWorld,
  type MatrixActor,
  type MatrixRow,
  parentsOf,
} from "./domain-world.ts";
import { type AccessOracle, createAccessOracle, type DomainSelector } from "./oracle.ts";

/** One request and what must come of it. */
export interface MatrixCase {
  actor: MatrixActor;
  selector: DomainSelector;
  method: "GET" | "PUT" | "DELETE" | "POST";
  path: string;
  body?: object;
  /** Null where everybody is told the same: no token, no case. */
  acting: DomainName | null;
  status: number;
  /** Ids of a list, in any order. */
  ids?: readonly string[];
  /** What the item says may be done. */
  permissions?: readonly string[];
}

/** What the matrix found. */
export interface MatrixOutcome {
  cases: number;
  violations: string[];
}

/** Parents are taken from these places. */
const PARENT_DOMAINS: readonly DomainName[] = ["root", "own", "sibling"];
const WITHOUT_SELECTOR: DomainSelector = { name: "none", header: null, parameter: null };
const UNKNOWN: ReadonlySet<string> = new Set(["anonymous", "revoked", "locked"]);
const ALL_ITEMS: ReadonlySet<string> = new Set(["none", "conflict"]);
/** Requests under way at once. */
const AT_ONCE = 8;

/** None, header, parameter, and the two in conflict, in domains that are the actor's and in ones that are not. */
const SELECTORS: readonly DomainSelector[] = [
  WITHOUT_SELECTOR,
  { name: "header", header: "own", parameter: null },
  { name: "parameter", header: null, parameter: "child" },
  { name: "conflict", header: "sibling", parameter: "own" },
  { name: "conflict the other way", header: "own", parameter: "sibling" },
];

/** All cases of a world. */
export function matrixCases(world: DomainWorld): MatrixCase[] {
  const oracle = createAccessOracle(world);
  return world.actors.flatMap((actor) => {
    const few = UNKNOWN.has(actor.name) || actor.reads !== null;
    return SELECTORS.filter(({ parameter }) => !few || parameter !== "sibling").flatMap((selector) => {
      if (UNKNOWN.has(actor.name)) return unauthenticatedCases(actor, selector, world);
      const acting = oracle.acting(actor, selector);
      if (acting === null) return refusedCases(actor, selector, world);
      if (!oracle.mayAct(actor, acting)) return powerlessCases(actor, selector, acting, world);
      return knownCases(actor, selector, acting, world, oracle);
    });
  });
}

/** Nobody is told anything, whatever is asked for. */
function unauthenticatedCases(actor: MatrixActor, selector: DomainSelector, world: DomainWorld): MatrixCase[] {
  return world.api.declarations.flatMap((resource) =>
    resource.paths.flatMap((path) => {
      if (!methodsOf(path).includes("get")) return [];
      const collection = fill(path, parentsIn(path, resource, "own", world) ?? []);
      const paths = [
        collection,
        ...sample(resource, world)
          .map(({ id }) => `${collection}/${id}`)
          .slice(0, 1),
      ];
      return paths.map((at): MatrixCase => ({ actor, selector, method: "GET", path: at, acting: null, status: 401 }));
    }),
  );
}

/** Where somebody's grants do not hold, there is nothing but oneself. */
function powerlessCases(
  actor: MatrixActor,
  selector: DomainSelector,
  acting: DomainName,
  world: DomainWorld,
): MatrixCase[] {
  return world.api.declarations.flatMap((resource) =>
    resource.paths.flatMap((path): MatrixCase[] => {
      if (!methodsOf(path).includes("get") || parentsOf(path).length > 0) return [];
      const isOwn = path.at === "users";
      const list: MatrixCase = {
        actor,
        selector,
        acting,
        method: "GET",
        path: `/${path.at}`,
        status: isOwn ? 200 : 403,
      };
      return [isOwn ? { ...list, ids: [actor.userId as string] } : list];
    }),
  );
}

function refusedCases(actor: MatrixActor, selector: DomainSelector, world: DomainWorld): MatrixCase[] {
  return world.api.declarations.flatMap((resource) =>
    resource.paths.flatMap((path) => {
      if (!methodsOf(path).includes("get")) return [];
      const collection = fill(path, parentsIn(path, resource, "own", world) ?? []);
      return [{ actor, selector, method: "GET" as const, path: collection, acting: null, status: 400 }];
    }),
  );
}

function knownCases(
  actor: MatrixActor,
  selector: DomainSelector,
  acting: DomainName,
  world: DomainWorld,
  oracle: AccessOracle,
): MatrixCase[] {
  const base = { actor, selector, acting };
  const cases = world.api.declarations.flatMap((resource) =>
    resource.paths.flatMap((path) => {
      if (!methodsOf(path).includes("get")) return [];
      return PARENT_DOMAINS.flatMap((place) => collectionCases(base, resource, path, place, world, oracle));
    }),
  );
  return [...cases, ...membershipCases(base, world, oracle), ...referenceCases(base, world, oracle)];
}

type Base = Pick<MatrixCase, "actor" | "selector" | "acting"> & { acting: DomainName };

function collectionCases(
  base: Base,
  resource: AnyResource,
  path: ResourcePath,
  place: DomainName,
  world: DomainWorld,
  oracle: AccessOracle,
): MatrixCase[] {
  const names = parentsOf(path);
  if (names.length === 0 && place !== "root") return [];
  const parents = parentsIn(path, resource, place, world);
  if (!parents) return [];
  const { actor, acting } = base;
  const collection = fill(path, parents);
  const open = actor.reads === null || actor.reads.includes(path.at.split("/")[0] as string);
  const rows = oracle.listed(actor, acting, resource, path, parents);
  const seen = open && rows ? rows.filter((_fact) => isReadable(actor, resource)) : rows;
  const status = !open ? 403 : rows ? 200 : 404;
  const list: MatrixCase = { ...base, method: "GET", path: collection, status };
  // The audit grows with what is asked here.
  if (status === 200 && seen && resource.name !== "audit-entries") list.ids = seen.map(({ id }) => id);
  const all = world.byResource.get(resource.name) ?? [];
  const below = all.filter(({ refs }) => path.through || names.every((name, at) => refs[name] === parents[at]));
  const asked = names.length === 0 ? sample(resource, world) : below.slice(0, 2);
  // How the domain was chosen matters no more once it is, so two of the ways ask for every item.
  const items = (ALL_ITEMS.has(base.selector.name) ? asked : asked.slice(0, 2)).flatMap((fact) => {
    const isOwn = fact.refs.userId !== undefined && fact.refs.userId === actor.userId;
    const isSeen = open && (isOwn || (seen ?? []).includes(fact));
    return itemCases(base, { resource, path, collection }, fact, isSeen, open, oracle);
  });
  return [list, ...items];
}

/** A token that may read users alone reads what stands below users alone. */
function isReadable({ reads }: MatrixActor, { paths }: AnyResource): boolean {
  return reads === null || paths.some(({ at }) => reads.includes(at.split("/")[0] as string));
}

interface At {
  resource: AnyResource;
  path: ResourcePath;
  collection: string;
}

function itemCases(
  base: Base,
  at: At,
  fact: MatrixRow,
  isSeen: boolean,
  open: boolean,
  oracle: AccessOracle,
): MatrixCase[] {
  const { actor, acting } = base;
  const { resource, path } = at;
  const methods = methodsOf(path);
  const item = `${at.collection}/${fact.id}`;
  const changes = path.through || resource.appendOnly ? true : oracle.changeable(actor, acting, fact);
  const may = (verb: string): boolean => actor.isSuper || (actor.verbs.includes(verb) && actor.reads === null);
  const permissions = ["get", "put", "delete"].filter(
    (verb) => (verb === "get" || changes) && methods.includes(verb as never) && (verb === "get" || may(verb)),
  );
  // What another path would show is forbidden here; all else is not there.
  const isKnown = !open && isReadable(actor, resource) && oracle.inSight(actor, acting, fact);
  const get: MatrixCase = { ...base, method: "GET", path: item, status: isSeen ? 200 : isKnown ? 403 : 404 };
  if (isSeen && !path.itemBy) get.permissions = permissions;
  const cases = methods.includes("get") ? [get] : [];
  if (actor.name !== "writer" && actor.name !== "reader") return cases;
  const status = !isSeen ? 404 : may("put") && changes ? 200 : 403;
  if (methods.includes("put")) cases.push({ ...base, method: "PUT", path: item, body: {}, status });
  return cases;
}

/** The members of each domain, and the domains of each row. */
function membershipCases(base: Base, world: DomainWorld, oracle: AccessOracle): MatrixCase[] {
  const { actor, acting } = base;
  if (actor.reads !== null) return [];
  const known = oracle.known(actor, acting);
  return world.api.declarations.flatMap((family) => {
    if (family.scope !== "domain") return [];
    const at = family.paths[0]?.at as string;
    const rows = world.byResource.get(family.name) ?? [];
    const seen = rows.filter((fact) => oracle.inSight(actor, acting, fact));
    const members = DOMAIN_NAMES.map((place): MatrixCase => {
      const id = world.domainOf[place];
      const status = acting === "root" || known.has(id) ? 200 : 404;
      const ids = seen.filter(({ domains }) => domains.includes(id)).map((fact) => fact.id);
      return { ...base, method: "GET", path: `/domains/${id}/${at}`, status, ...(status === 200 ? { ids } : {}) };
    });
    const places = sample(family, world).map((fact): MatrixCase => {
      const status = seen.includes(fact) ? 200 : 404;
      const ids = fact.domains.filter((id) => acting === "root" || known.has(id));
      return { ...base, method: "GET", path: `/${at}/${fact.id}/domains`, status, ...(status === 200 ? { ids } : {}) };
    });
    return [...members, ...places];
  });
}

/** A new template that names a list: taken when the list is in sight, else refused as one that is not there. */
function referenceCases(base: Base, world: DomainWorld, oracle: AccessOracle): MatrixCase[] {
  const { actor, acting } = base;
  if (actor.name !== "writer") return [];
  const lists = world.byResource.get("distribution-lists") ?? [];
  return lists.map((fact): MatrixCase => {
    const body = { name: "n", subject: "s", distributionListIds: [fact.id] };
    const status = oracle.inSight(actor, acting, fact) ? 200 : 400;
    // A rehearsal: the world stays as it is.
    return { ...base, method: "POST", path: "/message-templates?dryRun=true", body, status };
  });
}

/** Rows of a resource from every domain: the first of each combination of place and sharing. */
function sample({ name }: AnyResource, { byResource }: DomainWorld): MatrixRow[] {
  const found = new Map<string, MatrixRow>();
  for (const fact of byResource.get(name) ?? []) {
    const key = `${fact.domains.join()} ${fact.shared} ${fact.belongsTo ?? ""}`;
    if (!found.has(key)) found.set(key, fact);
  }
  return [...found.values()];
}

/** Ids for the placeholders of a path: those of a row in the place, or of a parent there. */
function parentsIn(path: ResourcePath, resource: AnyResource, place: DomainName, world: DomainWorld): string[] | null {
  const names = parentsOf(path);
  if (names.length === 0) return [];
  const owner = path.through?.resource ?? resource.name;
  const home = (fact: MatrixRow): boolean =>
    names.every((name) => {
      const parent = world.byId.get(fact.refs[name] ?? "");
      return parent && (parent.domains.length === 0 || parent.domains[0] === world.domainOf[place]);
    });
  const row = world.byResource.get(owner)?.find(home);
  return row ? names.map((name) => row.refs[name] as string) : null;
}

function fill({ at }: ResourcePath, parents: readonly string[]): string {
  let next = 0;
  return `/${at.replaceAll(/\{\w+\}/g, () => parents[next++] ?? "x")}`;
}

/** Asks everything, and says what went otherwise or told too much; ends after `most` violations. */
export async function runMatrix(world: DomainWorld, cases: readonly MatrixCase[], most = 20): Promise<MatrixOutcome> {
  const oracle = createAccessOracle(world);
  const hidden = createHidden(world, oracle);
  const outcome: MatrixOutcome = { cases: 0, violations: [] };
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cases.length && outcome.violations.length < most) {
      const each = cases[next++] as MatrixCase;
      // A connection that idled while the cases were made is closed by now.
      const answer = await sendCase(world, each).catch(() => sendCase(world, each));
      outcome.cases += 1;
      outcome.violations.push(...faultsOf(each, answer, hidden).map((fault) => `${describeCase(each)}: ${fault}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}

function sendCase(
  { api, domainOf }: DomainWorld,
  { actor, selector, method, path, body }: MatrixCase,
): Promise<ReceivedResponse> {
  const { header, parameter } = selector;
  const query = [
    ...(method === "GET"
      ? [path.startsWith("/audit") ? "limit=30" : "limit=1000", "includeDomain=true", "includeDeviceCounts=true"]
      : []),
    ...(parameter ? [`domain=${domainOf[parameter]}`] : []),
  ].join("&");
  const mark = path.includes("?") ? "&" : "?";
  const headers: Record<string, string> = header ? { "x-service-domain": domainOf[header] } : {};
  return api.call(method, query ? path + mark + query : path, {
    token: actor.token,
    headers,
    ...(body ? { json: body } : {}),
  });
}

type Hidden = (actor: MatrixActor, acting: DomainName | null) => ReadonlySet<string>;

/** Ids and names that must not be told, by actor and acting domain. */
function createHidden({ facts }: DomainWorld, oracle: AccessOracle): Hidden {
  const made = new Map<string, ReadonlySet<string>>();
  return (actor, acting) => {
    const key = `${actor.name} ${acting}`;
    const found = made.get(key) ?? new Set<string>();
    if (!made.has(key)) {
      const told = new Set<string>(ownThings(actor, facts));
      for (const fact of facts) {
        const isSeen = acting !== null && oracle.inSight(actor, acting, fact);
        for (const text of [fact.id, ...(fact.name ? [fact.name] : [])])
          (isSeen ? told : (found as Set<string>)).add(text);
      }
      // The same name may stand for rows on both sides.
      for (const text of told) (found as Set<string>).delete(text);
    }
    made.set(key, found);
    return found;
  };
}

/** What somebody's own rows name is its own: its groups and lists, in whatever domain they lie. */
function ownThings({ userId }: MatrixActor, facts: readonly MatrixRow[]): string[] {
  const named = facts
    .filter(({ refs }) => userId !== null && refs.userId === userId)
    .flatMap(({ refs }) => Object.values(refs));
  return facts.filter(({ id }) => named.includes(id)).flatMap(({ id, name }) => (name ? [id, name] : [id]));
}

const DISCLOSED = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|tag-[a-z]+-[a-z-]+/g;

function faultsOf(each: MatrixCase, answer: ReceivedResponse, hidden: Hidden): string[] {
  const faults: string[] = [];
  if (answer.status !== each.status)
    faults.push(`${answer.status} instead of ${each.status} ${answer.text.slice(0, 200)}`);
  if (each.status === 400 && each.acting === null && answer.body.errors?.[0]?.field !== "domain")
    faults.push("not refused for its domain");
  const asked = `${each.path} ${JSON.stringify(each.body ?? {})}`;
  const secret = hidden(each.actor, each.acting);
  // The audit of a domain says who acted in it.
  const text = each.path.startsWith("/audit") ? answer.text.replaceAll(/"actor(Id|Name)":"[^"]*"/g, "") : answer.text;
  const leaks = [...new Set(text.match(DISCLOSED))].filter((found) => secret.has(found) && !asked.includes(found));
  if (leaks.length > 0) faults.push(`tells ${leaks.slice(0, 3).join(", ")}`);
  if (answer.status !== 200) return faults;
  if (each.ids) {
    const ids = answer.body.data.map(({ id }: { id: string }) => id).sort();
    const expected = [...each.ids].sort();
    if (JSON.stringify(ids) !== JSON.stringify(expected)) faults.push(difference(ids, expected));
    if (answer.body.total !== expected.length) faults.push(`total ${answer.body.total}, not ${expected.length}`);
  }
  if (each.permissions && JSON.stringify(answer.body.permissions) !== JSON.stringify(each.permissions)) {
    faults.push(`permissions ${answer.body.permissions}, not ${each.permissions}`);
  }
  return faults;
}

function difference(found: readonly string[], expected: readonly string[]): string {
  const more = found.filter((id) => !expected.includes(id));
  const less = expected.filter((id) => !found.includes(id));
  return `lists ${more.length} too many (${more[0]}), lacks ${less.length} (${less[0]})`;
}

function describeCase({ actor, selector, acting, method, path }: MatrixCase): string {
  return `${actor.name} in ${acting ?? "no domain"} (${selector.name}) ${method} ${path}`;
}
