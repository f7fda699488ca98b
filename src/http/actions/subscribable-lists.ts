import { invalidValue, notFound } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import {
  findSubscribableLists,
  type SubscribableList,
  type SubscribableListQuery,
  setSubscribed,
} from "../../people/subscribable-lists.ts";
import users from "../../resources/people/users.ts";
import { boolean, text, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { tokenizeSearchText } from "../../store/search-tokens.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";

const ID: JsonSchema = { type: "string", format: "uuid" };
const ROW: JsonSchema = {
  type: "object",
  required: ["userId", "distributionListId", "distributionListName", "domainId", "subscribed", "createdAt"],
  properties: {
    userId: ID,
    distributionListId: ID,
    distributionListName: { type: "string" },
    domainId: { type: ["string", "null"], format: "uuid" },
    subscribed: { type: "boolean" },
    createdAt: { type: "string", format: "date-time" },
  },
  additionalProperties: false,
};
const PAGE: JsonSchema = {
  type: "object",
  required: ["total", "partial", "previous", "next", "data"],
  properties: {
    total: { type: "integer" },
    partial: { type: "boolean" },
    previous: { type: ["string", "null"] },
    next: { type: ["string", "null"] },
    data: { type: "array", items: ROW },
  },
};
const CHANGE = { subscribe: boolean("true subscribes, false unsubscribes.", { required: true }) };
const validateSubscription = compileBodyValidator(CHANGE);

/**
 * Lists that users may subscribe to, by name.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/subscribable-distribution-lists`
 */
export const subscribableListActions: readonly Action[] = [
  {
    method: "get",
    at: "users/{userId}/subscribable-distribution-lists",
    doc: "Lists the distribution lists that the user may subscribe to, with the subscription state.",
    response: { kind: "json", schema: PAGE },
    query: {
      ...COMPUTED_PAGE_QUERY,
      q: text("Words in the name; the last one matches by prefix."),
      subscribed: boolean("Only subscribed (true) or unsubscribed (false) lists."),
      domainId: uuid("Only lists of this domain."),
    },
    async handle(request) {
      const data = filterLists(findSubscribableLists(request.deps.store, subscribableQuery(request)), request);
      return jsonResponse(computedPage(data, request.query));
    },
  },
  {
    method: "get",
    at: "users/{userId}/subscribable-distribution-lists/{distributionListId}",
    doc: "Returns one subscribable list.",
    response: { kind: "json", schema: ROW },
    handle: async (request) => presentLists(request),
  },
  {
    method: "put",
    at: "users/{userId}/subscribable-distribution-lists/{distributionListId}",
    doc: "Subscribes to or unsubscribes from a list.",
    response: { kind: "json", schema: ROW },
    accepts: CHANGE,
    async handle(request) {
      const { subscribe } = validateSubscription(request.body) as { subscribe: boolean };
      const listQuery = subscribableQuery(request);
      await setSubscribed(request.deps.store, { ...listQuery, listId: listIdOf(request), subscribe }, request.by);
      return presentLists(request);
    },
  },
];

function subscribableQuery(request: ApiRequest): SubscribableListQuery {
  const user = requireVisibleRow(request, users, request.params.userId ?? "");
  return { user, scope: request.by.scope, now: request.deps.clock.now() };
}

function listIdOf({ params }: ApiRequest): string {
  const id = params.distributionListId;
  if (!isUuid(id)) throw notFound();
  return id as string;
}

function presentLists(request: ApiRequest) {
  const [list] = findSubscribableLists(request.deps.store, {
    ...subscribableQuery(request),
    listId: listIdOf(request),
  });
  if (!list) throw notFound();
  return jsonResponse(list);
}

function filterLists(lists: readonly SubscribableList[], { query }: ApiRequest): SubscribableList[] {
  const terms = tokenizeSearchText(textParameter(query, "q") ?? "");
  const subscribed = textParameter(query, "subscribed");
  const domainId = textParameter(query, "domainId");
  if (domainId !== null && !isUuid(domainId)) throw invalidValue("domainId", sentence("field.must-be-a-uuid"));
  return lists.filter((list) => {
    if (subscribed !== null && list.subscribed !== (subscribed === "true")) return false;
    if (domainId !== null && list.domainId !== domainId.toLowerCase()) return false;
    const words = tokenizeSearchText(list.distributionListName);
    return terms.every((word) => words.some((each) => each.startsWith(word)));
  });
}
