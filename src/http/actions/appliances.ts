import type { ApplianceStatus } from "../../cloud-link/appliance-status.ts";
import { computed, integer, list, number, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const REASON = text("A reason.", { required: true, max: 10_000 });
const LARGE = { max: Number.MAX_SAFE_INTEGER };
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const ALARM = {
  alarmId: uuid("The alarm.", { required: true }),
  type: text("What is watched.", { required: true }),
  since: timestamp("Since when it is ACTIVE.", { required: true }),
  reasons: list("What is wrong, in words.", REASON, { required: true }),
};

const APPLIANCE = {
  endpointId: uuid("Its id.", { required: true }),
  name: text("What people call it."),
  site: computed("Where it stands; null where nobody said.", "object", {
    of: {
      siteId: uuid("The site.", { required: true }),
      name: text("What people call the site.", { required: true }),
      latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
      longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    },
    nullable: true,
  }),
  link: option(
    "Its link stands; it does not; it was never linked; or its keys were taken away.",
    ["linked", "away", "never", "revoked"],
    { required: true },
  ),
  since: timestamp("Since when the link stands, or has ended; null for one that was never there."),
  heardAt: timestamp("When it was there last, to the minute."),
  version: text("Version of its software."),
  certificateUntil: timestamp("When the certificate ends that it is known by."),
  position: integer("Number of the cloud's feed up to which it has all rows.", LARGE),
  head: integer("Where the cloud's feed stands.", { required: true, ...LARGE }),
  rowsBehind: integer("Rows that it does not have yet, counted up to 10,000; null for one that was never there."),
  behindSince: timestamp("When the oldest of them was written."),
  unsentRows: integer("Records that waited there to come up when it said so last, counted up to 10,000."),
  unsentSince: timestamp("When the oldest of them was written."),
  openCommands: integer("Messages and orders that it has not told the outcome of.", { required: true }),
  waitingRows: integer("Rows of it that wait here for what they refer to.", { required: true }),
  health: computed("Its health as it told it last; null where it told nothing yet.", "object", {
    of: {
      status: option("In one word.", ["GREEN", "YELLOW", "RED"], { required: true }),
      reasons: list("What is wrong, in words.", REASON, { required: true }),
      at: timestamp("Since when.", { required: true }),
    },
    nullable: true,
  }),
  alarms: computed("Its alarms that are ACTIVE.", "array", { of: ALARM }),
};

const ENROLMENT_CODE = {
  id: uuid("By which it can be taken back.", { required: true }),
  endpointId: uuid("The only appliance that may use it; null for any."),
  until: timestamp("Until when it is good.", { required: true }),
};

const ENROLMENT_CODE_INPUT = { endpointId: uuid("The only appliance that may use it; any unless given.") };
const validateEnrolmentCodeInput = compileBodyValidator(ENROLMENT_CODE_INPUT);

/** What the cloud of an organisation knows of its appliances, and who may join. own choice: the paths */
export const applianceActions: readonly Action[] = [
  {
    method: "get",
    at: "link/appliances",
    doc: "At the cloud: the appliances of the organisation, and how each is.",
    response: {
      kind: "members",
      fields: {
        appliances: computed("In the order in which they came.", "array", { of: APPLIANCE }),
        offeredVersion: text("Version that lies ready for those that are told to upgrade; null when none does."),
      },
    },
    async handle({ needs: { link } }) {
      const appliances = (await link.appliances()).map(presentAppliance);
      return jsonResponse({ appliances, offeredVersion: link.offeredVersion() });
    },
  },
  {
    method: "delete",
    at: "link/appliances/{endpointId}",
    doc: "At the cloud: takes the keys of an appliance away and ends its link. Its rows stay; it can be enrolled anew.",
    response: { kind: "deletion" },
    async handle({ needs, params: { endpointId = "" } }) {
      await needs.link.revoke(endpointId);
      return deletedResponse(endpointId);
    },
  },
  {
    method: "get",
    at: "link/codes",
    doc: "At the cloud: codes that can still be used to enrol an appliance; what they say was told once.",
    response: {
      kind: "members",
      fields: { codes: computed("The next to end first.", "array", { of: ENROLMENT_CODE }) },
    },
    async handle({ needs }) {
      const codes = needs.link
        .listEnrolmentCodes()
        .map(({ id, endpoint, until }) => ({ id, endpointId: endpoint, until: iso(until) }));
      return jsonResponse({ codes });
    },
  },
  {
    method: "post",
    at: "link/codes",
    doc: "At the cloud: makes a code by which one appliance can be enrolled, once and within 15 minutes.",
    response: {
      kind: "members",
      fields: {
        code: text("What is typed at the appliance; told in this answer alone.", { required: true }),
        until: timestamp("Until when it is good.", { required: true }),
      },
    },
    accepts: ENROLMENT_CODE_INPUT,
    async handle({ needs, body }) {
      const { endpointId } = validateEnrolmentCodeInput(body) as { endpointId: string | null };
      const { code, until } = await needs.link.createEnrolmentCode(endpointId);
      return jsonResponse({ code, until: iso(until) });
    },
  },
  {
    method: "delete",
    at: "link/codes/{codeId}",
    doc: "At the cloud: takes a code back.",
    response: { kind: "deletion" },
    async handle({ needs, params: { codeId = "" } }) {
      await needs.link.withdrawEnrolmentCode(codeId);
      return deletedResponse(codeId);
    },
  },
];

function presentAppliance({ health, alarms, ...rest }: ApplianceStatus): object {
  const { since, heardAt, certificateUntil, behindSince, unsentSince } = rest;
  const times = { since, heardAt, certificateUntil, behindSince, unsentSince };
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(times).map(([name, at]) => [name, iso(at)])),
    health: health && { ...health, at: iso(health.at) },
    alarms: alarms.map((alarm) => ({ ...alarm, since: iso(alarm.since) })),
  };
}
