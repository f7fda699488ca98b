import { startIncident } from "../incidents/incident-start.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue, validationError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { NotificationService, OutgoingNotification } from "../notifications/notification-service.ts";
import { readAllowList } from "../permissions/security-group-actions.ts";
import type { Location } from "../places/location-levels.ts";
import { formatLocation, nameLocation } from "../places/location-names.ts";
import apiDevices from "../resources/places/api-devices.ts";
import { ADDITIONAL_RECIPIENT_FIELDS } from "../resources/scenarios/scenario-fields.ts";
import scenarioNotifications from "../resources/scenarios/scenario-notifications.ts";
import { SCENARIO_START_FIELDS } from "../resources/scenarios/scenario-start-fields.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import type { AccessScope, ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { type AdditionalRecipients, parseAdditionalRecipients } from "./additional-recipients.ts";
import { answerVariables, type ParsedAnswers, parseAnswers } from "./scenario-answers.ts";
import { type LocationStrategy, resolveStartLocation } from "./scenario-location.ts";
import { scenarioMessagesOf } from "./scenario-messages.ts";
import { createScenarioPinCheck } from "./scenario-pin.ts";
import { type PlannedScenarioMessage, planScenarioMessages, textOverridesOf } from "./scenario-plan.ts";
import { previewScenario, type ScenarioPreview, type SimulatedStart } from "./scenario-preview.ts";
import { locationVariableOf, type ScenarioRow } from "./scenario-questions.ts";
import { recordUnknownDevice } from "./unknown-devices.ts";

export type StartedScenario = RowOf<typeof scenarioNotifications>;

/** Starts and previews scenarios. */
export interface Scenarios {
  /**
   * Starts the scenario that `input` names: all its messages are accepted, or none. The caller must check the permission to
   * start scenarios. Throws CallerError, TooManyRequestsError after wrong PINs.
   * @source docs/decisions/0007-scenarios.md, Starting a scenario
   */
  start(input: Readonly<Record<string, unknown>>, by: ActorContext): Promise<StartedScenario>;
  /** Returns recipients and texts without sending (dry run). Throws CallerError. */
  preview(scenario: ScenarioRow, start: SimulatedStart, by: ActorContext): Promise<ScenarioPreview>;
}

export interface ScenarioDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  notificationService: Pick<NotificationService, "sendBatch">;
  /** Report the site question and accept its answer. */
  reportsSite: boolean;
}

/** A start, validated as far as possible without knowing its messages. */
interface ParsedStart {
  scenario: ScenarioRow;
  drill: boolean;
  device: RowOf<typeof apiDevices> | null;
  lookupValue: string | null;
  place: Location;
  strategy: readonly LocationStrategy[];
  answers: ParsedAnswers;
  further: AdditionalRecipients[];
}

const checker = compileValidator(SCENARIO_START_FIELDS);

export function createScenarios(deps: ScenarioDeps): Scenarios {
  const pins = createScenarioPinCheck(deps.store.secrets, deps.clock);
  return {
    async start(input, by) {
      const { values, faults } = checker.validate(input, "create");
      if (faults.length > 0) throw validationError(faults);
      const scenario = findScenario(values.scenarioId as string, by, deps.store);
      await pins.assertPin(scenario, values.confirmationPin, by);
      const start = await parseStart(scenario, values, by, deps);
      return sendScenario(start, by, deps);
    },
    preview: (scenario, start, by) => previewScenario(scenario, start, by, deps),
  };
}

/** Anyone with the permission to start scenarios may start those visible in the acting domain, even without permission to read them. @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
function findScenario(id: string, by: ActorContext, reader: StoreReader): ScenarioRow {
  const scenario = reader.get(scenarios, id, by.scope.domainVisibility);
  if (!scenario) throw invalidValue("scenarioId", sentence("field.the-scenario-was-not-found"));
  const allowed = readAllowList(reader, "scenarios", by);
  if (allowed && !allowed.has(scenario.pk)) {
    throw invalidValue("scenarioId", sentence("field.the-security-groups-of-the-sender-do-not-allow-this-scenario"));
  }
  return scenario;
}

async function parseStart(
  scenario: ScenarioRow,
  values: Readonly<Record<string, unknown>>,
  by: ActorContext,
  deps: ScenarioDeps,
): Promise<ParsedStart> {
  const { store, catalogue, reportsSite } = deps;
  const lookupValue = (values.initiationDevice as { lookupValue?: string } | null)?.lookupValue ?? null;
  if (values.initiationDevice && lookupValue === null) {
    throw invalidValue("initiationDevice", sentence("field.lookupvalue-is-required"));
  }
  const device = lookupValue === null ? null : findApiDevice(lookupValue, by.scope, store);
  const isUnknown = lookupValue !== null && device === null;
  if (isUnknown) await recordUnknownDevice(scenario, lookupValue, deps);
  const answers = parseAnswers(scenario, values.fields, { reportsSite });
  const strategy = (values.locationResolutionStrategy ?? []) as readonly LocationStrategy[];
  const startInput = { location: values.location, site: answers.site, device, strategy, mayBeNowhere: isUnknown };
  const place = resolveStartLocation(scenario, startInput, store, by.scope.domainVisibility);
  const messageIds = scenarioMessagesOf(scenario).map(({ id }) => id);
  const familyOf = (field: string): AnyResource =>
    catalogue.byName(ADDITIONAL_RECIPIENT_FIELDS[field as keyof typeof ADDITIONAL_RECIPIENT_FIELDS].to);
  const further = parseAdditionalRecipients(values.messages, messageIds, by, { reader: store, familyOf });
  return { scenario, drill: values.drill === true, device, lookupValue, place, strategy, answers, further };
}

function findApiDevice(
  externalId: string,
  { domainVisibility }: AccessScope,
  reader: StoreReader,
): RowOf<typeof apiDevices> | null {
  const known = reader.one<{ id: string }>(
    "SELECT id FROM api_devices WHERE external_id = ? COLLATE NOCASE",
    externalId,
  );
  return known ? reader.get(apiDevices, known.id, domainVisibility) : null;
}

/** Stores the start, its incident and its messages in one transaction. */
async function sendScenario(start: ParsedStart, by: ActorContext, deps: ScenarioDeps): Promise<StartedScenario> {
  const { scenario, place, further, drill } = start;
  const planned = planScenarioMessages(
    scenario,
    place,
    new Map(further.map((each) => [each.messageId, each])),
    deps.store,
  );
  const going = planned.filter(({ hasRecipients }) => hasRecipients);
  if (going.length === 0) throw noRecipientsError();
  const named = nameLocation(place, deps.store);
  const customVars = {
    ...answerVariables(start.answers.answered),
    [locationVariableOf(scenario)]: formatLocation(named),
  };
  const byMachine = start.lookupValue !== null;
  const messages = going.map((message) => toOutgoing(message, { scenario, drill, customVars, byMachine }));
  const notSent = planned.filter(({ hasRecipients }) => !hasRecipients).map(({ message }) => message);
  const id = newId();
  await deps.notificationService.sendBatch(messages, by, (tx) => {
    const incidentId = startIncidentOf(start, planned, by, tx);
    tx.create(scenarioNotifications, {}, by, {
      id,
      scenarioId: scenario.id,
      drill,
      fields: start.answers.answered,
      location: named,
      messages: further,
      messagesNotSent: notSent.map(({ id: messageId, name }) => ({ messageId, name })),
      initiatorId: by.actor.userId,
      initiationDeviceId: start.device?.id ?? null,
      initiationLookupValue: start.lookupValue,
      locationResolutionStrategy: [...start.strategy],
      ...place,
      incidentId,
    });
    return { scenarioNotificationId: id, incidentId, ...initiationFields(start) };
  });
  const row = deps.store.get(scenarioNotifications, id);
  if (!row) throw new CallerError("conflict", sentence("conflict.the-scenario-was-deleted"));
  return row;
}

function noRecipientsError(): CallerError {
  const message = sentence("field.no-message-of-the-scenario-has-recipients-at-this-location");
  return validationError([{ field: "messages", type: "required", message }]);
}

interface OutgoingContext {
  scenario: ScenarioRow;
  drill: boolean;
  customVars: Record<string, string>;
  /** Started by an API device (such as a wall button), not by a person. */
  byMachine: boolean;
}

function toOutgoing(
  planned: PlannedScenarioMessage,
  { scenario, drill, customVars, byMachine }: OutgoingContext,
): OutgoingNotification {
  const { message, recipients } = planned;
  const { confirmationRequestId } = message;
  return {
    input: {
      messageTemplateId: message.messageTemplateId,
      ...textOverridesOf(planned),
      ...recipients,
      ...(confirmationRequestId === null ? {} : { confirmationRequestId }),
      ...(scenario.emergency ? { priority: "critical" } : {}),
      customVars,
      drill,
    },
    options: {
      source: scenario.type === "panic-button" ? "panic-button" : "standard-scenario",
      overrules: true,
      byMachine,
    },
  };
}

/** Uses the incident plan of the scenario, else that of the first template with one; all messages share the incident. @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
function startIncidentOf(
  start: ParsedStart,
  planned: readonly PlannedScenarioMessage[],
  by: ActorContext,
  tx: Transaction,
): string | null {
  const { scenario, drill, place } = start;
  const planId =
    scenario.incidentPlanId ?? planned.find(({ template }) => template.incidentPlanId)?.template.incidentPlanId;
  if (!planId) return null;
  return (
    startIncident(tx, { planId, drill, name: scenario.name, scenarioId: scenario.id, location: place }, by)?.id ?? null
  );
}

function initiationFields({ device, lookupValue, scenario }: ParsedStart) {
  const byDevice = { initiationSourceType: "api-device", initiationSourceId: device?.id ?? lookupValue };
  const byScenario = { initiationSourceType: "scenario", initiationSourceId: scenario.id };
  return {
    ...(lookupValue === null ? byScenario : byDevice),
    initiationSourceDescription: device?.name ?? scenario.name,
  };
}
