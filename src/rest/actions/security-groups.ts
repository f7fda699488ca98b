import { cloneToDomains } from "../../access/group-actions.ts";
import { invalidValue, notFound, requiredValue } from "../../base/errors.ts";
import { isUuid } from "../../base/ids.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import { list, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource, ResourcePath, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deleted, type GuardedAction, json, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

const TARGETS = {
  domainIds: list("Domains that get a copy.", uuid("Id of a domain."), { required: true, maxItems: 200 }),
};
const checkTargets = bodyCheck(TARGETS);
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

/** A family of which a group may allow some rows alone, and the field that names them. */
interface Allowed {
  /** Name of the resource. */
  family: string;
  field: "allowedMessageTemplateIds" | "allowedScenarioIds";
  at: string;
  idParam: string;
}

const ALLOWED: readonly Allowed[] = [
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
 * What can be done with a security group beside its members and permissions. own choice: what a group allows is shown as the
 * resource it is. @source digest `/v1/security-groups/{securityGroupId}/…`
 */
export function securityGroupActions(catalogue: Catalogue): GuardedAction[] {
  const allowed = ALLOWED.filter(({ family }) => catalogue.has(family));
  return [cloning, ...allowed.flatMap((each) => allowedActions(catalogue.byName(each.family), each))];
}

const cloning: GuardedAction = {
  method: "post",
  at: "security-groups/{securityGroupId}/clone-to-domains",
  doc: "Copies the group with its permissions into other domains.",
  answers: { kind: "json", schema: COPIES },
  accepts: TARGETS,
  async handle({ needs, params, body, by }) {
    const { domainIds } = checkTargets(body) as { domainIds: string[] };
    const copies = await cloneToDomains(needs.store, params.securityGroupId ?? "", domainIds, by);
    return json({ copiedSecurityGroups: copies.map(({ id, name }) => ({ id, name })) });
  },
};

function allowedActions(family: AnyResource, { field, at, idParam }: Allowed): GuardedAction[] {
  const shownAt: ResourcePath = { at, methods: ["get", "delete"] };
  const item = `${at}/{${idParam}}`;
  const groupOf = (request: ApiRequest) => visibleRow(request, securityGroups, request.params.securityGroupId ?? "");
  const allowedOf = (request: ApiRequest): RowOf<AnyResource> => {
    const row = visibleRow(request, family, request.params[idParam] ?? "");
    if (!groupOf(request)[field].includes(row.id)) throw notFound();
    return row;
  };
  const change = (request: ApiRequest, to: (ids: readonly string[]) => string[]) =>
    request.needs.store.write((tx) => {
      const group = tx.get(securityGroups, request.params.securityGroupId ?? "", request.by.scope);
      if (!group) throw notFound();
      tx.update(securityGroups, group.id, { [field]: to(group[field]) }, request.by);
    });
  return [
    {
      method: "get",
      at,
      shownAt,
      doc: "What members may use alone; nothing sets no bounds.",
      answers: { kind: "list", resource: family },
      handle: (request) => request.list(family, { ids: groupOf(request)[field] }),
    },
    {
      method: "get",
      at: item,
      shownAt,
      doc: "One of what members may use.",
      answers: { kind: "row", resource: family },
      handle: async (request) => request.show(family, allowedOf(request)),
    },
    {
      method: "post",
      at,
      shownAt,
      doc: "Allows one more.",
      answers: { kind: "row", resource: family },
      accepts: { id: uuid("What is allowed.", { required: true }) },
      async handle(request) {
        const { id } = request.body;
        if (id === undefined || id === null || id === "") throw requiredValue("id");
        const row = isUuid(id) ? request.needs.store.get(family, id, request.by.scope) : null;
        if (!row) throw invalidValue("id", "There is none with this id.");
        await change(request, (ids) => (ids.includes(row.id) ? [...ids] : [...ids, row.id]));
        return request.show(family, row);
      },
    },
    {
      method: "delete",
      at: item,
      doc: "Allows it no longer.",
      answers: { kind: "deletion" },
      async handle(request) {
        const { id } = allowedOf(request);
        await change(request, (ids) => ids.filter((each) => each !== id));
        return deleted(id);
      },
    },
  ];
}
