import { notFound } from "../../lib/errors.ts";
import { removeDomain } from "../../permissions/domain-hooks.ts";
import {
  addToDomain,
  type DomainReplacement,
  domainIdsOf,
  removeFromDomain,
} from "../../permissions/domain-membership.ts";
import domains from "../../resources/domains/domains.ts";
import { type Catalogue, canonicalPath, pathParams } from "../../schema/catalogue.ts";
import { boolean } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deletedResponse, type GuardedAction, requireVisibleRow } from "../action.ts";
import { assertIfMatch } from "../etag.ts";
import { associationActions } from "./association-actions.ts";
import { compileBodyValidator } from "./body-validator.ts";

const MEMBERSHIP_OPTIONS = {
  promote: boolean("The domain may replace those below it.", { default: false }),
  demote: boolean("The domain may replace the one above it.", { default: false }),
};

const validateMembership = compileBodyValidator(MEMBERSHIP_OPTIONS);

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
  return [removal, ...families.flatMap((family) => [...domainMembers(family), ...domainMemberships(family)])];
}

const removal: GuardedAction = {
  method: "delete",
  at: "domains/{domainId}",
  doc: "Deletes a domain; what lies in it moves to the one above.",
  response: { kind: "deletion" },
  async handle(request) {
    const { id } = requireVisibleRow(request, domains, request.params.domainId ?? "");
    const ifMatch = request.header("if-match");
    await removeDomain(request.needs, id, request.by, (row) => {
      if (ifMatch) assertIfMatch(ifMatch, row);
    });
    return deletedResponse(id);
  },
};

/** `/domains/{domainId}/users`: the members of a domain. */
function domainMembers(family: AnyResource): GuardedAction[] {
  return associationActions({
    at: `domains/{domainId}/${canonicalPath(family).at}`,
    idParam: family.idParam,
    resource: family,
    docs: {
      list: "Those of the family that are in the domain.",
      one: "One of those that are in the domain.",
      add: "Puts one into the domain.",
      remove: "Takes one out of the domain.",
    },
    accepts: MEMBERSHIP_OPTIONS,
    list: (request) => request.respondWithList(family, { within: { domainId: domainOf(request) } }),
    find(request) {
      const row = requireVisibleRow(request, family, request.params[family.idParam] ?? "");
      if (!domainIdsOf(row).includes(domainOf(request))) throw notFound();
      return row;
    },
    async add(request, id) {
      await join(request, family, id, domainOf(request));
      return requireVisibleRow(request, family, id);
    },
    remove: (request, { id }) => leave(request, family, id, domainOf(request)),
  });
}

/** `/users/{userId}/domains`: the domains that a row is in. */
function domainMemberships(family: AnyResource): GuardedAction[] {
  const rowOf = (request: ApiRequest) => requireVisibleRow(request, family, request.params[family.idParam] ?? "");
  const domainIn = ({ needs, by }: ApiRequest, id: string): RowOf<typeof domains> => {
    const place = needs.store.get(domains, id, by.scope.domainVisibility);
    if (!place) throw notFound();
    return place;
  };
  return associationActions({
    at: `${canonicalPath(family).at}/{${family.idParam}}/domains`,
    idParam: domains.idParam,
    resource: domains,
    docs: {
      list: "The domains it is in.",
      one: "One of the domains it is in.",
      add: "Puts it into a domain.",
      remove: "Takes it out of a domain.",
    },
    accepts: MEMBERSHIP_OPTIONS,
    list: (request) =>
      request.respondWithList(domains, { ids: domainIdsOf(rowOf(request)) }, request.by.scope.domainVisibility),
    find(request) {
      const place = domainIn(request, request.params.domainId ?? "");
      if (!domainIdsOf(rowOf(request)).includes(place.id)) throw notFound();
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
  const domain = needs.store.get(domains, params.domainId ?? "", by.scope.domainVisibility);
  if (!domain) throw notFound();
  return domain.id;
}

async function join({ needs, by, body }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  const how = validateMembership(body) as unknown as DomainReplacement;
  await needs.store.write((tx) => addToDomain(tx, family, { id, domainId }, how, by));
}

async function leave({ needs, by }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  await needs.store.write((tx) => removeFromDomain(tx, family, id, domainId, by));
}
