import { addIncidentActivity, setIncidentSite } from "../../incidents/incident-activities.ts";
import { offeredTemplates } from "../../incidents/offered-templates.ts";
import incidentActivities from "../../resources/incidents/incident-activities.ts";
import incidentPlans from "../../resources/incidents/incident-plans.ts";
import incidents from "../../resources/incidents/incidents.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import scenarios from "../../resources/scenarios/scenarios.ts";
import { boolean, uuid } from "../../schema/field.ts";
import type { AnyResource, RowOf } from "../../schema/resource.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { assertMaySend } from "./notifications.ts";

const ONGOING = { field: "endedAt", op: "eq", value: null } as const;

/**
 * Actions on incidents and incident plans.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/incidents`
 */
export const incidentActions: readonly Action[] = [
  {
    method: "get",
    at: "incidents",
    doc: "Lists incidents.",
    query: { ongoingOnly: boolean("Only active incidents.", { default: false }) },
    response: { kind: "list", resource: incidents },
    handle: (request) =>
      request.respondWithList(
        incidents,
        textParameter(request.query, "ongoingOnly") === "true" ? { filters: [ONGOING] } : {},
      ),
  },
  {
    method: "post",
    at: "incidents/{incidentId}/activities",
    doc: "Adds a step to an incident, ends it, or sends the all-clear to all recipients of its messages.",
    response: { kind: "row", resource: incidentActivities },
    accepts: incidentActivities.fields,
    async handle(request) {
      const { deps, by, body } = request;
      const incident = incidentOf(request);
      if (body.type === "all-clear") assertMaySend(by.scope, incident.drill);
      return request.respondWithRow(incidentActivities, await addIncidentActivity(incident, body, by, deps));
    },
  },
  {
    method: "post",
    at: "incidents/{incidentId}/site",
    doc: "Sets the site of an incident.",
    response: { kind: "row", resource: incidents },
    accepts: { siteId: uuid("Site of the incident.", { required: true }) },
    async handle(request) {
      const { deps, by, body } = request;
      const incident = await setIncidentSite(incidentOf(request), body.siteId, by, deps.store);
      return request.respondWithRow(incidents, incident);
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/message-templates",
    rowPath: { at: "incidents/{incidentId}/message-templates", methods: ["get"] },
    doc: "Lists the templates offered by the plan; follow-ups once a message has been sent.",
    response: { kind: "list", resource: messageTemplates },
    handle: async (request) =>
      request.respondWithList(messageTemplates, { ids: offeredTemplates(request.deps.store, incidentOf(request)) }),
  },
  ...planResourceActions(scenarios, (plan) => plan.scenarioIds),
  ...planResourceActions(messageTemplates, (plan) => plan.messageTemplateIds),
];

/** `/incident-plans/{incidentPlanId}/scenarios` and the like: rows offered by a plan, in their own representation. */
function planResourceActions(
  resource: AnyResource,
  idsOf: (plan: RowOf<typeof incidentPlans>) => readonly string[],
): readonly Action[] {
  const at = `incident-plans/{incidentPlanId}/${resource.name}`;
  const rowPath = { at, methods: ["get"] } as const;
  const ids = (request: ApiRequest) =>
    idsOf(requireVisibleRow(request, incidentPlans, request.params.incidentPlanId ?? ""));
  return [
    {
      method: "get",
      at,
      rowPath,
      doc: "Lists the rows offered by the plan.",
      response: { kind: "list", resource },
      handle: async (request) => request.respondWithList(resource, { ids: ids(request) }),
    },
    {
      method: "get",
      at: `${at}/{${resource.idParam}}`,
      rowPath,
      doc: "Returns a row offered by the plan.",
      response: { kind: "row", resource },
      async handle(request) {
        const id = request.params[resource.idParam] ?? "";
        return request.respondWithRow(
          resource,
          requireVisibleRow(request, resource, ids(request).includes(id) ? id : ""),
        );
      },
    },
  ];
}

function incidentOf(request: ApiRequest): RowOf<typeof incidents> {
  return requireVisibleRow(request, incidents, request.params.incidentId ?? "");
}
