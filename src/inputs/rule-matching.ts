import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { ownRecipients, RECIPIENTS_DELETED, type RecipientOwner } from "../notifications/compose/own-recipients.ts";
import type { CallReport } from "../plugin-api/index.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import callAwareCallRedirects from "../resources/inputs/call-aware-call-redirects.ts";
import callAwareRoutingRequests from "../resources/inputs/call-aware-routing-requests.ts";
import dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import m2mInputs from "../resources/inputs/m2m-inputs.ts";
import nightBells from "../resources/inputs/night-bells.ts";
import type { NotificationSource } from "../resources/notifications/notification-sources.ts";
import type { RowOf } from "../schema/resource.ts";
import { matchesStoredSecret } from "../store/secret-hashes.ts";
import type { Secrets, StoreReader } from "../store/store.ts";
import { type DialcastMatch, dialcastMessage } from "./dialcast-message.ts";
import type { InputRow } from "./input-row.ts";
import type { NumberPatterns } from "./number-patterns.ts";

/** Action of a matching rule. */
export interface RuleAction {
  rule: { resource: string; id: string; name: string };
  source: NotificationSource;
  /** Content and recipients of the notification, or an error message if it cannot be built. */
  message: Record<string, unknown> | string;
  /** Scenarios to start; the notification is sent only if none of them could be started. */
  scenarioIds: readonly string[];
  /** Minimum time between two starts. */
  throttleMs: number;
  /** Repeats until the call is answered or ends. */
  ringsUntilAnswered: boolean;
}

export interface RuleMatchingDeps {
  store: StoreReader & { secrets: Secrets };
  clock: Clock;
  patterns: NumberPatterns;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Rules compared per turn of the event loop: about 2 ms. */
const CHUNK_SIZE = 200;
const WHERE_ASSIGNED = "enabled = 1 AND (endpoint_pk IS NULL OR endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?))";
/** `endpointIds` restricts a configuration to appliances. @source docs/decisions/0042-api-contract.md */
const WHERE_ASSIGNED_BY_LIST = `enabled = 1 AND (NOT EXISTS (SELECT 1 FROM dialcast_dialing_configurations__endpoint_ids e
    WHERE e.owner = r.pk) OR EXISTS (SELECT 1 FROM dialcast_dialing_configurations__endpoint_ids e
    JOIN endpoints p ON p.pk = e.target WHERE e.owner = r.pk AND p.id = ?))`;

/** All rules that match an input, in order of creation; each of them acts. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
export async function findRuleActions(input: InputRow, deps: RuleMatchingDeps): Promise<RuleAction[]> {
  const { call } = input;
  if (!call) return m2mActions(input, deps);
  if (call.via === "redirect") {
    const found = await matchPatterns("call_aware_call_redirects r", "number_pattern", WHERE_ASSIGNED, call, deps);
    return loadRules(callAwareCallRedirects, found, deps).map((row) =>
      callAwareAction(row, callAwareCallRedirects.name),
    );
  }
  if (call.via === "routing-request") {
    const found = await matchPatterns("call_aware_routing_requests r", "number_pattern", WHERE_ASSIGNED, call, deps);
    return loadRules(callAwareRoutingRequests, found, deps).map((row) =>
      callAwareAction(row, callAwareRoutingRequests.name),
    );
  }
  return [...nightBellActions(call, deps), ...(await dialcastActions(input, call, deps))];
}

function m2mActions({ source, details }: InputRow, { store, endpointId }: RuleMatchingDeps): RuleAction[] {
  const state = details.state;
  const pks = store.all<{ pk: number }>(
    `SELECT pk FROM m2m_inputs WHERE ${WHERE_ASSIGNED} AND source = ? COLLATE NOCASE
       AND (state IS NULL OR state = ? COLLATE NOCASE) ORDER BY pk`,
    ...[endpointId(), source, typeof state === "object" || state === undefined ? null : String(state)],
  );
  return loadRules(m2mInputs, new Map(pks.map(({ pk }) => [pk, []])), { store }).map((row) => {
    const effect = baseAction(row, m2mInputs.name);
    const areas = row.useAreas ? existingAreaIds(details, store) : null;
    return {
      ...effect,
      message: areas === null ? effect.message : messageToAreas(row, effect.message, areas),
      source: row.notificationSource,
      scenarioIds: row.scenarioId ? [row.scenarioId] : [],
      throttleMs: row.throttlingInSecs * 1_000,
    };
  });
}

/** The areas of the input replace those of the template, also if none of them exists any more. */
function messageToAreas(
  { messageTemplateId }: RowOf<typeof m2mInputs>,
  message: RuleAction["message"],
  areaOfInterestIds: readonly string[],
): RuleAction["message"] {
  if (typeof message !== "string") return { ...message, areaOfInterestIds };
  return areaOfInterestIds.length === 0 ? message : { messageTemplateId, ...ownRecipients({ areaOfInterestIds }) };
}

/** Ids of areas that an input names and that exist; null if it does not say anything about areas. */
function existingAreaIds({ areaOfInterestIds: named }: InputRow["details"], store: StoreReader): string[] | null {
  if (!Array.isArray(named)) return null;
  return store
    .all<{ id: string }>(
      "SELECT id FROM areas_of_interest WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(named),
    )
    .map(({ id }) => id);
}

function callAwareAction(
  row: RowOf<typeof callAwareCallRedirects> | RowOf<typeof callAwareRoutingRequests>,
  resource: string,
): RuleAction {
  return {
    ...baseAction(row, resource),
    source: resource === callAwareCallRedirects.name ? "ca-redirect" : "ca-routing-request",
  };
}

/** A night bell sends one notification that repeats until it expires or is aborted. */
function nightBellActions({ calledNumber }: CallReport, { store, endpointId }: RuleMatchingDeps): RuleAction[] {
  const pks = store.all<{ pk: number }>(
    `SELECT pk FROM night_bells WHERE ${WHERE_ASSIGNED} AND number = ? COLLATE NOCASE ORDER BY pk`,
    ...[endpointId(), calledNumber],
  );
  return loadRules(nightBells, new Map(pks.map(({ pk }) => [pk, []])), { store }).map((row) => {
    const effect = baseAction(row, nightBells.name);
    const ringing = {
      expiration: row.timeout,
      extensionSettingsOverrides: {
        [ONPREM_EXTENSION_ID]: { repeatIndefinitely: true, repetitionPause: row.pause },
      },
    };
    const message = typeof effect.message === "string" ? effect.message : { ...effect.message, ...ringing };
    return { ...effect, message, source: "night-bell", ringsUntilAnswered: true };
  });
}

/** The dialing configurations of this appliance whose pattern matches a dialled number, in order of creation. */
export async function findDialledConfigurations(
  calledNumber: string,
  deps: RuleMatchingDeps,
): Promise<DialcastMatch[]> {
  const table = "dialcast_dialing_configurations r";
  const found = await matchPatterns(table, "dialing_pattern_regex", WHERE_ASSIGNED_BY_LIST, { calledNumber }, deps);
  return loadRules(dialcastDialingConfigurations, found, deps).map((row) => ({ row, groups: found.get(row.pk) ?? [] }));
}

async function dialcastActions(input: InputRow, call: CallReport, deps: RuleMatchingDeps): Promise<RuleAction[]> {
  const actions: RuleAction[] = [];
  for (const given of await findDialledConfigurations(call.calledNumber, deps)) {
    const { row } = given;
    // The others need the caller: a conversation by telephone.
    if ((row.callAction ?? "SEND") !== "SEND") continue;
    const isLocked = row.pin !== null && !(await isPinOf(row.pin, input.pin, deps.store.secrets));
    actions.push({
      ...baseAction(row, dialcastDialingConfigurations.name),
      source: "dial-cast",
      message: isLocked ? sentence("error.the-pin-entered-does-not-match") : dialcastMessage(given, deps.store),
      scenarioIds: isLocked || row.type === "NOTIFICATION" ? [] : row.scenarioIds,
    });
  }
  return actions;
}

/** Whether the digits that the caller entered (encrypted) are the PIN of the rule. */
async function isPinOf(stored: string, entered: string | null, secrets: Secrets): Promise<boolean> {
  return entered !== null && matchesStoredSecret(stored, secrets.open(entered), secrets);
}

/** Internal keys of the rules whose pattern matches the called number, with the matched groups; yields to the event loop. */
async function matchPatterns(
  table: string,
  column: string,
  served: string,
  { calledNumber }: Pick<CallReport, "calledNumber">,
  { store, clock, patterns, endpointId }: RuleMatchingDeps,
): Promise<Map<number, string[]>> {
  const sql = `SELECT r.pk, r.${column} AS pattern FROM ${table} WHERE ${served} ORDER BY r.pk`;
  const rules = store.all<{ pk: number; pattern: string }>(sql, endpointId());
  const found = new Map<number, string[]>();
  for (const [at, { pk, pattern }] of rules.entries()) {
    if (at > 0 && at % CHUNK_SIZE === 0) await yieldToEventLoop(clock);
    const groups = patterns.match(pattern, calledNumber);
    if (groups) found.set(pk, groups);
  }
  return found;
}

function loadRules<R extends Parameters<StoreReader["getByPks"]>[0]>(
  resource: R,
  found: ReadonlyMap<number, unknown>,
  { store }: Pick<RuleMatchingDeps, "store">,
): RowOf<R>[] {
  const rows = store.getByPks(resource, [...found.keys()]) as (RowOf<R> & { pk: number })[];
  return rows.sort((a, b) => a.pk - b.pk);
}

/** Parts that all types of rules share. */
function baseAction(
  row: Pick<RowOf<typeof m2mInputs>, "id" | "name" | "messageTemplateId"> & RecipientOwner,
  resource: string,
): RuleAction {
  const recipients = ownRecipients(row);
  return {
    rule: { resource, id: row.id, name: row.name },
    source: "m2m",
    message: recipients === null ? RECIPIENTS_DELETED : { messageTemplateId: row.messageTemplateId, ...recipients },
    scenarioIds: [],
    throttleMs: 0,
    ringsUntilAnswered: false,
  };
}
