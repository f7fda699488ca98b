import { list, object, text, uuid } from "../../schema/field.ts";

const ROSTER_FIELDS = {
  type: text("Type of roster, as free text.", { max: 140 }),
  statuses: list("Possible statuses of a person, such as `safe`.", text("A status.", { min: 1, max: 140 }), {
    maxItems: 50,
  }),
  locations: list("Possible locations of a person.", text("A location.", { min: 1, max: 140 }), { maxItems: 100 }),
};

/**
 * How people are accounted for in incidents of a plan.
 * @source docs/decisions/0042-api-contract.md, `/v1/incident-plans`
 */
export const PLAN_ROSTERING_FIELD = object("How people are accounted for during an incident of the plan.", {
  ...ROSTER_FIELDS,
  rosterMemberSiteRoleIds: list("Site roles whose members are accounted for.", uuid("Id of a role."), {
    maxItems: 100,
  }),
  rosterManagerSiteRoleIds: list(
    "Site roles whose members account for them. Access is controlled by permissions.",
    uuid("Id of a role."),
    { maxItems: 100 },
  ),
});

/** Roster settings of an incident, copied from its plan at the start. */
export const INCIDENT_ROSTERING_FIELD = object(
  "How people are accounted for; copied from the plan when the incident started.",
  ROSTER_FIELDS,
  {
    readOnly: true,
  },
);
