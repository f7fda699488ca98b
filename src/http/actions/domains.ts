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
import { boolean, text } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deletedResponse, type GuardedAction, requireVisibleRow } from "../action.ts";
import { assertIfMatch } from "../etag.ts";
import { textParameter } from "../query/query.ts";
import { associationActions } from "./association-actions.ts";
import { compileBodyValidator } from "./body-validator.ts";

const MEMBERSHIP_OPTIONS = {
  promote: boolean("Allows the domain to replace its child domains in the membership.", { default: false }),
  demote: boolean("Allows the domain to replace its parent domain in the membership.", { default: false }),
};

const validateMembership = compileBodyValidator(MEMBERSHIP_OPTIONS);

/**
 * Domain membership of every domain-scoped family, from both sides, and deletion of a domain. Members have the
 * representation of their own resource with the permissions of this path; callers also need the permission to get the
 * family.
 * @source docs/decisions/0004-domains.md; docs/decisions/0042-api-contract.md
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
  doc: "Deletes a domain; its contents move to the parent domain.",
  response: { kind: "deletion" },
  async handle(request) {
    const { id } = requireVisibleRow(request, domains, request.params.domainId ?? "");
    const ifMatch = request.header("if-match");
    await removeDomain(request.deps, id, request.by, (row) => {
      if (ifMatch) assertIfMatch(ifMatch, row);
    });
    return deletedResponse(id);
  },
};

/** Messages have a subject as their name. @source docs/decisions/0042-api-contract.md, Domain membership paths */
const NAME_QUERY = { name: text("Only messages with this subject.") };

const isNamedBySubject = ({ fields }: AnyResource): boolean => !fields.name && fields.subject !== undefined;

/** `/domains/{domainId}/users`: the members of a domain. */
function domainMembers(family: AnyResource): GuardedAction[] {
  return associationActions({
    at: `domains/{domainId}/${canonicalPath(family).at}`,
    idParam: family.idParam,
    resource: family,
    docs: {
      list: "Lists the members of the domain.",
      one: "Returns a member of the domain.",
      add: "Adds a row to the domain.",
      remove: "Removes a row from the domain.",
    },
    accepts: MEMBERSHIP_OPTIONS,
    ...(isNamedBySubject(family) && { query: NAME_QUERY }),
    list(request) {
      const within = { domainId: domainOf(request) };
      const name = isNamedBySubject(family) ? textParameter(request.query, "name") : null;
      const filters = name === null ? [] : [{ field: "subject", op: "eq", value: name } as const];
      return request.respondWithList(family, filters.length > 0 ? { within, filters } : { within });
    },
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

/** `/users/{userId}/domains`: the domains of a row. */
function domainMemberships(family: AnyResource): GuardedAction[] {
  const rowOf = (request: ApiRequest) => requireVisibleRow(request, family, request.params[family.idParam] ?? "");
  const domainIn = ({ deps, by }: ApiRequest, id: string): RowOf<typeof domains> => {
    const place = deps.store.get(domains, id, by.scope.domainVisibility);
    if (!place) throw notFound();
    return place;
  };
  return associationActions({
    at: `${canonicalPath(family).at}/{${family.idParam}}/domains`,
    idParam: domains.idParam,
    resource: domains,
    docs: {
      list: "Lists the domains of the row.",
      one: "Returns a domain of the row.",
      add: "Adds the row to a domain.",
      remove: "Removes the row from a domain.",
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

/** The domain in the path, if visible to the caller. Throws not-found. */
function domainOf({ deps, params, by }: ApiRequest): string {
  const domain = deps.store.get(domains, params.domainId ?? "", by.scope.domainVisibility);
  if (!domain) throw notFound();
  return domain.id;
}

async function join({ deps, by, body }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  const how = validateMembership(body) as unknown as DomainReplacement;
  await deps.store.write((tx) => addToDomain(tx, family, { id, domainId }, how, by));
}

async function leave({ deps, by }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  await deps.store.write((tx) => removeFromDomain(tx, family, id, domainId, by));
}
