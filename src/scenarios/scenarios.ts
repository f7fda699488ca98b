import { allowedOnly } from "../access/group-actions.ts";
import type { Clock } from "../base/clock.ts";
import { CallerError, faulty, invalidValue } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Broadcaster, Outgoing } from "../broadcast/broadcaster.ts";
import type { Place } from "../places/levels.ts";
import { namePlace, placeInWords } from "../places/place-names.ts";
import apiDevices from "../resources/places/api-devices.ts";
import scenarioNotifications from "../resources/scenarios/scenario-notifications.ts";
import { FURTHER_RECIPIENTS } from "../resources/scenarios/scenario-parts.ts";
import { START } from "../resources/scenarios/scenario-start.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import { compileChecker } from "../schema/check.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { By, Reader, Scope, Store, Transaction } from "../store/store.ts";
import { type Answers, readAnswers, variablesOf } from "./answers.ts";
import { type FurtherRecipients, readFurtherRecipients } from "./further-recipients.ts";
import { startIncident } from "./incident-start.ts";
import { createPins } from "./pins.ts";
import { locationVariableOf, type ScenarioRow } from "./questions.ts";
import { messagesOf } from "./scenario-messages.ts";
import { placeOfStart } from "./scenario-place.ts";
import { ownTexts, type PlannedMessage, planMessages } from "./scenario-plan.ts";
import { previewScenario, type ScenarioPreview, type SimulatedStart } from "./scenario-preview.ts";
import { recordUnknownDevice } from "./unknown-devices.ts";

/** A scenario that was started. */
export type StartedScenario = RowOf<typeof scenarioNotifications>;

/** Starts scenarios, and says beforehand what they would do. */
export interface Scenarios {
  /**
   * Starts the scenario that `input` names: all its messages are accepted, or none. Whether somebody may start scenarios
   * at all is judged by the caller. Throws CallerError, TooManyRequests for a PIN that is guessed. @source decisions.md 7
   */
  start(input: Readonly<Record<string, unknown>>, by: By): Promise<StartedScenario>;
  /** Who and what would be reached, and with which words; nothing is sent. Throws CallerError. */
  preview(scenario: ScenarioRow, start: SimulatedStart, by: By): Promise<ScenarioPreview>;
}

/** What scenarios need. */
export interface ScenarioNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  broadcaster: Pick<Broadcaster, "sendTogether">;
  /** The question about the site is reported and its answer taken. */
  reportsSite: boolean;
}

/** What was asked for, checked as far as it can be without knowing what is sent. */
interface Start {
  scenario: ScenarioRow;
  drill: boolean;
  device: RowOf<typeof apiDevices> | null;
  lookupValue: string | null;
  place: Place;
  answers: Answers;
  further: FurtherRecipients[];
}

const checker = compileChecker(START);

/** Makes the starter of scenarios. */
export function createScenarios(needs: ScenarioNeeds): Scenarios {
  const pins = createPins(needs.store.secrets, needs.clock);
  return {
    async start(input, by) {
      const { values, faults } = checker.check(input, "create");
      if (faults.length > 0) throw faulty(faults);
      const scenario = scenarioOf(values.scenarioId as string, by, needs.store);
      pins.require(scenario, values.confirmationPin, by);
      const start = await readStart(scenario, values, by, needs);
      return send(start, by, needs);
    },
    preview: (scenario, start, by) => previewScenario(scenario, start, by, needs),
  };
}

/** own choice: whoever may start scenarios starts those that the acting domain shows, whether or not it may read them. */
function scenarioOf(id: string, by: By, reader: Reader): ScenarioRow {
  const scenario = reader.get(scenarios, id, by.scope.inSight);
  if (!scenario) throw invalidValue("scenarioId", "There is no such scenario.");
  const allowed = allowedOnly(reader, "scenarios", by);
  if (allowed && !allowed.has(scenario.pk)) {
    throw invalidValue("scenarioId", "The security groups of the sender allow other scenarios alone.");
  }
  return scenario;
}

async function readStart(
  scenario: ScenarioRow,
  values: Readonly<Record<string, unknown>>,
  by: By,
  needs: ScenarioNeeds,
): Promise<Start> {
  const { store, catalogue, reportsSite } = needs;
  const lookupValue = (values.initiationDevice as { lookupValue?: string } | null)?.lookupValue ?? null;
  if (values.initiationDevice && lookupValue === null) {
    throw invalidValue("initiationDevice", "Its lookupValue is required.");
  }
  const device = lookupValue === null ? null : deviceCalled(lookupValue, by.scope, store);
  const isUnknown = lookupValue !== null && device === null;
  if (isUnknown) await recordUnknownDevice(scenario, lookupValue, needs);
  const answers = readAnswers(scenario, values.fields, { reportsSite });
  const told = { location: values.location, site: answers.site, device, mayBeNowhere: isUnknown };
  const place = placeOfStart(scenario, told, store, by.scope.inSight);
  const messageIds = messagesOf(scenario).map(({ id }) => id);
  const familyOf = (field: string): AnyResource =>
    catalogue.byName(FURTHER_RECIPIENTS[field as keyof typeof FURTHER_RECIPIENTS].to);
  const further = readFurtherRecipients(values.messages, messageIds, by, { reader: store, familyOf });
  return { scenario, drill: values.drill === true, device, lookupValue, place, answers, further };
}

function deviceCalled(externalId: string, { inSight }: Scope, reader: Reader): RowOf<typeof apiDevices> | null {
  const known = reader.one<{ id: string }>(
    "SELECT id FROM api_devices WHERE external_id = ? COLLATE NOCASE",
    externalId,
  );
  return known ? reader.get(apiDevices, known.id, inSight) : null;
}

/** Stores the start, its incident and its messages in one transaction. */
async function send(start: Start, by: By, needs: ScenarioNeeds): Promise<StartedScenario> {
  const { scenario, place, further, drill } = start;
  const planned = planMessages(scenario, place, new Map(further.map((each) => [each.messageId, each])), needs.store);
  const going = planned.filter(({ hasRecipients }) => hasRecipients);
  if (going.length === 0) throw nobody();
  const named = namePlace(place, needs.store);
  const customVars = {
    ...variablesOf(start.answers.answered),
    [locationVariableOf(scenario)]: placeInWords(named),
  };
  const byMachine = start.lookupValue !== null;
  const messages = going.map((message) => outgoing(message, { scenario, drill, customVars, byMachine }));
  const notSent = planned.filter(({ hasRecipients }) => !hasRecipients).map(({ message }) => message);
  const id = newId();
  await needs.broadcaster.sendTogether(messages, by, (tx) => {
    const incidentId = incidentOf(start, planned, by, tx);
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
      ...place,
      incidentId,
    });
    return { scenarioNotificationId: id, incidentId, ...initiationOf(start) };
  });
  const row = needs.store.get(scenarioNotifications, id);
  if (!row) throw new CallerError("conflict", "The scenario was deleted.");
  return row;
}

function nobody(): CallerError {
  const message = "There is nobody whom a message of the scenario would go to there.";
  return faulty([{ field: "messages", type: "required", message }]);
}

interface Going {
  scenario: ScenarioRow;
  drill: boolean;
  customVars: Record<string, string>;
  /** A device on a wall starts it. */
  byMachine: boolean;
}

function outgoing(planned: PlannedMessage, { scenario, drill, customVars, byMachine }: Going): Outgoing {
  const { message, recipients } = planned;
  const { confirmationRequestId } = message;
  return {
    input: {
      messageTemplateId: message.messageTemplateId,
      ...ownTexts(planned),
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

/** own choice: the plan is the scenario's, else that of the first template that has one; all messages share the incident. */
function incidentOf(start: Start, planned: readonly PlannedMessage[], by: By, tx: Transaction): string | null {
  const { scenario, drill, place } = start;
  const planId =
    scenario.incidentPlanId ?? planned.find(({ template }) => template.incidentPlanId)?.template.incidentPlanId;
  if (!planId) return null;
  return (
    startIncident(tx, { planId, drill, name: scenario.name, scenarioId: scenario.id, location: place }, by)?.id ?? null
  );
}

function initiationOf({ device, lookupValue, scenario }: Start) {
  const byDevice = { initiationSourceType: "api-device", initiationSourceId: device?.id ?? lookupValue };
  const byScenario = { initiationSourceType: "scenario", initiationSourceId: scenario.id };
  return {
    ...(lookupValue === null ? byScenario : byDevice),
    initiationSourceDescription: device?.name ?? scenario.name,
  };
}
