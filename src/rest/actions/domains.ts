import { removeDomain } from "../../access/domain-behaviour.ts";
import { domainsOf, type Joining, joinDomain, leaveDomain } from "../../access/membership.ts";
import { notFound } from "../../base/errors.ts";
import domains from "../../resources/domains/domains.ts";
import { type Catalogue, canonicalPath, pathParams } from "../../schema/catalogue.ts";
import { boolean } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deleted, type GuardedAction, visibleRow } from "../action.ts";
import { requireMatch } from "../etag.ts";
import { bodyCheck } from "./checked-body.ts";
import { linkActions } from "./link-actions.ts";

const JOINING = {
  promote: boolean("The domain may replace those below it.", { default: false }),
  demote: boolean("The domain may replace the one above it.", { default: false }),
};

const checkJoining = bodyCheck(JOINING);

/**
 * Membership of every family that lies in domains, from both sides, and the deletion of a domain. own choice: a member is
 * shown as the resource it is, with the permissions of this path; who is shown needs the permission to get the family too.
 * @source service-api.md, Domain membership paths; decisions.md 4
 */
export function domainActions(catalogue: Catalogue): GuardedAction[] {
  if (!catalogue.has(domains.name)) return [];
  const families = catalogue.all.filter(
    (resource) => resource.scope === "domain" && pathParams(canonicalPath(resource)).length === 0,
  );
  return [removal, ...families.flatMap((family) => [...membersOf(family), ...placesOf(family)])];
}

const removal: GuardedAction = {
  method: "delete",
  at: "domains/{domainId}",
  doc: "Deletes a domain; what lies in it moves to the one above.",
  answers: { kind: "deletion" },
  async handle(request) {
    const { id } = visibleRow(request, domains, request.params.domainId ?? "");
    const ifMatch = request.header("if-match");
    await removeDomain(request.needs, id, request.by, (row) => {
      if (ifMatch) requireMatch(ifMatch, row);
    });
    return deleted(id);
  },
};

/** `/domains/{domainId}/users`: the members of a domain. */
function membersOf(family: AnyResource): GuardedAction[] {
  return linkActions({
    at: `domains/{domainId}/${canonicalPath(family).at}`,
    idParam: family.idParam,
    resource: family,
    docs: {
      list: "Those of the family that are in the domain.",
      one: "One of those that are in the domain.",
      add: "Puts one into the domain.",
      remove: "Takes one out of the domain.",
    },
    accepts: JOINING,
    list: (request) => request.list(family, { within: { domainId: domainOf(request) } }),
    find(request) {
      const row = visibleRow(request, family, request.params[family.idParam] ?? "");
      if (!domainsOf(row).includes(domainOf(request))) throw notFound();
      return row;
    },
    async add(request, id) {
      await join(request, family, id, domainOf(request));
      return visibleRow(request, family, id);
    },
    remove: (request, { id }) => leave(request, family, id, domainOf(request)),
  });
}

/** `/users/{userId}/domains`: the domains that a row is in. */
function placesOf(family: AnyResource): GuardedAction[] {
  const rowOf = (request: ApiRequest) => visibleRow(request, family, request.params[family.idParam] ?? "");
  const domainIn = ({ needs, by }: ApiRequest, id: string): RowOf<typeof domains> => {
    const place = needs.store.get(domains, id, by.scope.inSight);
    if (!place) throw notFound();
    return place;
  };
  return linkActions({
    at: `${canonicalPath(family).at}/{${family.idParam}}/domains`,
    idParam: domains.idParam,
    resource: domains,
    docs: {
      list: "The domains it is in.",
      one: "One of the domains it is in.",
      add: "Puts it into a domain.",
      remove: "Takes it out of a domain.",
    },
    accepts: JOINING,
    list: (request) => request.list(domains, { ids: domainsOf(rowOf(request)) }, request.by.scope.inSight),
    find(request) {
      const place = domainIn(request, request.params.domainId ?? "");
      if (!domainsOf(rowOf(request)).includes(place.id)) throw notFound();
      return place;
    },
    async add(request, domainId) {
      await join(request, family, rowOf(request).id, domainId);
      return domainIn(request, domainId);
    },
    remove: (request, place) => leave(request, family, rowOf(request).id, place.id),
  });
}

/** The domain in the path, which the caller must know of. Throws not-found. */
function domainOf({ needs, params, by }: ApiRequest): string {
  const domain = needs.store.get(domains, params.domainId ?? "", by.scope.inSight);
  if (!domain) throw notFound();
  return domain.id;
}

async function join({ needs, by, body }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  const how = checkJoining(body) as unknown as Joining;
  await needs.store.write((tx) => joinDomain(tx, family, { id, domainId }, how, by));
}

async function leave({ needs, by }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  await needs.store.write((tx) => leaveDomain(tx, family, id, domainId, by));
}
