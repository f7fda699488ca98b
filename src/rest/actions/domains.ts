import { removeDomain } from "../../access/domain-behaviour.ts";
import { domainsOf, type Joining, joinDomain, leaveDomain } from "../../access/membership.ts";
import { invalidValue, notFound, requiredValue } from "../../base/errors.ts";
import { isUuid } from "../../base/ids.ts";
import domains from "../../resources/domains/domains.ts";
import { type Catalogue, canonicalPath, pathParams } from "../../schema/catalogue.ts";
import { boolean, uuid } from "../../schema/field.ts";
import type { AnyResource, ResourcePath, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deleted, type GuardedAction, visibleRow } from "../action.ts";
import { requireMatch } from "../etag.ts";
import { bodyCheck } from "./checked-body.ts";

const ID = uuid("What is put there.", { required: true });
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
  const at = `domains/{domainId}/${canonicalPath(family).at}`;
  const shownAt: ResourcePath = { at, methods: ["get", "delete"] };
  const item = `${at}/{${family.idParam}}`;
  const memberOf = (request: ApiRequest): RowOf<AnyResource> => {
    const row = visibleRow(request, family, request.params[family.idParam] ?? "");
    if (!domainsOf(row).includes(domainOf(request))) throw notFound();
    return row;
  };
  return [
    {
      method: "get",
      at,
      shownAt,
      doc: "Those of the family that are in the domain.",
      answers: { kind: "list", resource: family },
      handle: (request) => request.list(family, { within: { domainId: domainOf(request) } }),
    },
    {
      method: "get",
      at: item,
      shownAt,
      doc: "One of those that are in the domain.",
      answers: { kind: "row", resource: family },
      handle: async (request) => request.show(family, memberOf(request)),
    },
    {
      method: "post",
      at,
      shownAt,
      doc: "Puts one into the domain.",
      answers: { kind: "row", resource: family },
      accepts: { id: ID, ...JOINING },
      async handle(request) {
        const id = idIn(request);
        await join(request, family, id, domainOf(request));
        return request.show(family, visibleRow(request, family, id));
      },
    },
    {
      method: "delete",
      at: item,
      doc: "Takes one out of the domain.",
      answers: { kind: "deletion" },
      async handle(request) {
        const { id } = memberOf(request);
        await leave(request, family, id, domainOf(request));
        return deleted(id);
      },
    },
  ];
}

/** `/users/{userId}/domains`: the domains that a row is in. */
function placesOf(family: AnyResource): GuardedAction[] {
  const at = `${canonicalPath(family).at}/{${family.idParam}}/domains`;
  const shownAt: ResourcePath = { at, methods: ["get", "delete"] };
  const item = `${at}/{domainId}`;
  const rowOf = (request: ApiRequest) => visibleRow(request, family, request.params[family.idParam] ?? "");
  const placeOf = (request: ApiRequest): RowOf<typeof domains> => {
    const place = request.needs.store.get(domains, request.params.domainId ?? "", request.by.scope.inSight);
    if (!place || !domainsOf(rowOf(request)).includes(place.id)) throw notFound();
    return place;
  };
  return [
    {
      method: "get",
      at,
      shownAt,
      doc: "The domains it is in.",
      answers: { kind: "list", resource: domains },
      handle: (request) => request.list(domains, { ids: domainsOf(rowOf(request)) }, request.by.scope.inSight),
    },
    {
      method: "get",
      at: item,
      shownAt,
      doc: "One of the domains it is in.",
      answers: { kind: "row", resource: domains },
      handle: async (request) => request.show(domains, placeOf(request)),
    },
    {
      method: "post",
      at,
      shownAt,
      doc: "Puts it into a domain.",
      answers: { kind: "row", resource: domains },
      accepts: { id: ID, ...JOINING },
      async handle(request) {
        const domainId = idIn(request);
        await join(request, family, rowOf(request).id, domainId);
        const place = request.needs.store.get(domains, domainId, request.by.scope.inSight);
        if (!place) throw notFound();
        return request.show(domains, place);
      },
    },
    {
      method: "delete",
      at: item,
      doc: "Takes it out of a domain.",
      answers: { kind: "deletion" },
      async handle(request) {
        const place = placeOf(request);
        await leave(request, family, rowOf(request).id, place.id);
        return deleted(place.id);
      },
    },
  ];
}

/** The domain in the path, which the caller must know of. Throws not-found. */
function domainOf({ needs, params, by }: ApiRequest): string {
  const domain = needs.store.get(domains, params.domainId ?? "", by.scope.inSight);
  if (!domain) throw notFound();
  return domain.id;
}

/** The id in the body. Throws required, invalid-value. */
function idIn({ body: { id } }: ApiRequest): string {
  if (id === undefined || id === null || id === "") throw requiredValue("id");
  if (!isUuid(id)) throw invalidValue("id", "It must be a UUID.");
  return (id as string).toLowerCase();
}

async function join({ needs, by, body }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  const how = checkJoining(body) as unknown as Joining;
  await needs.store.write((tx) => joinDomain(tx, family, { id, domainId }, how, by));
}

async function leave({ needs, by }: ApiRequest, family: AnyResource, id: string, domainId: string) {
  await needs.store.write((tx) => leaveDomain(tx, family, id, domainId, by));
}
