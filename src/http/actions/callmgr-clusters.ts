import type { ConnectionTest } from "../../call-manager/connection-test.ts";
import { chooseGatherer } from "../../call-manager/onprem-server-hooks.ts";
import type { PhoneCacheState } from "../../call-manager/phone-cache.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../resources/callmgr/callmgr-onprem-servers.ts";
import { boolean, computed, type Field, integer, list, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { idListParameter } from "../query/query.ts";
import { compileBodyValidator } from "./body-validator.ts";

const WORDS = { max: 10_000 } as const;
const REBUILD_TYPES = ["full", "delta", "partial"] as const;

const CHECK = {
  what: option(
    "axl: the administration interface and its user; nodes: its list of nodes; snmp: one node; risport: the second source of registrations.",
    ["axl", "nodes", "snmp", "risport"],
    { required: true },
  ),
  host: text("Host that was asked.", { required: true }),
  ok: boolean("It works.", { required: true }),
  needed: boolean("The cluster can't be read without it.", { required: true }),
  code: text("What is wrong, in one word, such as dns, tls, credentials, role or snmp-timeout."),
  words: text("What was found, or what is wrong and what to do.", { required: true, ...WORDS }),
  tookMs: integer("Milliseconds it took.", { required: true }),
};

const CONNECTION_TEST = {
  ok: boolean("Everything that is needed works.", { required: true }),
  checks: computed("What was tried, in order; what can't be tried after a failure is not.", "array", { of: CHECK }),
} satisfies Record<keyof ConnectionTest, unknown>;

const PHONE_CACHE = {
  state: option(
    "What it does; elsewhere: another appliance, or none, gathers the phones.",
    ["idle", "reading", "writing", "failed", "elsewhere"],
    { required: true },
  ),
  kind: option("Kind of the reading under way, or of the last one.", REBUILD_TYPES),
  startedAt: timestamp("When it began."),
  endedAt: timestamp("When it ended; null while it is under way."),
  lastSuccessAt: timestamp("When the phones were brought in line last, since the appliance was started."),
  nextTryAt: timestamp("When a reading that failed is made again."),
  rowsRead: integer("Rows that the cluster's database sent so far.", { required: true }),
  phonesWritten: integer("Phones that were written so far.", { required: true }),
  phonesToWrite: integer("Phones that are to be written.", { required: true }),
  phones: integer("Phones of the last reading that succeeded."),
  registered: integer("How many of them are registered."),
  code: text("What is wrong, in one word."),
  reason: text("What is wrong and what to do.", WORDS),
  warnings: list("What the last reading did without.", text("In words.", { required: true, ...WORDS }), {
    required: true,
  }),
} satisfies Record<keyof PhoneCacheState, Field>;

const REBUILD_INPUT = {
  kind: option(
    "How much is read: everything (full unless given), what changed (delta), who is registered (partial).",
    REBUILD_TYPES,
  ),
};
const validateRebuildInput = compileBodyValidator(REBUILD_INPUT);

/** What clusters do beyond being rows. @source digest `/v1/callmgr-clusters/{cucmClusterId}/onprem-servers`; own choice: the test and the phone cache */
export const callmgrClusterActions: readonly Action[] = [
  {
    method: "get",
    at: "callmgr-clusters",
    doc: "Lists what the caller may see.",
    query: { callmgrClusterOnpremServerId: uuid("Settings of an appliance: the cluster that they are for.") },
    response: { kind: "list", resource: callmgrClusters },
    async handle(request) {
      const id = idListParameter(request.query, "callmgrClusterOnpremServerId")?.[0]?.toLowerCase();
      if (id === undefined) return request.respondWithList(callmgrClusters, {});
      const server = request.needs.store.get(callmgrOnpremServers, id);
      return request.respondWithList(callmgrClusters, { ids: server ? [server.cucmClusterId] : [] });
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/onprem-servers/{onpremServerId}/phone-gatherer",
    doc: "Makes an appliance the one that asks the cluster for its phones.",
    response: { kind: "row", resource: callmgrOnpremServers },
    async handle(request) {
      const { params, needs, by } = request;
      const cluster = requireVisibleRow(request, callmgrClusters, params.cucmClusterId ?? "");
      const server = await chooseGatherer(cluster.id, params.onpremServerId ?? "", by, needs.store);
      return request.respondWithRow(callmgrOnpremServers, server);
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/connection-test",
    doc: "Tries from this appliance everything that reading the cluster needs, and says what is wrong; changes nothing.",
    response: { kind: "members", fields: CONNECTION_TEST },
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      return jsonResponse(await request.needs.phoneCache.test(cluster));
    },
  },
  {
    method: "get",
    at: "callmgr-clusters/{cucmClusterId}/phone-cache",
    doc: "How far the phones of the cluster are brought in line, and what keeps them from it.",
    response: { kind: "members", fields: PHONE_CACHE },
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      return phoneCacheResponse(request.needs.phoneCache.state(cluster.id));
    },
  },
  {
    method: "post",
    at: "callmgr-clusters/{cucmClusterId}/phone-cache",
    doc: "Begins to read the phones of the cluster; says at once how it stands.",
    response: { kind: "members", fields: PHONE_CACHE },
    accepts: REBUILD_INPUT,
    async handle(request) {
      const cluster = requireVisibleRow(request, callmgrClusters, request.params.cucmClusterId ?? "");
      const { kind } = validateRebuildInput(request.body) as { kind: (typeof REBUILD_TYPES)[number] | null };
      return phoneCacheResponse(request.needs.phoneCache.update(cluster, kind ?? "full"));
    },
  },
];

function phoneCacheResponse(state: PhoneCacheState): HttpResponse {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const { startedAt, endedAt, lastSuccessAt, nextTryAt } = state;
  const times = { startedAt, endedAt, lastSuccessAt, nextTryAt };
  return jsonResponse({ ...state, ...Object.fromEntries(Object.entries(times).map(([name, at]) => [name, iso(at)])) });
}
