import { acknowledgeAlarm } from "../../alarms/acknowledgement.ts";
import { previewMute } from "../../alarms/mutes.ts";
import alarmActionRows from "../../resources/alarms/alarm-actions.ts";
import alarmEvents from "../../resources/alarms/alarm-events.ts";
import alarms from "../../resources/alarms/alarms.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import { computed, integer, json as jsonField, list, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { type RowOperation, type RowRequest, rowOperations } from "../rows/row-operations.ts";
import { addMembers } from "./add-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const validateStatus = compileBodyValidator({ status: alarmEvents.fields.status });

const ACKNOWLEDGEMENT = { note: text("What is being done about the alarm.", { max: 255 }) };
const validateAcknowledgement = compileBodyValidator(ACKNOWLEDGEMENT);

/** Additional members of the alarm in the response to a change of an action. */
const WITH_ACTIONS = {
  alarmActionIds: jsonField("Ids of the actions of the alarm.", { required: true }),
  alarmThresholds: jsonField("Thresholds of the alarm.", { required: true }),
};

/**
 * Changing an action returns its alarm.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md
 */
const changeOperations = rowOperations(alarmActionRows, canonicalPath(alarmActionRows)).filter(
  ({ method }) => method === "put",
);

const MUTE_PREVIEW = {
  events: computed("The newest 100 events, newest first.", "array", {
    of: {
      id: uuid("The event.", { required: true }),
      status: text("Status that was entered.", { required: true }),
      createdAt: timestamp("Time of the event.", { required: true }),
      reasons: list("Reasons.", text("A reason.", { max: 10_000 }), { required: true }),
      actions: integer("Number of current actions that match the event.", { required: true }),
    },
  }),
  total: integer("Total number.", { required: true }),
  withheld: integer("Number of messages that would have been suppressed.", { required: true }),
};

/**
 * Actions on alarms.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0013-other-resources.md;
 * docs/decisions/0042-api-contract.md
 */
export const alarmRowActions: readonly Action[] = [
  ...changeOperations.map(changingAction),
  {
    method: "post",
    at: "alarms/{alarmId}/events",
    doc: "Sets an alarm to OK. Only possible for scenario_device_resolution_failed while it is ACTIVE.",
    response: { kind: "row", resource: alarmEvents },
    accepts: alarmEvents.fields,
    async handle(request) {
      const { id } = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const { status } = validateStatus(request.body);
      return request.respondWithRow(alarmEvents, await request.deps.alarms.setManually(id, status, request.by));
    },
  },
  {
    method: "post",
    at: "alarms/{alarmId}/acknowledge",
    doc: "Acknowledges an active alarm. The alarm stays active; any change of the alarm ends the acknowledgement.",
    response: { kind: "row", resource: alarms },
    accepts: ACKNOWLEDGEMENT,
    async handle(request) {
      const { store, clock } = request.deps;
      const { id } = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const note = (validateAcknowledgement(request.body).note ?? null) as string | null;
      const row = await store.write((tx) => acknowledgeAlarm(tx, id, note, clock.now(), request.by));
      return request.respondWithRow(alarms, row);
    },
  },
  {
    method: "get",
    at: "alarms/{alarmId}/mute-preview",
    doc: "Previews which events of the last 30 days a mute would have suppressed.",
    query: {
      endpointId: uuid("Only events of this appliance."),
      reason: text("Only events whose reasons contain this text."),
    },
    response: { kind: "members", fields: MUTE_PREVIEW },
    async handle(request) {
      const { store, clock } = request.deps;
      const { id } = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const [endpointId, reason] = [textParameter(request.query, "endpointId"), textParameter(request.query, "reason")];
      const rule = { endpointId: endpointId?.toLowerCase() || null, reason: reason || null };
      const { events, ...sums } = previewMute(store, id, rule, clock.now());
      const shown = events.map((event) => ({ ...event, createdAt: new Date(event.createdAt).toISOString() }));
      return jsonResponse({ events: shown, ...sums });
    },
  },
];

function changingAction(change: RowOperation): Action {
  return {
    ...change,
    doc: "Updates the given fields; null clears a field. Returns the alarm.",
    response: { kind: "row", resource: alarms, with: WITH_ACTIONS },
    async handle(request) {
      await change.handle(request as RowRequest);
      const alarm = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const actions = request.deps.store.find(alarmActionRows, { alarmId: alarm.id });
      return addMembers(await request.respondWithRow(alarms, alarm), {
        alarmActionIds: actions.map(({ id }) => id),
        alarmThresholds: alarm.alarmThresholds,
      });
    },
  };
}
