import { invalidValue, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { cloneGroupToDomains } from "../../permissions/security-group-actions.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import { list, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { type ApiRequest, type GuardedAction, jsonResponse, requireVisibleRow } from "../action.ts";
import { associationActions } from "./association-actions.ts";
import { compileBodyValidator } from "./body-validator.ts";

const TARGETS = {
  domainIds: list("Target domains.", uuid("Id of a domain."), { required: true, maxItems: 200 }),
};
const validateTargets = compileBodyValidator(TARGETS);
const COPY: JsonSchema = {
  type: "object",
  required: ["id", "name"],
  properties: { id: { type: "string" }, name: { type: "string" } },
};
const COPIES: JsonSchema = {
  type: "object",
  required: ["copiedSecurityGroups"],
  properties: { copiedSecurityGroups: { type: "array", items: COPY } },
};

/** A resource that a group may restrict to single rows, and the field with the allowed ids. */
interface AllowList {
  /** Name of the resource. */
  family: string;
  field: "allowedMessageTemplateIds" | "allowedScenarioIds";
  at: string;
  idParam: string;
}

const ALLOW_LISTS: readonly AllowList[] = [
  {
    family: "message-templates",
    field: "allowedMessageTemplateIds",
    at: "security-groups/{securityGroupId}/allowed-message-templates",
    idParam: "allowedMessageTemplateId",
  },
  {
    family: "scenarios",
    field: "allowedScenarioIds",
    at: "security-groups/{securityGroupId}/allowed-scenarios",
    idParam: "allowedScenarioId",
  },
];

/**
 * Cloning of a security group and its allow lists, whose rows have the representation of their own resource.
 * @source docs/decisions/0042-api-contract.md, `/v1/security-groups/{securityGroupId}/…`
 */
export function securityGroupActions(catalogue: Catalogue): GuardedAction[] {
  const allowed = ALLOW_LISTS.filter(({ family }) => catalogue.has(family));
  return [cloneAction, ...allowed.flatMap((each) => allowListActions(catalogue.byName(each.family), each))];
}

const cloneAction: GuardedAction = {
  method: "post",
  at: "security-groups/{securityGroupId}/clone-to-domains",
  doc: "Copies the group with its permissions into other domains.",
  response: { kind: "json", schema: COPIES },
  accepts: TARGETS,
  async handle({ deps, params, body, by }) {
    const { domainIds } = validateTargets(body) as { domainIds: string[] };
    const copies = await cloneGroupToDomains(deps.store, params.securityGroupId ?? "", domainIds, by);
    return jsonResponse({ copiedSecurityGroups: copies.map(({ id, name }) => ({ id, name })) });
  },
};

function allowListActions(family: AnyResource, { field, at, idParam }: AllowList): GuardedAction[] {
  const groupOf = (request: ApiRequest) =>
    requireVisibleRow(request, securityGroups, request.params.securityGroupId ?? "");
  const change = async (request: ApiRequest, to: (ids: readonly string[]) => string[]): Promise<void> => {
    await request.deps.store.write((tx) => {
      const group = tx.get(securityGroups, request.params.securityGroupId ?? "", request.by.scope);
      if (!group) throw notFound();
      tx.update(securityGroups, group.id, { [field]: to(group[field]) }, request.by);
    });
  };
  return associationActions({
    at,
    idParam,
    resource: family,
    docs: {
      list: "Lists the rows that members are limited to; an empty list means no restriction.",
      one: "Returns one row of the allow list.",
      add: "Adds a row to the allow list.",
      remove: "Removes a row from the allow list.",
    },
    list: (request) => request.respondWithList(family, { ids: groupOf(request)[field] }),
    find(request) {
      const row = requireVisibleRow(request, family, request.params[idParam] ?? "");
      if (!groupOf(request)[field].includes(row.id)) throw notFound();
      return row;
    },
    async add(request, id) {
      const row = request.deps.store.get(family, id, request.by.scope);
      if (!row) throw invalidValue("id", sentence("field.not-found"));
      await change(request, (ids) => (ids.includes(row.id) ? [...ids] : [...ids, row.id]));
      return row;
    },
    remove: (request, { id }) => change(request, (ids) => ids.filter((each) => each !== id)),
  });
}
