import { cloneToDomains } from "../../access/group-actions.ts";
import { invalidValue, notFound } from "../../base/errors.ts";
import securityGroups from "../../resources/security/security-groups.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import { list, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { type ApiRequest, type GuardedAction, json, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";
import { linkActions } from "./link-actions.ts";

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
  const groupOf = (request: ApiRequest) => visibleRow(request, securityGroups, request.params.securityGroupId ?? "");
  const change = async (request: ApiRequest, to: (ids: readonly string[]) => string[]): Promise<void> => {
    await request.needs.store.write((tx) => {
      const group = tx.get(securityGroups, request.params.securityGroupId ?? "", request.by.scope);
      if (!group) throw notFound();
      tx.update(securityGroups, group.id, { [field]: to(group[field]) }, request.by);
    });
  };
  return linkActions({
    at,
    idParam,
    resource: family,
    docs: {
      list: "What members may use alone; nothing sets no bounds.",
      one: "One of what members may use.",
      add: "Allows one more.",
      remove: "Allows it no longer.",
    },
    list: (request) => request.list(family, { ids: groupOf(request)[field] }),
    find(request) {
      const row = visibleRow(request, family, request.params[idParam] ?? "");
      if (!groupOf(request)[field].includes(row.id)) throw notFound();
      return row;
    },
    async add(request, id) {
      const row = request.needs.store.get(family, id, request.by.scope);
      if (!row) throw invalidValue("id", "There is none with this id.");
      await change(request, (ids) => (ids.includes(row.id) ? [...ids] : [...ids, row.id]));
      return row;
    },
    remove: (request, { id }) => change(request, (ids) => ids.filter((each) => each !== id)),
  });
}
