import type { LinkOverview } from "../../cloud-link/link-admin-service.ts";
import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, type Field, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import type { InitialSyncDifference, InitialSyncReport } from "../../sync/site/initial-sync-report.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { addSentences } from "../sentence-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const LONG_TEXT = { max: 10_000 };
const LARGE = { max: Number.MAX_SAFE_INTEGER };
const iso = (at: number | null | undefined): string | null => (at == null ? null : new Date(at).toISOString());

const REFUSED_ROW = {
  resource: text("Resource type of the row.", { required: true }),
  rowId: text("Id of the row.", { required: true }),
  reason: text("Reason why it cannot be written here.", { required: true, ...LONG_TEXT }),
  reasonSentence: sentenceField("Reason", "reason"),
};

const SECRET_TASK = {
  resource: text("Resource type of the row.", { required: true }),
  rowId: text("Id of the row.", { required: true }),
  name: text("Name of the row.", LONG_TEXT),
  field: text("The secret, such as `axlPassword`; of a plugin `config.password`.", { required: true }),
  reason: option("missing: never entered here; changed: the cloud has had another one since.", ["missing", "changed"], {
    required: true,
  }),
  isNeeded: boolean("This appliance uses it: its health is yellow until it is entered.", { required: true }),
};

const ROW_COUNT = { required: true, ...LARGE };

const INITIAL_SYNC = {
  mode: option("How the appliance entered the organisation.", ["adopt", "join"], { required: true }),
  state: option(
    "running: not all rows were compared yet; differs: not finished, because rows differ; complete: both sides have the same rows; accepted: an administrator finished it although rows differed.",
    ["running", "differs", "complete", "accepted"],
    { required: true },
  ),
  startedAt: timestamp("When it began.", { required: true }),
  checkedAt: timestamp("When both sides were compared last."),
  finishedAt: timestamp("When it was finished."),
  waitsFor: text("What it waits for while it runs.", LONG_TEXT),
  waitsForSentence: sentenceField("What it waits for", "waitsFor"),
  types: computed("Rows by type, before and after.", "array", {
    of: {
      resource: text("Resource type.", { required: true }),
      before: integer("Rows of this appliance before.", ROW_COUNT),
      cloudBefore: integer("Rows of the cloud before; null if it did not say.", LARGE),
      here: integer("Rows that both sides share, here, when they were compared last.", LARGE),
      cloud: integer("The same in the cloud.", LARGE),
      isEqual: boolean("Both have the same rows with the same contents.", { required: true }),
    },
  }),
  differences: computed("The first 50 rows that differ.", "array", {
    of: {
      resource: text("Resource type of the row.", { required: true }),
      rowId: text("Id of the row.", { required: true }),
      name: text("Name of the row.", LONG_TEXT),
      kind: option(
        "only-here: the cloud does not have it; only-cloud: it is missing here; unequal: fields differ; lost: this appliance had it before.",
        ["only-here", "only-cloud", "unequal", "lost"],
        { required: true },
      ),
      fields: computed("Fields that differ.", "array", { of: text("Name of a field.") }),
      reason: text("Reason, if it is known.", LONG_TEXT),
      reasonSentence: sentenceField("Reason", "reason"),
    },
  }),
  more: integer("How many more rows differ, at least.", ROW_COUNT),
} satisfies Record<string, Field>;

const STATE = {
  role: option("hub: the cloud; appliance: one of its appliances.", ["hub", "appliance"], { required: true }),
  endpointId: uuid("Id of this appliance or of the cloud.", { required: true }),
  mode: option("Source of commands: cloud, peer appliances on the LAN, or none (solo).", ["cloud", "lan", "solo"], {
    required: true,
  }),
  hub: text("Base URL of the cloud; null if not enrolled.", LONG_TEXT),
  state: option(
    "State of the connection to the cloud; none without a cloud.",
    ["none", "connecting", "connected", "waiting", "refused"],
    { required: true },
  ),
  since: timestamp("When this state began."),
  connectedAt: timestamp("Last successful connection since the start."),
  reason: text("Reason for the missing connection; null while connected.", LONG_TEXT),
  reasonSentence: sentenceField("Reason", "reason"),
  certificateUntil: timestamp("Expiry of its client certificate."),
  unsentRows: integer("Records not yet accepted by the cloud, counted up to 10,000.", { required: true }),
  unsentSince: timestamp("When the oldest of these was written."),
  lagSeconds: integer("Age of the oldest unsent record; 0 without one.", { required: true, ...LARGE }),
  stagedRows: integer("Rows received from the cloud that wait for the rest of their page, counted up to 10,000.", {
    required: true,
  }),
  resyncing: boolean("A full resync is in progress.", { required: true }),
  refusedRows: integer("Rows of the cloud that cannot be written here, counted up to 10,000.", { required: true }),
  refused: computed("The first 20 refused rows.", "array", { of: REFUSED_ROW }),
  secretTasks: computed(
    "Secrets that the cloud has and that must be entered at this appliance, because they do not replicate; those of rows that the caller may read.",
    "array",
    { of: SECRET_TASK },
  ),
  initialSync: computed(
    "Result of the first sync; null before it, at the cloud, and if the appliance was linked by an earlier release. Differing rows are listed if the caller may read them.",
    "object",
    { of: INITIAL_SYNC, nullable: true },
  ),
  position: computed("Positions in the change feeds; null without a cloud.", "object", {
    of: {
      applied: integer("Position in the cloud's feed up to which rows are applied.", { required: true, ...LARGE }),
      received: integer("Position up to which rows were received.", { required: true, ...LARGE }),
      written: integer("Records written for the cloud.", { required: true, ...LARGE }),
      taken: integer("Records accepted by the cloud.", { required: true, ...LARGE }),
    },
    nullable: true,
  }),
} satisfies Record<string, Field>;

const ENROLMENT = {
  hub: text("Base URL of the cloud.", { required: true, min: 1, ...LONG_TEXT }),
  code: text("Enrolment code.", { required: true, min: 1 }),
  mode: option(
    "adopt: the rows of the appliance become those of the organisation; join (default): the appliance receives the rows of the organisation and keeps its own local.",
    ["adopt", "join"],
  ),
  authority: text("CA certificate of the cloud, PEM; public CAs are known.", { max: 65_536 }),
};
const validateEnrolment = compileBodyValidator(ENROLMENT);

const INITIAL_SYNC_DECISION = {
  action: option(
    "retry: send the rows that the cloud refused again; accept: finish, the rows stay as they are.",
    ["retry", "accept"],
    {
      required: true,
    },
  ),
};
const validateDecision = compileBodyValidator(INITIAL_SYNC_DECISION);

/** State, enrolment and removal of the cloud link. */
export const linkActions: readonly Action[] = [
  {
    method: "get",
    at: "link",
    doc: "Returns the state of the link to the cloud. Available to every authenticated user.",
    response: { kind: "members", fields: STATE },
    permission: "anyone",
    handle: async (request) =>
      jsonResponse(addSentences(STATE, presentLinkState(request), request.deps.plugins.sentences)),
  },
  {
    method: "post",
    at: "link",
    permission: "super",
    doc: "Enrols the appliance with a cloud, using a code created there, and restarts it. An appliance linked to another cloud leaves that first.",
    response: { kind: "members", fields: { endpointId: uuid("Id of the appliance.", { required: true }) } },
    accepts: ENROLMENT,
    async handle({ body, deps }) {
      const { hub, code, mode, authority } = validateEnrolment(body) as {
        hub: string;
        code: string;
        mode: "adopt" | "join" | null;
        authority: string | null;
      };
      if (!URL.canParse(hub)) throw invalidValue("hub", sentence("field.must-be-an-http-or-https-url"));
      const resolved = await deps.ssrfGuard.resolveAllowed(new URL(hub).hostname);
      const how = { mode: mode ?? "join", authority: authority ?? null } as const;
      const { endpoint } = await deps.link.enrol({ hub, code, ...how, resolved });
      return jsonResponse({ endpointId: endpoint });
    },
  },
  {
    method: "delete",
    at: "link",
    permission: "super",
    doc: "Unlinks the appliance from the cloud and restarts it. Its rows are kept; records waiting for the cloud are discarded.",
    response: { kind: "nothing" },
    async handle({ deps }) {
      await deps.link.leave();
      return { status: 204, body: null };
    },
  },
  {
    method: "post",
    at: "link/initial-sync",
    permission: "super",
    doc: "Decides about the rows that differ after the first sync, which does not finish before. Refused with 409 unless rows differ.",
    response: {
      kind: "members",
      fields: { rows: integer("Rows that were sent again.", { required: true, ...LARGE }) },
    },
    accepts: INITIAL_SYNC_DECISION,
    async handle({ body, deps }) {
      const { action } = validateDecision(body) as { action: "retry" | "accept" };
      if (action === "retry") return jsonResponse({ rows: await deps.link.retryInitialSync() });
      await deps.link.acceptInitialSync();
      return jsonResponse({ rows: 0 });
    },
  },
];

function presentLinkState({ deps, by }: ApiRequest): object {
  const { role, endpointId, report, position, queue, refused, isResyncing, secretTasks } = deps.link.overview();
  const visibleTasks = secretTasks.filter(
    ({ type, id }) => deps.store.get(deps.catalogue.byName(type), id, by.scope) !== null,
  );
  const link = report?.hub ? report.link : null;
  const unsentSince = queue?.unsentSince ?? null;
  return {
    ...{ role, endpointId, mode: role === "hub" ? "cloud" : deps.failover(endpointId).mode, hub: report?.hub ?? null },
    ...{ state: link?.state ?? "none", since: iso(link?.since), connectedAt: iso(link?.connectedAt) },
    ...{ reason: link?.reason ?? null, certificateUntil: iso(report?.certificateUntil) },
    ...{ unsentRows: queue?.unsent ?? 0, unsentSince: iso(unsentSince) },
    lagSeconds: unsentSince === null ? 0 : Math.max(0, Math.round((deps.clock.now() - unsentSince) / 1_000)),
    ...{ stagedRows: queue?.staged ?? 0, resyncing: isResyncing, refusedRows: queue?.refused ?? 0 },
    refused: refused.map(({ type, id, reason }) => ({ resource: type, rowId: id, reason })),
    secretTasks: visibleTasks.map(({ type, id, ...task }) => ({ resource: type, rowId: id, ...task })),
    initialSync: report?.initialSync ? presentInitialSync(report.initialSync, { deps, by }) : null,
    position: position && presentPosition(position),
  };
}

function presentInitialSync(
  { types, differences, startedAt, checkedAt, finishedAt, ...report }: InitialSyncReport,
  { deps, by }: Pick<ApiRequest, "deps" | "by">,
): object {
  // Of a row that is missing here only the id is known.
  const isVisible = ({ type, id, kind }: InitialSyncDifference): boolean =>
    kind === "lost" || kind === "only-cloud" || deps.store.get(deps.catalogue.byName(type), id, by.scope) !== null;
  return {
    ...report,
    ...{ startedAt: iso(startedAt), checkedAt: iso(checkedAt), finishedAt: iso(finishedAt) },
    types: types.map(({ type, before, cloudBefore, here, cloud, isEqual }) => ({
      ...{ resource: type, before: before.count, cloudBefore: cloudBefore?.count ?? null },
      ...{ here: here?.count ?? null, cloud: cloud?.count ?? null, isEqual },
    })),
    differences: differences
      .filter(isVisible)
      .map(({ type, id, ...difference }) => ({ resource: type, rowId: id, ...difference })),
  };
}

function presentPosition(position: NonNullable<LinkOverview["position"]>): object {
  const { applied, received: recv, bulkSeq, hotSeq, bulkAcked, hotAcked } = position;
  return { applied, received: recv, written: bulkSeq + hotSeq, taken: bulkAcked + hotAcked };
}
