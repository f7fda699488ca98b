import alarmActionRows from "../../resources/alarms/alarm-actions.ts";
import alarms from "../../resources/alarms/alarms.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import { json } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { type RowRequest, rowOperations } from "../row-operations.ts";
import { withMembers } from "./answer-members.ts";

/** What stands in the alarm where an action of it was changed. */
const WITH_ACTIONS = {
  alarmActionIds: json("Its actions.", { required: true }),
  alarmThresholds: json("Its thresholds.", { required: true }),
};

/** A change of an action answers its alarm. @source service-api.md, Alarms; decisions.md 13 */
const changes = rowOperations(alarmActionRows, canonicalPath(alarmActionRows)).filter(({ method }) => method === "put");

/** What alarms do beyond being rows. */
export const alarmRowActions: readonly Action[] = changes.map(
  (change): Action => ({
    ...change,
    doc: "Changes the members given, null clears; answers the alarm.",
    answers: { kind: "row", resource: alarms, with: WITH_ACTIONS },
    async handle(request) {
      await change.handle(request as RowRequest);
      const alarm = visibleRow(request, alarms, request.params.alarmId ?? "");
      const actions = request.needs.store.find(alarmActionRows, { alarmId: alarm.id });
      return withMembers(await request.show(alarms, alarm), {
        alarmActionIds: actions.map(({ id }) => id),
        alarmThresholds: alarm.alarmThresholds,
      });
    },
  }),
);
