import type { LinkOverview } from "../../cloud-link/link-admin-service.ts";
import { invalidValue } from "../../lib/errors.ts";
import { boolean, computed, type Field, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const WORDS = { max: 10_000 };
const LARGE = { max: Number.MAX_SAFE_INTEGER };
const iso = (at: number | null | undefined): string | null => (at == null ? null : new Date(at).toISOString());

const REFUSED_ROW = {
  resource: text("Kind of the row.", { required: true }),
  rowId: text("Its id.", { required: true }),
  reason: text("Why it can't be written here.", { required: true, ...WORDS }),
};

const STATE = {
  role: option("The cloud of the organisation, or one of its appliances.", ["hub", "appliance"], { required: true }),
  endpointId: uuid("This appliance, or the cloud itself.", { required: true }),
  mode: option("Where it takes its orders from: the cloud, its neighbours, or nobody else.", ["cloud", "lan", "solo"], {
    required: true,
  }),
  hub: text("Base URL of the cloud; null where it was never enrolled.", WORDS),
  state: option(
    "How the connection to the cloud is; none where there is no cloud.",
    ["none", "connecting", "connected", "waiting", "refused"],
    { required: true },
  ),
  since: timestamp("Since when it is so."),
  connectedAt: timestamp("When the cloud let it in last, since the start."),
  reason: text("Why there is no connection, in words; null while there is one.", WORDS),
  certificateUntil: timestamp("When the certificate ends that it is known by."),
  unsentRows: integer("Records that the cloud has not taken, counted up to 10,000.", { required: true }),
  unsentSince: timestamp("When the oldest of them was written."),
  lagSeconds: integer("How old that one is; 0 where none waits.", { required: true, ...LARGE }),
  stagedRows: integer("Rows of the cloud that came and wait for the rest of theirs, counted up to 10,000.", {
    required: true,
  }),
  resyncing: boolean("All rows are being fetched anew.", { required: true }),
  refusedRows: integer("Rows of the cloud that can't be written here, counted up to 10,000.", { required: true }),
  refused: computed("The first 20 of them.", "array", { of: REFUSED_ROW }),
  position: computed("Where it stands in the feeds; null where there is no cloud.", "object", {
    of: {
      applied: integer("Number of the cloud's feed up to which rows are applied.", { required: true, ...LARGE }),
      received: integer("Number up to which they came.", { required: true, ...LARGE }),
      written: integer("Records that were written for the cloud.", { required: true, ...LARGE }),
      taken: integer("Records that the cloud has taken.", { required: true, ...LARGE }),
    },
    nullable: true,
  }),
} satisfies Record<string, Field>;

const ENROLMENT = {
  hub: text("Base URL of the cloud.", { required: true, min: 1, ...WORDS }),
  code: text("The code.", { required: true, min: 1 }),
  mode: option(
    "Its rows become the organisation's (adopt), or it takes the organisation's and keeps its own to itself (join; unless given).",
    ["adopt", "join"],
  ),
  authority: text("Authority that signed the cloud's certificate, PEM; public ones are known.", { max: 65_536 }),
};
const validateEnrolment = compileBodyValidator(ENROLMENT);

/** The link of this daemon to the others of its organisation. own choice: the paths */
export const linkActions: readonly Action[] = [
  {
    method: "get",
    at: "link",
    doc: "How the appliance stands to its cloud. own choice: for everybody who is logged in, since what is seen may be old without it.",
    response: { kind: "members", fields: STATE },
    permission: "anyone",
    handle: async (request) => jsonResponse(presentLinkState(request)),
  },
  {
    method: "post",
    at: "link",
    doc: "Enrols the appliance with a cloud by a code that was made there; it starts anew then. One that is linked to another cloud leaves that first.",
    response: { kind: "members", fields: { endpointId: uuid("The appliance.", { required: true }) } },
    accepts: ENROLMENT,
    async handle({ body, needs }) {
      const { hub, code, mode, authority } = validateEnrolment(body) as {
        hub: string;
        code: string;
        mode: "adopt" | "join" | null;
        authority: string | null;
      };
      if (!URL.canParse(hub)) throw invalidValue("hub", "It is an http or https URL.");
      const resolved = await needs.ssrfGuard.resolveAllowed(new URL(hub).hostname);
      const how = { mode: mode ?? "join", authority: authority ?? null } as const;
      const { endpoint } = await needs.link.enrol({ hub, code, ...how, resolved });
      return jsonResponse({ endpointId: endpoint });
    },
  },
  {
    method: "delete",
    at: "link",
    doc: "Makes the appliance stand alone again; its rows stay as they are, and what waits for the cloud is forgotten. It starts anew then.",
    response: { kind: "nothing" },
    async handle({ needs }) {
      await needs.link.leave();
      return { status: 204, body: null };
    },
  },
];

function presentLinkState({ needs }: ApiRequest): object {
  const { role, endpointId, report, position, queue, refused, isResyncing } = needs.link.overview();
  const link = report?.hub ? report.link : null;
  const unsentSince = queue?.unsentSince ?? null;
  return {
    ...{ role, endpointId, mode: role === "hub" ? "cloud" : needs.failover(endpointId).mode, hub: report?.hub ?? null },
    ...{ state: link?.state ?? "none", since: iso(link?.since), connectedAt: iso(link?.connectedAt) },
    ...{ reason: link?.reason ?? null, certificateUntil: iso(report?.certificateUntil) },
    ...{ unsentRows: queue?.unsent ?? 0, unsentSince: iso(unsentSince) },
    lagSeconds: unsentSince === null ? 0 : Math.max(0, Math.round((needs.clock.now() - unsentSince) / 1_000)),
    ...{ stagedRows: queue?.staged ?? 0, resyncing: isResyncing, refusedRows: queue?.refused ?? 0 },
    refused: refused.map(({ type, id, reason }) => ({ resource: type, rowId: id, reason })),
    position: position && presentPosition(position),
  };
}

function presentPosition(position: NonNullable<LinkOverview["position"]>): object {
  const { applied, received: recv, bulkSeq, hotSeq, bulkAcked, hotAcked } = position;
  return { applied, received: recv, written: bulkSeq + hotSeq, taken: bulkAcked + hotAcked };
}
