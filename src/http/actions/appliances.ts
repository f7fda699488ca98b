import type { ApplianceStatus } from "../../cloud-link/appliance-status.ts";
import { sentenceField, sentencesField } from "../../resources/sentence-field.ts";
import { computed, integer, list, number, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";
import { addSentences } from "../sentence-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const REASON = text("A reason.", { required: true, max: 10_000 });
const LARGE = { max: Number.MAX_SAFE_INTEGER };
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const DOMAIN_ID = uuid("Id of a domain.", { required: true });

const ALARM = {
  alarmId: uuid("Id of the alarm.", { required: true }),
  type: text("Type of the alarm.", { required: true }),
  since: timestamp("When it became ACTIVE.", { required: true }),
  reasons: list("Current problems.", REASON, { required: true }),
  reasonSentences: sentencesField("Problems", { sentenceOf: "reasons" }),
};

const APPLIANCE = {
  endpointId: uuid("Id.", { required: true }),
  name: text("Name of the appliance."),
  site: computed("Site of the appliance; null if not set.", "object", {
    of: {
      siteId: uuid("Id of the site.", { required: true }),
      name: text("Name of the site.", { required: true }),
      latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
      longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    },
    nullable: true,
  }),
  domainIds: list(
    "Topmost domains that the appliance is bound to: the cloud takes changes only of their rows from it. Null for the whole organisation.",
    DOMAIN_ID,
  ),
  link: option(
    "linked: connected; away: not connected; never: has never connected; revoked: its keys were revoked.",
    ["linked", "away", "never", "revoked"],
    { required: true },
  ),
  since: timestamp("When the link was established or lost; null if it never connected."),
  heardAt: timestamp("Last contact, accurate to the minute."),
  version: text("Version of its software."),
  certificateUntil: timestamp("Expiry of its client certificate."),
  position: integer("Position in the cloud's change feed up to which it has all rows.", LARGE),
  head: integer("Current position of the cloud's change feed.", { required: true, ...LARGE }),
  rowsBehind: integer("Rows not yet replicated to it, counted up to 10,000; null if it never connected."),
  behindSince: timestamp("When the oldest of these was written."),
  unsentRows: integer(
    "Records waiting at the appliance for upload according to its last report, counted up to 10,000.",
  ),
  unsentSince: timestamp("When the oldest of these was written."),
  openCommands: integer("Messages and commands without a reported outcome.", { required: true }),
  waitingRows: integer("Rows from it that wait in the cloud, mostly for rows that they refer to.", { required: true }),
  waits: computed("The first 20 of these.", "array", {
    of: {
      resource: text("Resource type of the row.", { required: true }),
      rowId: text("Id of the row.", { required: true }),
      reason: text("What it waits for.", { required: true, max: 10_000 }),
      reasonSentence: sentenceField("What it waits for", "reason"),
    },
  }),
  health: computed("Last reported health; null if none was reported yet.", "object", {
    of: {
      status: option("Health status.", ["GREEN", "YELLOW", "RED"], { required: true }),
      reasons: list("Current problems.", REASON, { required: true }),
      reasonSentences: sentencesField("Problems", { sentenceOf: "reasons" }),
      at: timestamp("Start of this status.", { required: true }),
    },
    nullable: true,
  }),
  alarms: computed("Alarms that are ACTIVE.", "array", { of: ALARM }),
};

const ENROLMENT_CODE = {
  id: uuid("Id for revoking the code.", { required: true }),
  endpointId: uuid("The only appliance that may use the code; null for any."),
  domainIds: list("Domains that the appliance is bound to; null for the whole organisation, or as before.", DOMAIN_ID),
  until: timestamp("Expiry time.", { required: true }),
};

const ENROLMENT_CODE_INPUT = {
  endpointId: uuid("The only appliance that may use the code; default: any."),
  domainIds: list(
    "Topmost domains that the appliance is bound to; default: those that it was bound to, or the whole organisation.",
    DOMAIN_ID,
  ),
};
const validateEnrolmentCodeInput = compileBodyValidator(ENROLMENT_CODE_INPUT);
const BINDING_INPUT = {
  domainIds: list("Topmost domains that the appliance is bound to; null for the whole organisation.", DOMAIN_ID),
};
const validateBindingInput = compileBodyValidator(BINDING_INPUT);

/** Appliance administration in the cloud: status, revocation and enrolment codes. */
export const applianceActions: readonly Action[] = [
  {
    method: "get",
    at: "link/appliances",
    doc: "Lists the appliances of the organisation with their status. Cloud only.",
    response: {
      kind: "members",
      fields: {
        appliances: computed("Appliances, in the order in which they were added.", "array", { of: APPLIANCE }),
        offeredVersion: text("Version available for upgrades; null without one."),
      },
    },
    async handle({ deps: { link, plugins } }) {
      const appliances = (await link.appliances()).map((each) =>
        addSentences(APPLIANCE, presentAppliance(each), plugins.sentences),
      );
      return jsonResponse({ appliances, offeredVersion: link.offeredVersion() });
    },
  },
  {
    method: "delete",
    at: "link/appliances/{endpointId}",
    permission: "super",
    doc: "Revokes the keys of an appliance and closes its link. Its rows are kept; it can be enrolled again. Cloud only.",
    response: { kind: "deletion" },
    async handle({ deps, params: { endpointId = "" } }) {
      await deps.link.revoke(endpointId);
      return deletedResponse(endpointId);
    },
  },
  {
    method: "put",
    at: "link/appliances/{endpointId}",
    permission: "super",
    doc: "Binds an appliance to domains, at once: the cloud takes changes only of their rows and accounts from it, and users act there only within them when the appliance forwards their requests. Cloud only.",
    response: { kind: "nothing" },
    accepts: BINDING_INPUT,
    async handle({ deps, params: { endpointId = "" }, body }) {
      const { domainIds } = validateBindingInput(body) as { domainIds: string[] | null };
      await deps.link.bindToDomains(endpointId, domainIds ?? null);
      return { status: 204, body: null };
    },
  },
  {
    method: "get",
    at: "link/codes",
    doc: "Lists unused enrolment codes, without their values. Cloud only.",
    response: {
      kind: "members",
      fields: { codes: computed("Codes, the next to expire first.", "array", { of: ENROLMENT_CODE }) },
    },
    async handle({ deps }) {
      const codes = deps.link
        .listEnrolmentCodes()
        .map(({ id, endpoint, domainIds, until }) => ({ id, endpointId: endpoint, domainIds, until: iso(until) }));
      return jsonResponse({ codes });
    },
  },
  {
    method: "post",
    at: "link/codes",
    permission: "super",
    doc: "Creates a one-time code for enrolling an appliance, valid for 15 minutes. Cloud only.",
    response: {
      kind: "members",
      fields: {
        code: text("Code to enter at the appliance; returned only here.", { required: true }),
        until: timestamp("Expiry time.", { required: true }),
      },
    },
    accepts: ENROLMENT_CODE_INPUT,
    async handle({ deps, body }) {
      const { endpointId: endpoint, domainIds } = validateEnrolmentCodeInput(body) as {
        endpointId: string | null;
        domainIds: string[] | null;
      };
      const { code, until } = await deps.link.createEnrolmentCode({ endpoint, domainIds: domainIds ?? null });
      return jsonResponse({ code, until: iso(until) });
    },
  },
  {
    method: "delete",
    at: "link/codes/{codeId}",
    permission: "super",
    doc: "Revokes an enrolment code. Cloud only.",
    response: { kind: "deletion" },
    async handle({ deps, params: { codeId = "" } }) {
      await deps.link.withdrawEnrolmentCode(codeId);
      return deletedResponse(codeId);
    },
  },
];

function presentAppliance({ health, alarms, waits, ...rest }: ApplianceStatus): object {
  const { since, heardAt, certificateUntil, behindSince, unsentSince } = rest;
  const times = { since, heardAt, certificateUntil, behindSince, unsentSince };
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(times).map(([name, at]) => [name, iso(at)])),
    health: health && { ...health, at: iso(health.at) },
    waits: waits.map(({ type, id, reason }) => ({ resource: type, rowId: id, reason })),
    alarms: alarms.map((alarm) => ({ ...alarm, since: iso(alarm.since) })),
  };
}
