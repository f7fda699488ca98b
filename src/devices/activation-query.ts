import { yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Activations } from "./activation-groups.ts";
import type { DevicePredicate } from "./device-filter.ts";
import { isParameterGiven, parseObjectParameter } from "./device-query.ts";
import { compileAdHocGroup, type GroupScanDeps } from "./group-scan.ts";

/** Query parameters that filter devices by activation; texts that contain JSON are parsed. */
export interface ActivationQuery {
  /** Devices whose effective group is this one. */
  activationGroupId?: unknown;
  /** Devices that would be in a group that is not stored; one with an `id` replaces the stored group with that id. */
  activationGroup?: unknown;
  /** "true": also devices that a group of higher priority matches. */
  disregardPriority?: unknown;
  /** Devices that this appliance may activate. */
  endpointIdToBeReachableBy?: unknown;
  /** "true": devices without a group. */
  onlyUnallocated?: unknown;
}

/** `sees` returns true if the caller may read an activation group. */
export interface ActivationQueryDeps extends GroupScanDeps {
  activations: Pick<Activations, "devicesInGroups">;
  sees(activationGroupId: string): boolean;
}

/** Devices per lookup: some ms. */
const LOOKUP_CHUNK_SIZE = 5_000;

/**
 * Predicates of a query, combined with AND. Throws CallerError that names the invalid parameter.
 * @source docs/decisions/0042-api-contract.md; docs/decisions/0201-device-groups-and-filters.md, Activation queries
 */
export async function activationPredicates(
  deps: ActivationQueryDeps,
  query: ActivationQuery,
): Promise<readonly DevicePredicate[]> {
  const anyRank = query.disregardPriority === "true";
  const tests: DevicePredicate[] = [];
  if (isParameterGiven(query.activationGroupId)) {
    const id = parseStoredGroupId(deps, query.activationGroupId);
    tests.push(isOneOfDevices(await deps.activations.devicesInGroups((group) => group.id === id, { anyRank })));
  }
  if (isParameterGiven(query.activationGroup)) {
    tests.push(await inAdHocGroup(deps, parseObjectParameter(query.activationGroup, "activationGroup"), anyRank));
  }
  if (isParameterGiven(query.endpointIdToBeReachableBy)) {
    tests.push(await reachableBy(deps, query.endpointIdToBeReachableBy, anyRank));
  }
  if (query.onlyUnallocated === "true") {
    const isAllocated = isOneOfDevices(await deps.activations.devicesInGroups(() => true));
    tests.push((device) => !isAllocated(device));
  }
  return tests;
}

function isOneOfDevices(pks: readonly number[]): DevicePredicate {
  const found = new Set(pks);
  return ({ pk }) => found.has(pk);
}

function parseStoredGroupId({ sees }: ActivationQueryDeps, given: unknown): string {
  const id = typeof given === "string" ? given.toLowerCase() : "";
  if (!sees(id)) throw invalidValue("activationGroupId", sentence("field.no-activation-group-with-this-id-was-found"));
  return id;
}

/** Without a priority it takes all devices that it matches, as with disregardPriority. */
async function inAdHocGroup(
  { reader, activations }: ActivationQueryDeps,
  input: Record<string, unknown>,
  anyRank: boolean,
): Promise<DevicePredicate> {
  const group = compileAdHocGroup({ reader, sees: () => false }, { ...input, baseDeviceGroupIds: [] });
  const priority = isParameterGiven(input.priority) ? Number(input.priority) : null;
  if (Number.isNaN(priority)) throw invalidValue("activationGroup", sentence("field.priority-must-be-a-number"));
  if (priority === null || anyRank) return (device) => group.contains(device);
  const id = typeof input.id === "string" ? input.id.toLowerCase() : "";
  const age = reader.one<{ pk: number }>("SELECT pk FROM activation_groups WHERE id = ?", id)?.pk ?? Infinity;
  const isAhead = isOneOfDevices(
    await activations.devicesInGroups(
      (other) => other.priority < priority || (other.priority === priority && other.pk < age),
      { except: id },
    ),
  );
  return (device) => !isAhead(device) && group.contains(device);
}

/** Devices of the groups that name the appliance, and ungrouped devices that it serves. */
async function reachableBy(
  { reader, clock, activations }: ActivationQueryDeps,
  given: unknown,
  anyRank: boolean,
): Promise<DevicePredicate> {
  const id = typeof given === "string" ? given.toLowerCase() : "";
  const endpoint = reader.one<{ pk: number }>("SELECT pk FROM endpoints WHERE id = ?", id);
  if (!endpoint) throw invalidValue("endpointIdToBeReachableBy", sentence("field.no-appliance-with-this-id-was-found"));
  const named = await activations.devicesInGroups(({ endpointIds }) => endpointIds.includes(id), { anyRank });
  const isNamed = isOneOfDevices(named);
  const isAllocated = isOneOfDevices(await activations.devicesInGroups(() => true));
  const served = new Set<number>();
  for (let after = 0; ; ) {
    const lines = reader.all<{ pk: number }>(
      "SELECT pk FROM devices WHERE endpoint_pk = ? AND pk > ? ORDER BY pk LIMIT ?",
      ...[endpoint.pk, after, LOOKUP_CHUNK_SIZE],
    );
    for (const { pk } of lines) served.add(pk);
    after = lines.at(-1)?.pk ?? 0;
    if (lines.length < LOOKUP_CHUNK_SIZE) break;
    await yieldToEventLoop(clock);
  }
  return (device) => isNamed(device) || (served.has(device.pk) && !isAllocated(device));
}
