import { RECIPIENT_FIELDS } from "../notifications/compose/message-builder.ts";
import { ownRecipients, type RecipientOwner } from "../notifications/compose/own-recipients.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarms from "../resources/alarms/alarms.ts";
import boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import dialcast from "../resources/inputs/dialcast-dialing-configurations.ts";
import m2mInputs from "../resources/inputs/m2m-inputs.ts";
import { EMERGENCY_TEMPLATE_SQL } from "../resources/messages/emergency-template.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import sites from "../resources/places/sites.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import { defaultLocationOf } from "../scenarios/scenario-hooks.ts";
import { type PlannedScenarioMessage, planScenarioMessages, textOverridesOf } from "../scenarios/scenario-plan.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";

/** Kinds of emergencies: how they are started. */
export const EMERGENCY_KINDS = ["template", "scenario", "incident-plan", "alarm-action", "input"] as const;

export type EmergencyKind = (typeof EMERGENCY_KINDS)[number];

/** Something that sends in an emergency. */
export interface Emergency {
  kind: EmergencyKind;
  resource: AnyResource;
  id: string;
  name: string;
  createdAt: number;
  /** What it would send now, as `send` takes it. */
  messages: Record<string, unknown>[];
  /** The same for each site that it may be started for, if its recipients depend on the site. */
  bySite: { name: string; messages: Record<string, unknown>[] }[];
  /** Internal keys of its templates: a message of one of them, such as a drill, tests it. */
  templatePks: number[];
}

/** Resources whose rows are emergencies, by name. */
export const EMERGENCY_RESOURCES: ReadonlyMap<string, AnyResource> = new Map(
  [messageTemplates, scenarios, incidentPlans, alarmActions, m2mInputs, dialcast, boundaryTriggers].map(
    (resource): [string, AnyResource] => [resource.name, resource],
  ),
);

/** Rows of a kind that are examined. */
const MAX_ROWS = 1_000;
/** Sites that are examined for each scenario. */
const MAX_SITES = 50;

/** All emergencies of the appliance, in the order of their kinds. */
export function listEmergencies(reader: StoreReader): Emergency[] {
  return [...templates(reader), ...scenarioStarts(reader), ...plans(reader), ...actions(reader), ...inputs(reader)];
}

function templates(reader: StoreReader): Emergency[] {
  const marked = reader.all<{ pk: number }>(
    `SELECT t.pk FROM message_templates t WHERE ${EMERGENCY_TEMPLATE_SQL} ORDER BY t.pk LIMIT ?`,
    MAX_ROWS,
  );
  const rows = reader.getByPks(
    messageTemplates,
    marked.map(({ pk }) => pk),
  );
  return rows.map(({ id, pk, name, createdAt }) => ({
    ...{ kind: "template", resource: messageTemplates, id, name: name ?? "", createdAt },
    ...{ messages: [{ messageTemplateId: id, priority: "critical" }], templatePks: [pk] },
    bySite: [],
  }));
}

function scenarioStarts(reader: StoreReader): Emergency[] {
  const rows = reader.find(scenarios, {}, MAX_ROWS).filter(({ emergency, type }) => emergency || type !== "standard");
  const places = reader.find(sites, {}, MAX_SITES);
  return rows.map((row) => {
    const planned = planScenarioMessages(row, defaultLocationOf(row), new Map(), reader);
    const usesRoles = row.locationEnabled && planned.some(({ message }) => message.siteRoleIds.length > 0);
    return {
      ...{ kind: "scenario", resource: scenarios, id: row.id, name: row.name ?? "", createdAt: row.createdAt },
      messages: planned.map(inputOf),
      bySite: (usesRoles ? places : []).map(({ id: siteId, name }) => {
        const place = { siteId, buildingId: null, floorId: null, zoneId: null };
        return { name: name ?? "", messages: planScenarioMessages(row, place, new Map(), reader).map(inputOf) };
      }),
      templatePks: planned.map(({ template }) => template.pk),
    };
  });
}

function inputOf(planned: PlannedScenarioMessage): Record<string, unknown> {
  return { messageTemplateId: planned.template.id, ...textOverridesOf(planned), ...planned.recipients };
}

function plans(reader: StoreReader): Emergency[] {
  return reader.find(incidentPlans, {}, MAX_ROWS).flatMap(({ id, name, createdAt, messageTemplateIds }) => {
    const offered = reader.getByIds(messageTemplates, messageTemplateIds);
    if (offered.length === 0) return [];
    return {
      ...{ kind: "incident-plan", resource: incidentPlans, id, name: name ?? "", createdAt },
      messages: offered.map((template) => ({ messageTemplateId: template.id })),
      bySite: [],
      templatePks: offered.map(({ pk }) => pk),
    };
  });
}

/** Actions without a template notify the administrators, whom every appliance has. */
function actions(reader: StoreReader): Emergency[] {
  return reader.find(alarmActions, { triggerOnStatus: "ACTIVE" }, MAX_ROWS).flatMap((action) => {
    const template = action.messageTemplateId ? reader.get(messageTemplates, action.messageTemplateId) : null;
    if (!template) return [];
    return {
      ...{ kind: "alarm-action", resource: alarmActions, id: action.id, createdAt: action.createdAt },
      name: `${reader.get(alarms, action.alarmId)?.type ?? ""}: ${template.name}`,
      messages: [{ messageTemplateId: template.id, ...namedRecipients(action) }],
      bySite: [],
      templatePks: [template.pk],
    };
  });
}

/** Empty lists if all recipients were deleted: no one is reached. */
function namedRecipients(row: RecipientOwner): Record<string, readonly string[]> {
  return ownRecipients(row) ?? Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, []]));
}

function inputs(reader: StoreReader): Emergency[] {
  const rules = [
    ...reader.find(m2mInputs, { enabled: true }, MAX_ROWS).map((row) => ({ row, resource: m2mInputs })),
    ...reader.find(dialcast, { enabled: true }, MAX_ROWS).map((row) => ({ row, resource: dialcast })),
  ];
  const found = rules.flatMap(({ row, resource }) => {
    const template = row.messageTemplateId ? reader.get(messageTemplates, row.messageTemplateId) : null;
    if (!template) return [];
    return input(resource, row, template, namedRecipients(row));
  });
  const crossings = reader.find(boundaryTriggers, {}, MAX_ROWS).flatMap((row) => {
    const template = row.messageTemplateId ? reader.get(messageTemplates, row.messageTemplateId) : null;
    return template ? input(boundaryTriggers, row, template, {}) : [];
  });
  return [...found, ...crossings];
}

function input(
  resource: AnyResource,
  { id, name, createdAt }: { id: string; name?: string | null; createdAt: number },
  template: { id: string; pk: number; name: string | null },
  recipients: Record<string, readonly string[]>,
): Emergency {
  return {
    ...{ kind: "input", resource, id, name: name ?? template.name ?? "", createdAt },
    ...{ messages: [{ messageTemplateId: template.id, ...recipients }], bySite: [], templatePks: [template.pk] },
  };
}
