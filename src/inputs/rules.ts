import { type Clock, nextTurn } from "../base/clock.ts";
import type { CallReport } from "../plugin-api/index.ts";
import type { NotificationSource } from "../resources/broadcasts/notification-sources.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import callAwareCallRedirects from "../resources/inputs/call-aware-call-redirects.ts";
import callAwareRoutingRequests from "../resources/inputs/call-aware-routing-requests.ts";
import dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import m2mInputs from "../resources/inputs/m2m-inputs.ts";
import nightBells from "../resources/inputs/night-bells.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Reader, Secrets } from "../store/store.ts";
import { type Dialled, messageOfDialled } from "./dialled.ts";
import type { NumberPatterns } from "./number-patterns.ts";
import { isSamePin } from "./pins.ts";
import { recipientsOf } from "./recipients-of-rule.ts";
import type { InputRow } from "./steps.ts";

/** What a rule does when its input comes. */
export interface Effect {
  rule: { resource: string; id: string; name: string };
  source: NotificationSource;
  /** What the message says of itself and whom it goes to, or in words why there is none. */
  message: Record<string, unknown> | string;
  /** Scenarios to start; the message follows only where none of them could be started. */
  scenarioIds: readonly string[];
  /** Nothing is started for so long after the last start. */
  throttleMs: number;
  /** It goes on until the call is answered or ends. */
  rings: boolean;
}

/** What finding rules needs. */
export interface RuleNeeds {
  store: Reader & { secrets: Secrets };
  clock: Clock;
  patterns: NumberPatterns;
  /** This appliance. */
  endpointId(): string;
}

/** Rules compared in one turn of the event loop: about 2 ms. */
const AT_ONCE = 200;
const SERVED = "enabled = 1 AND (endpoint_pk IS NULL OR endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?))";
/** @source digest `/v1/dialcast-dialing-configurations`: endpointIds */
const SERVED_BY_LIST = `enabled = 1 AND (NOT EXISTS (SELECT 1 FROM dialcast_dialing_configurations__endpoint_ids e
    WHERE e.owner = r.pk) OR EXISTS (SELECT 1 FROM dialcast_dialing_configurations__endpoint_ids e
    JOIN endpoints p ON p.pk = e.target WHERE e.owner = r.pk AND p.id = ?))`;

/** All rules that an input is meant for, in the order in which they were made. own choice: each of them acts. */
export async function findEffects(input: InputRow, needs: RuleNeeds): Promise<Effect[]> {
  const { call } = input;
  if (!call) return machineRules(input, needs);
  if (call.via === "redirect") {
    const found = await matching("call_aware_call_redirects r", "number_pattern", SERVED, call, needs);
    return rowsOf(callAwareCallRedirects, found, needs).map((row) => callAware(row, callAwareCallRedirects.name));
  }
  if (call.via === "routing-request") {
    const found = await matching("call_aware_routing_requests r", "number_pattern", SERVED, call, needs);
    return rowsOf(callAwareRoutingRequests, found, needs).map((row) => callAware(row, callAwareRoutingRequests.name));
  }
  return [...nightBellsOf(call, needs), ...(await dialled(input, call, needs))];
}

function machineRules({ source, details }: InputRow, { store, endpointId }: RuleNeeds): Effect[] {
  const state = details.state;
  const pks = store.all<{ pk: number }>(
    `SELECT pk FROM m2m_inputs WHERE ${SERVED} AND source = ? COLLATE NOCASE
       AND (state IS NULL OR state = ? COLLATE NOCASE) ORDER BY pk`,
    ...[endpointId(), source, typeof state === "object" || state === undefined ? null : String(state)],
  );
  return rowsOf(m2mInputs, new Map(pks.map(({ pk }) => [pk, []])), { store }).map((row) => {
    const effect = plain(row, m2mInputs.name);
    const areas = row.useAreas ? areasNamed(details, store) : [];
    return {
      ...effect,
      ...(areas.length > 0 ? { message: { ...effect.message, areaOfInterestIds: areas } } : {}),
      source: row.notificationSource,
      scenarioIds: row.scenarioId ? [row.scenarioId] : [],
      throttleMs: row.throttlingInSecs * 1_000,
    };
  });
}

/** The areas that an input names, as far as there are such. */
function areasNamed({ areaOfInterestIds }: InputRow["details"], store: Reader): string[] {
  const named = Array.isArray(areaOfInterestIds) ? areaOfInterestIds : [];
  return store
    .all<{ id: string }>(
      "SELECT id FROM areas_of_interest WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(named),
    )
    .map(({ id }) => id);
}

function callAware(
  row: RowOf<typeof callAwareCallRedirects> | RowOf<typeof callAwareRoutingRequests>,
  resource: string,
): Effect {
  return {
    ...plain(row, resource),
    source: resource === callAwareCallRedirects.name ? "ca-redirect" : "ca-routing-request",
  };
}

/** A night bell rings by one message, repeated until it expires or is ended. */
function nightBellsOf({ calledNumber }: CallReport, { store, endpointId }: RuleNeeds): Effect[] {
  const pks = store.all<{ pk: number }>(
    `SELECT pk FROM night_bells WHERE ${SERVED} AND number = ? COLLATE NOCASE ORDER BY pk`,
    ...[endpointId(), calledNumber],
  );
  return rowsOf(nightBells, new Map(pks.map(({ pk }) => [pk, []])), { store }).map((row) => {
    const effect = plain(row, nightBells.name);
    const ringing = {
      expiration: row.timeout,
      extensionSettingsOverrides: {
        [ONPREM_EXTENSION_ID]: { repeatIndefinitely: true, repetitionPause: row.pause },
      },
    };
    return { ...effect, message: { ...effect.message, ...ringing }, source: "night-bell", rings: true };
  });
}

async function dialled(input: InputRow, call: CallReport, needs: RuleNeeds): Promise<Effect[]> {
  const table = "dialcast_dialing_configurations r";
  const found = await matching(table, "dialing_pattern_regex", SERVED_BY_LIST, call, needs);
  return rowsOf(dialcastDialingConfigurations, found, needs).map((row) => {
    const given: Dialled = { row, groups: found.get(row.pk) ?? [] };
    const isLocked = row.pin !== null && !isSamePin(row.pin, input.pin, needs.store.secrets);
    return {
      ...plain(row, dialcastDialingConfigurations.name),
      source: "dial-cast",
      message: isLocked ? "The digits entered are not those of the number." : messageOfDialled(given, needs.store),
      scenarioIds: isLocked || row.type === "NOTIFICATION" ? [] : row.scenarioIds,
    };
  });
}

/** Internal keys of the rules whose pattern matches the number called, with what their groups matched; gives way to other work. */
async function matching(
  table: string,
  column: string,
  served: string,
  { calledNumber }: CallReport,
  { store, clock, patterns, endpointId }: RuleNeeds,
): Promise<Map<number, string[]>> {
  const sql = `SELECT r.pk, r.${column} AS pattern FROM ${table} WHERE ${served} ORDER BY r.pk`;
  const rules = store.all<{ pk: number; pattern: string }>(sql, endpointId());
  const found = new Map<number, string[]>();
  for (const [at, { pk, pattern }] of rules.entries()) {
    if (at > 0 && at % AT_ONCE === 0) await nextTurn(clock);
    const groups = patterns.match(pattern, calledNumber);
    if (groups) found.set(pk, groups);
  }
  return found;
}

function rowsOf<R extends Parameters<Reader["byPks"]>[0]>(
  resource: R,
  found: ReadonlyMap<number, unknown>,
  { store }: Pick<RuleNeeds, "store">,
): RowOf<R>[] {
  const rows = store.byPks(resource, [...found.keys()]) as (RowOf<R> & { pk: number })[];
  return rows.sort((a, b) => a.pk - b.pk);
}

/** What all kinds of rules say alike. */
function plain(
  row: Pick<RowOf<typeof m2mInputs>, "id" | "name" | "messageTemplateId" | "deviceGroupIds" | "distributionListIds">,
  resource: string,
): Omit<Effect, "message"> & { message: Record<string, unknown> } {
  return {
    rule: { resource, id: row.id, name: row.name },
    source: "m2m",
    message: { messageTemplateId: row.messageTemplateId, ...recipientsOf(row) },
    scenarioIds: [],
    throttleMs: 0,
    rings: false,
  };
}
