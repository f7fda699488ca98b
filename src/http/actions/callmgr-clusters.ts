import type { ConnectionTest } from "../../call-manager/connection-test.ts";
import { chooseGatherer } from "../../call-manager/onprem-server-hooks.ts";
import type { PhoneCacheState } from "../../call-manager/phone-cache.ts";
import type { HandOverAppliance } from "../../cloud-link/secret-hand-over/hub-hand-over.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../resources/callmgr/callmgr-onprem-servers.ts";
import { sentenceField, sentencesField } from "../../resources/sentence-field.ts";
import { boolean, computed, type Field, integer, list, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { idListParameter } from "../query/query.ts";
import { addSentences } from "../sentence-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const LONG_TEXT = { max: 10_000 } as const;
const REBUILD_TYPES = ["full", "delta", "partial"] as const;

const CHECK = {
  what: option(
    "axl: the administration interface and its user; nodes: the list of nodes; snmp: one node; risport: the secondary source of registrations; tftp: the server of the phones' configuration.",
    ["axl", "nodes", "snmp", "risport", "tftp"],
    { required: true },
  ),
  host: text("Host that was queried.", { required: true }),
  ok: boolean("The check passed.", { required: true }),
  needed: boolean("Required for reading the cluster.", { required: true }),
  code: text("Error code, such as dns, tls, credentials, role or snmp-timeout."),
  words: text("Result, or the problem and its solution.", { required: true, ...LONG_TEXT }),
  wordsSentence: sentenceField("Result", "words"),
  tookMs: integer("Duration in ms.", { required: true }),
};

const CONNECTION_TEST = {
  ok: boolean("All required checks passed.", { required: true }),
  checks: computed("Checks in order; checks that depend on a failed one are skipped.", "array", { of: CHECK }),
} satisfies Record<keyof ConnectionTest, unknown>;

const PHONE_CACHE = {
  state: option(
    "State; elsewhere: another appliance, or none, gathers the phones.",
    ["idle", "reading", "writing", "failed", "elsewhere"],
    { required: true },
  ),
  kind: option("Type of the current or last read.", REBUILD_TYPES),
  startedAt: timestamp("Start time."),
  endedAt: timestamp("End time; null while in progress."),
  lastSuccessAt: timestamp("Last successful synchronisation since the appliance started."),
  nextTryAt: timestamp("Time of the next retry."),
  rowsRead: integer("Rows read from the cluster database so far.", { required: true }),
  phonesWritten: integer("Phones written so far.", { required: true }),
  phonesToWrite: integer("Phones to write.", { required: true }),
  phones: integer("Phones found by the last successful read."),
  registered: integer("Number of registered phones among them."),
  code: text("Error code."),
  reason: text("The problem and its solution.", LONG_TEXT),
  reasonSentence: sentenceField("Problem", "reason"),
  warnings: list("Warnings of the last read.", text("A warning.", { required: true, ...LONG_TEXT }), {
    required: true,
  }),
  warningSentences: sentencesField("Warnings", { sentenceOf: "warnings" }),
} satisfies Record<keyof PhoneCacheState | "reasonSentence" | "warningSentences", Field>;

const REBUILD_INPUT = {
  kind: option("Scope: everything (full, default), changes only (delta), registrations only (partial).", REBUILD_TYPES),
};
const validateRebuildInput = compileBodyValidator(REBUILD_INPUT);

const SECRET_HAND_OVER = {
  appliances: computed("Appliances that serve the cluster.", "array", {
    of: {
      endpointId: uuid("The appliance.", { required: true }),
      name: text("Name of the appliance."),
      fingerprint: text(
        "Fingerprint of its key; null if it has not shown one yet. `carillon link status` shows it there.",
      ),
      consent: option(
        "none: nothing is handed over; given: the secrets are handed over; stale: not any more, because the appliance has another key since.",
        ["none", "given", "stale"],
        { required: true },
      ),
      consentedAt: timestamp("When a super user agreed."),
      handedOverAt: timestamp("When a secret was handed over last."),
    },
  }),
};

const SECRET_HAND_OVER_INPUT = {
  endpointIds: list(
    "Appliances that get the secrets; they must serve the cluster and have shown their key. Empty: none.",
    uuid("Id of an appliance.", { required: true }),
    { required: true, maxItems: 1_000 },
  ),
  fingerprints: list(
    "Fingerprints of their keys as they were seen: if one of the appliances has another key by now, nothing is changed. Default: not compared.",
    text("A fingerprint.", { required: true, max: 100 }),
    { maxItems: 1_000 },
  ),
};
const validateHandOverInput = compileBodyValidator(SECRET_HAND_OVER_INPUT);

/**
 * Actions on call manager clusters.
 * @source docs/decisions/0042-api-contract.md, `/v1/callmgr-clusters/{cucmClusterId}/onprem-servers`
 */
export const callmgrClusterActions: readonly Action[] = [
  {
    method: "get",
    at: "callmgr-clusters",
    doc: "Lists the rows visible to the caller.",
    query: { callmgrClusterOnpremServerId: uuid("Id of an appliance's cluster settings; returns their cluster.") },
    response: { kind: "list", resource: callmgrClusters },
    async handle(request) {
      const id = idListParameter(request.query, "callmgrClusterOnpremServerId")?.[0]?.toLowerCase();
      if (id === undefined) return request.respondWithList(callmgrClusters, {});
      const server = request.deps.store.get(callmgrOnpremServers, id);
      return request.respondWithList(callmgrClusters, { ids: server ? [server.cucmClusterId] : [] });
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/onprem-servers/{onpremServerId}/phone-gatherer",
    doc: "Selects the appliance that queries the cluster for phones.",
    response: { kind: "row", resource: callmgrOnpremServers },
    async handle(request) {
      const { params, deps, by } = request;
      const cluster = requireVisibleRow(request, callmgrClusters, params.cucmClusterId ?? "");
      const server = await chooseGatherer(cluster.id, params.onpremServerId ?? "", by, deps.store);
      return request.respondWithRow(callmgrOnpremServers, server);
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/connection-test",
    doc: "Tests from this appliance everything needed to read the cluster; changes nothing.",
    response: { kind: "members", fields: CONNECTION_TEST },
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      const { phoneCache, phoneConfigurations } = request.deps;
      const [{ ok, checks }, tftp] = await Promise.all([
        phoneCache.test(cluster),
        phoneConfigurations.testServer(cluster),
      ]);
      const test: ConnectionTest = { ok, checks: tftp ? [...checks, tftp] : checks };
      return jsonResponse(addSentences(CONNECTION_TEST, test, request.deps.plugins.sentences));
    },
  },
  {
    method: "get",
    at: "callmgr-clusters/{cucmClusterId}/phone-cache",
    doc: "Returns the progress and problems of synchronising the phones of the cluster.",
    response: { kind: "members", fields: PHONE_CACHE },
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      return phoneCacheResponse(request.deps.phoneCache.state(cluster.id), request.deps.plugins.sentences);
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/phone-cache",
    doc: "Starts reading the phones of the cluster and returns the state immediately.",
    response: { kind: "members", fields: PHONE_CACHE },
    accepts: REBUILD_INPUT,
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      const { kind } = validateRebuildInput(request.body) as { kind: (typeof REBUILD_TYPES)[number] | null };
      return phoneCacheResponse(
        request.deps.phoneCache.update(cluster, kind ?? "full"),
        request.deps.plugins.sentences,
      );
    },
  },
  {
    method: "get",
    at: "callmgr-clusters/{cucmClusterId}/secret-hand-over",
    doc: "Lists the appliances that serve the cluster, and whether its secrets are handed to them, sealed for their keys. Cloud only.",
    response: { kind: "members", fields: SECRET_HAND_OVER },
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      return handOverResponse(request.deps.link.secretAppliances(cluster.id));
    },
  },
  {
    method: "put",
    at: "callmgr-clusters/{cucmClusterId}/secret-hand-over",
    permission: "super",
    doc: "Has the secrets of the cluster handed to these appliances and to no others. Each appliance gets them sealed for the key that it has now; with another key nothing is handed over until this is called again. Cloud only.",
    response: { kind: "members", fields: SECRET_HAND_OVER },
    accepts: SECRET_HAND_OVER_INPUT,
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      const given = validateHandOverInput(request.body) as { endpointIds: string[]; fingerprints: string[] | null };
      await request.deps.link.setSecretConsent(cluster.id, given, request.by);
      return handOverResponse(request.deps.link.secretAppliances(cluster.id));
    },
  },
];

function handOverResponse(appliances: readonly HandOverAppliance[]): HttpResponse {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const shown = appliances.map(({ consentedAt, handedOverAt, ...each }) => ({
    ...each,
    consentedAt: iso(consentedAt),
    handedOverAt: iso(handedOverAt),
  }));
  return jsonResponse({ appliances: shown });
}

function phoneCacheResponse(state: PhoneCacheState, sentences: SentenceReader): HttpResponse {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const { startedAt, endedAt, lastSuccessAt, nextTryAt } = state;
  const times = { startedAt, endedAt, lastSuccessAt, nextTryAt };
  const shown = { ...state, ...Object.fromEntries(Object.entries(times).map(([name, at]) => [name, iso(at)])) };
  return jsonResponse(addSentences(PHONE_CACHE, shown, sentences));
}
