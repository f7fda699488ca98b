import type { AnyResource, ResourcePath } from "../../../src/schema/resource.ts";
import {
  DOMAIN_NAMES,
  type DomainName,
  type DomainWorld,
  type MatrixActor,
  type MatrixRow,
  parentsOf,
} from "./domain-world.ts";

/** The domain selector of a request: ids or null. */
export interface DomainSelector {
  name: string;
  header: DomainName | null;
  parameter: DomainName | null;
}

/**
 * Who sees what by the words of the API description alone: sets of facts, no code of the product that decides anything.
 * @source service-api.md, Authentication 5; decisions.md 3, 4; interfaces.md, Who sees and may do what
 */
export interface AccessOracle {
  /** The acting domain, null when the request must be refused for it. */
  acting(actor: MatrixActor, selector: DomainSelector): DomainName | null;
  /** Whether the actor's grants hold there. */
  mayAct(actor: MatrixActor, acting: DomainName): boolean;
  /** What the acting domain shows to the actor, permissions apart. */
  inSight(actor: MatrixActor, acting: DomainName, fact: MatrixRow): boolean;
  /** What the actor may change there, permissions apart. */
  changeable(actor: MatrixActor, acting: DomainName, fact: MatrixRow): boolean;
  known(actor: MatrixActor, acting: DomainName): ReadonlySet<string>;
  /** Rows that a list at a path holds, its placeholders filled; null when a placeholder names what is out of sight. */
  listed(
    actor: MatrixActor,
    acting: DomainName,
    resource: AnyResource,
    path: ResourcePath,
    parents: readonly string[],
  ): MatrixRow[] | null;
}

const ABOVE: Readonly<Record<DomainName, readonly DomainName[]>> = {
  root: [],
  parent: ["root"],
  own: ["parent", "root"],
  child: ["own", "parent", "root"],
  sibling: ["parent", "root"],
};

function namePath(place: DomainName): string {
  return [place, ...ABOVE[place]].reverse().join("/");
}

/** Reasons about a world. */
export function createAccessOracle({ byId, byResource, domainOf, api }: DomainWorld): AccessOracle {
  const declared = new Map(api.declarations.map((resource) => [resource.name, resource]));
  const sets = (of: (place: DomainName) => readonly DomainName[]) =>
    new Map(DOMAIN_NAMES.map((place) => [place, new Set(of(place).map((other) => domainOf[other]))]));
  const allWithin = sets((place) => DOMAIN_NAMES.filter((other) => other === place || ABOVE[other].includes(place)));
  const allAbove = sets((place) => ABOVE[place]);
  const within = (place: DomainName): ReadonlySet<string> => allWithin.get(place) as Set<string>;
  const above = (place: DomainName): ReadonlySet<string> => allAbove.get(place) as Set<string>;

  const known = (actor: MatrixActor, acting: DomainName): Set<string> =>
    new Set([
      ...within(acting),
      ...above(acting),
      ...[actor.home, actor.limitedTo].flatMap((place) => (place ? [domainOf[place]] : [])),
    ]);

  function followed(resource: AnyResource): readonly string[] {
    if (resource.visibilityReferences) return resource.visibilityReferences;
    const named = resource.paths.filter(({ through }) => !through).flatMap(parentsOf);
    const needed = Object.entries(resource.fields).filter(([, spec]) => spec.kind === "ref" && spec.required);
    return [...new Set([...named, ...needed.map(([field]) => field)])];
  }

  /** `change` asks whether the row may be changed; `isParent` when it is asked on behalf of a row below it. */
  function reaches(
    actor: MatrixActor,
    acting: DomainName,
    fact: MatrixRow,
    change: boolean,
    isParent = false,
  ): boolean {
    const resource = declared.get(fact.resource) as AnyResource;
    if (acting === "root") return true;
    if (resource.name === "users" && fact.id === actor.userId) return true;
    if (resource.scope === "domain") {
      if (fact.domains.some((id) => within(acting).has(id))) return true;
      return !change && fact.shared && fact.domains.some((id) => above(acting).has(id));
    }
    if (resource.name === "domains") {
      if (!change) return known(actor, acting).has(fact.id);
      return within(acting).has(fact.id) && (isParent || fact.id !== domainOf[acting]);
    }
    if (resource.scope === "organisation") {
      return resource.domainField === undefined || within(acting).has(fact.belongsTo ?? "");
    }
    if (fact.refs.userId !== undefined && fact.refs.userId === actor.userId) return true;
    return followed(resource).every((field) => {
      const id = fact.refs[field];
      const parent = id === undefined ? undefined : byId.get(id);
      return id === undefined || (parent !== undefined && reaches(actor, acting, parent, change, true));
    });
  }

  const answered = new Map<string, boolean>();
  function sees(actor: MatrixActor, acting: DomainName, fact: MatrixRow): boolean {
    const key = `${actor.name} ${acting} ${fact.id}`;
    const found = answered.get(key) ?? reaches(actor, acting, fact, false);
    answered.set(key, found);
    return found;
  }

  return {
    known,
    inSight: sees,
    changeable: (actor, acting, fact) => reaches(actor, acting, fact, true),
    acting(actor, { header, parameter }) {
      const home = actor.home as DomainName;
      const tops = [home, ...(actor.limitedTo ? [actor.limitedTo] : [])];
      const first = tops.map((place) => namePath(place)).sort()[0];
      const chosen = parameter ?? header ?? tops.find((place) => namePath(place) === first) ?? home;
      return actor.isSuper || tops.some((top) => chosen === top || ABOVE[chosen].includes(top)) ? chosen : null;
    },
    mayAct: ({ limitedTo }, acting) => limitedTo === null || acting === limitedTo || ABOVE[acting].includes(limitedTo),
    listed(actor, acting, resource, path, parents) {
      const names = parentsOf(path);
      const there = parents.map((id) => byId.get(id));
      if (!there.every((parent) => parent && sees(actor, acting, parent))) return null;
      const { through } = path;
      const rows = (byResource.get(resource.name) ?? []).filter((fact) => sees(actor, acting, fact));
      const at = (fact: MatrixRow): boolean => names.every((name, index) => fact.refs[name] === parents[index]);
      if (!through) return rows.filter(at);
      const links = (byResource.get(through.resource) ?? []).filter(at);
      return rows.filter(({ id }) => links.some(({ refs }) => refs[through.via] === id));
    },
  };
}
