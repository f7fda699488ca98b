import { invalidValue, notFound } from "../../base/errors.ts";
import { isUuid } from "../../base/ids.ts";
import {
  type SubscribableList,
  type SubscribableQuery,
  setSubscribed,
  subscribableLists,
} from "../../broadcast/subscribable-lists.ts";
import users from "../../resources/people/users.ts";
import { boolean, text, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { wordsOf } from "../../store/words.ts";
import { type Action, type ApiRequest, json, visibleRow } from "../action.ts";
import { singleText } from "../query.ts";
import { bodyCheck } from "./checked-body.ts";

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
    partial: { const: false },
    previous: { type: "null" },
    next: { type: "null" },
    data: { type: "array", items: ROW },
  },
  additionalProperties: false,
};
const CHANGE = { subscribe: boolean("True joins, false leaves.", { required: true }) };
const check = bodyCheck(CHANGE);

/** Lists that users put themselves on. own choice: all stand on one page, by name. @source digest `/v1/users/{userId}/subscribable-distribution-lists` */
export const subscribableListActions: readonly Action[] = [
  {
    method: "get",
    at: "users/{userId}/subscribable-distribution-lists",
    doc: "The lists that the user may join and leave, and which of them it is on.",
    answers: { kind: "json", schema: PAGE },
    query: {
      q: text("Words in the name, the last one as the beginning of a word."),
      subscribed: boolean("Only those that the user is on, or is not on."),
      domainId: uuid("Only those of one domain."),
    },
    async handle(request) {
      const data = chosen(subscribableLists(request.needs.store, askedOf(request)), request);
      return json({ total: data.length, partial: false, previous: null, next: null, data });
    },
  },
  {
    method: "get",
    at: "users/{userId}/subscribable-distribution-lists/{distributionListId}",
    doc: "One of the lists that the user may join and leave.",
    answers: { kind: "json", schema: ROW },
    handle: async (request) => shown(request),
  },
  {
    method: "put",
    at: "users/{userId}/subscribable-distribution-lists/{distributionListId}",
    doc: "Joins or leaves a list that is open to users.",
    answers: { kind: "json", schema: ROW },
    accepts: CHANGE,
    async handle(request) {
      const { subscribe } = check(request.body) as { subscribe: boolean };
      const asked = askedOf(request);
      await setSubscribed(request.needs.store, { ...asked, listId: listIdOf(request), subscribe }, request.by);
      return shown(request);
    },
  },
];

function askedOf(request: ApiRequest): SubscribableQuery {
  const user = visibleRow(request, users, request.params.userId ?? "");
  return { user, scope: request.by.scope, now: request.needs.clock.now() };
}

function listIdOf({ params }: ApiRequest): string {
  const id = params.distributionListId;
  if (!isUuid(id)) throw notFound();
  return id as string;
}

function shown(request: ApiRequest) {
  const [list] = subscribableLists(request.needs.store, { ...askedOf(request), listId: listIdOf(request) });
  if (!list) throw notFound();
  return json(list);
}

function chosen(lists: readonly SubscribableList[], { query }: ApiRequest): SubscribableList[] {
  const sought = wordsOf(singleText(query, "q") ?? "");
  const subscribed = singleText(query, "subscribed");
  const domainId = singleText(query, "domainId");
  if (domainId !== null && !isUuid(domainId)) throw invalidValue("domainId", "It must be a UUID.");
  return lists.filter((list) => {
    if (subscribed !== null && list.subscribed !== (subscribed === "true")) return false;
    if (domainId !== null && list.domainId !== domainId.toLowerCase()) return false;
    const words = wordsOf(list.distributionListName);
    return sought.every((word) => words.some((each) => each.startsWith(word)));
  });
}
