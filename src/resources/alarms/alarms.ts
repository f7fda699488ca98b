import { boolean, computed, json, option, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";
import { ALARM_STATUSES, ALARM_TYPES } from "./alarm-types.ts";

/**
 * Alarms of the appliances. Configuration applies to all appliances of an organisation; the status is per appliance,
 * and events name the appliance.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/alarms`
 */
export default defineResource({
  name: "alarms",
  doc: "A monitored condition: ACTIVE while there is a problem.",
  paths: [{ at: "alarms", methods: ["get", "put"] }],
  idParam: "alarmId",
  scope: "organisation",
  replicate: "B",
  fields: {
    type: option("Monitored condition.", ALARM_TYPES, { readOnly: true }),
    status: option("ACTIVE while there is a problem.", ALARM_STATUSES, { readOnly: true, default: "OK" }),
    muted: boolean("Actions are suppressed; events are still recorded.", { default: false }),
    acknowledgedAt: timestamp(
      "When the alarm was acknowledged; null once the alarm is over, becomes active again, or gets a new reason.",
      { readOnly: true },
    ),
    acknowledgedBy: text("Name of the user who acknowledged it, at that time.", { readOnly: true }),
    acknowledgementNote: text("Note of the acknowledgement.", { readOnly: true }),
    alarmThresholds: json(
      "`[{id, alarmId, endpointId, threshold}]`: what an appliance may exceed without an alarm. speakers_unregistered: number of unregistered speakers, default 0; silent_devices: percent of devices that do not respond, default 5; missed_bells: bells of 24 hours that were missed, late or not heard by some devices, default 0; login_attack: refused log-ins and credentials of 15 minutes, default 100. Other alarms have none. Returned with includeThresholds or includeAlarmThresholds, each threshold as a string. At most 200 entries.",
      { maxBytes: 65_536, default: [], when: ["includeThresholds", "includeAlarmThresholds"] },
    ),
    alarmActionIds: computed("Ids of the actions.", "array", {
      of: uuid("Id of an action.", { required: true }),
      when: "includeActions",
    }),
    administrationDistributionList: computed(
      "List notified by actions without a template; null until such an action exists.",
      "object",
      {
        of: { id: uuid("Id.", { required: true }), name: text("Name.", { required: true }) },
        nullable: true,
        when: "includeAdministrationDistributionList",
      },
    ),
    reasons: computed("Current problems.", "array", {
      of: {
        endpointId: uuid("Appliance with the problem."),
        endpointName: text("Name of the appliance."),
        reason: text("Description of the problem.", { required: true, max: 10_000 }),
        reasonSentence: sentenceField("Description"),
        since: timestamp("Start of the problem.", { required: true }),
      },
    }),
  },
});
