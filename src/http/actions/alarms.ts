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

const ACKNOWLEDGEMENT = { note: text("What is being done about it.", { max: 255 }) };
const validateAcknowledgement = compileBodyValidator(ACKNOWLEDGEMENT);

/** What stands in the alarm where an action of it was changed. */
const WITH_ACTIONS = {
  alarmActionIds: jsonField("Its actions.", { required: true }),
  alarmThresholds: jsonField("Its thresholds.", { required: true }),
};

/** A change of an action answers its alarm. @source service-api.md, Alarms; decisions.md 13 */
const changeOperations = rowOperations(alarmActionRows, canonicalPath(alarmActionRows)).filter(
  ({ method }) => method === "put",
);

const MUTE_PREVIEW = {
  events: computed("The newest 100 of them, the newest first.", "array", {
    of: {
      id: uuid("The event.", { required: true }),
      status: text("Status that was entered.", { required: true }),
      createdAt: timestamp("When.", { required: true }),
      reasons: list("Why.", text("One reason.", { max: 10_000 }), { required: true }),
      actions: integer("Actions that match it as they are now.", { required: true }),
    },
  }),
  total: integer("How many there are.", { required: true }),
  withheld: integer("Messages that would not have been sent.", { required: true }),
};

/** What alarms do beyond being rows. @source service-api.md, Alarms; decisions.md 7 and 13 */
export const alarmRowActions: readonly Action[] = [
  ...changeOperations.map(changingAction),
  {
    method: "post",
    at: "alarms/{alarmId}/events",
    doc: "Says that an alarm is OK: of all alarms scenario_device_resolution_failed alone, while it is ACTIVE.",
    response: { kind: "row", resource: alarmEvents },
    accepts: alarmEvents.fields,
    async handle(request) {
      const { id } = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const { status } = validateStatus(request.body);
      return request.respondWithRow(alarmEvents, await request.needs.alarms.setManually(id, status, request.by));
    },
  },
  {
    // own choice: all of it.
    method: "post",
    at: "alarms/{alarmId}/acknowledge",
    doc: "Says that the caller sees to an active alarm, which stays active; what changes of the alarm ends it.",
    response: { kind: "row", resource: alarms },
    accepts: ACKNOWLEDGEMENT,
    async handle(request) {
      const { store, clock } = request.needs;
      const { id } = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const note = (validateAcknowledgement(request.body).note ?? null) as string | null;
      const row = await store.write((tx) => acknowledgeAlarm(tx, id, note, clock.now(), request.by));
      return request.respondWithRow(alarms, row);
    },
  },
  {
    // own choice: the path.
    method: "get",
    at: "alarms/{alarmId}/mute-preview",
    doc: "What a mute would have kept quiet in the last 30 days.",
    query: { endpointId: uuid("Appliance it is narrowed to."), reason: text("Words that it is narrowed to.") },
    response: { kind: "members", fields: MUTE_PREVIEW },
    async handle(request) {
      const { store, clock } = request.needs;
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
    doc: "Changes the members given, null clears; answers the alarm.",
    response: { kind: "row", resource: alarms, with: WITH_ACTIONS },
    async handle(request) {
      await change.handle(request as RowRequest);
      const alarm = requireVisibleRow(request, alarms, request.params.alarmId ?? "");
      const actions = request.needs.store.find(alarmActionRows, { alarmId: alarm.id });
      return addMembers(await request.respondWithRow(alarms, alarm), {
        alarmActionIds: actions.map(({ id }) => id),
        alarmThresholds: alarm.alarmThresholds,
      });
    },
  };
}
