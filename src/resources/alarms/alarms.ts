import { boolean, computed, json, option, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ALARM_STATUSES, ALARM_TYPES } from "./alarm-types.ts";

/**
 * What the appliance watches of itself. own choice: what is set of an alarm is set for all appliances of an organisation;
 * its status is each appliance's own, and its events say where. @source service-api.md, Alarm; decisions.md 13; digest `/v1/alarms`
 */
export default defineResource({
  name: "alarms",
  doc: "Something that is watched: ACTIVE while there is a problem.",
  paths: [{ at: "alarms", methods: ["get", "put"] }],
  idParam: "alarmId",
  scope: "organisation",
  replicate: "B",
  fields: {
    type: option("What is watched.", ALARM_TYPES, { readOnly: true }),
    status: option("ACTIVE while there is a problem.", ALARM_STATUSES, { readOnly: true, default: "OK" }),
    muted: boolean("Its actions are not taken; events are recorded all the same.", { default: false }),
    acknowledgedAt: timestamp(
      "own choice: when somebody said that it is seen to; null once it is over, is active anew, or a further reason came.",
      { readOnly: true },
    ),
    acknowledgedBy: text("own choice: who said so, by the name at that time.", { readOnly: true }),
    acknowledgementNote: text("own choice: what that one wrote of it.", { readOnly: true }),
    alarmThresholds: json(
      "Of speakers_unregistered alone: `[{id, alarmId, endpointId, threshold}]`, how many speakers of an appliance may be unregistered. Shown with includeThresholds or includeAlarmThresholds, each threshold as a text. own choice: 0 for an appliance that is not named; at most 200.",
      { maxBytes: 65_536, default: [], when: ["includeThresholds", "includeAlarmThresholds"] },
    ),
    alarmActionIds: computed("Its actions.", "array", { of: uuid("One.", { required: true }), when: "includeActions" }),
    administrationDistributionList: computed(
      "The list that is told by actions without a template; null until there is such an action.",
      "object",
      {
        of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
        nullable: true,
        when: "includeAdministrationDistributionList",
      },
    ),
    reasons: computed("own choice: what is wrong now, in words.", "array", {
      of: {
        endpointId: uuid("Appliance where it is wrong."),
        endpointName: text("What people call it."),
        reason: text("What is wrong.", { required: true, max: 10_000 }),
        since: timestamp("Since when.", { required: true }),
      },
    }),
  },
});
