import { list, object, text, uuid } from "../../schema/field.ts";

const WHAT_COUNTS = {
  type: text("Kind of roster, in the plan's own word.", { max: 140 }),
  statuses: list("What may be said of somebody, such as `safe`.", text("One of them.", { min: 1, max: 140 }), {
    maxItems: 50,
  }),
  locations: list("Where somebody may be.", text("One of them.", { min: 1, max: 140 }), { maxItems: 100 }),
};

/** How people are accounted for in incidents of a plan. @source digest `/v1/incident-plans`; own choice: the lengths */
export const PLAN_ROSTERING_FIELD = object("How people are accounted for while an incident of the plan goes on.", {
  ...WHAT_COUNTS,
  rosterMemberSiteRoleIds: list("Roles whose players at the site are accounted for.", uuid("Id of a role."), {
    maxItems: 100,
  }),
  rosterManagerSiteRoleIds: list(
    "Roles whose players account for them. own choice: who may is said by permissions.",
    uuid("Id of a role."),
    { maxItems: 100 },
  ),
});

/** The same of an incident, as its plan said when it began. */
export const INCIDENT_ROSTERING_FIELD = object(
  "How people are accounted for, as the plan said when it began.",
  WHAT_COUNTS,
  {
    readOnly: true,
  },
);
