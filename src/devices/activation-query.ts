import { yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { Activations } from "./activation-groups.ts";
import type { DevicePredicate } from "./device-filter.ts";
import { isParameterGiven, parseObjectParameter } from "./device-query.ts";
import { compileAdHocGroup, type GroupScanDeps } from "./group-scan.ts";

/** What of a list's query asks who activates a device, as query parameters; texts that hold JSON are read. */
export interface ActivationQuery {
  /** Devices that are in this group. */
  activationGroupId?: unknown;
  /** Devices that would be in a group that is not stored; one with an `id` stands for the stored group of that id. */
  activationGroup?: unknown;
  /** "true": whatever groups of a lower number describe the devices too. */
  disregardPriority?: unknown;
  /** Devices that this appliance may activate. */
  endpointIdToBeReachableBy?: unknown;
  /** "true": devices that are in no group. */
  onlyUnallocated?: unknown;
}

/** What such a query needs; `sees` says whether the asker may know of an activation group. */
export interface ActivationQueryDeps extends GroupScanDeps {
  activations: Pick<Activations, "devicesInGroups">;
  sees(activationGroupId: string): boolean;
}

/** Devices whose appliance is looked up at once: some ms. */
const LOOKUP_CHUNK_SIZE = 5_000;

/**
 * The conditions of a query, which all must hold. Throws CallerError naming the parameter at fault.
 * @source digest `/v1/devices`; own choice: what each of them means
 */
export async function activationPredicates(
  needs: ActivationQueryDeps,
  query: ActivationQuery,
): Promise<readonly DevicePredicate[]> {
  const anyRank = query.disregardPriority === "true";
  const tests: DevicePredicate[] = [];
  if (isParameterGiven(query.activationGroupId)) {
    const id = parseStoredGroupId(needs, query.activationGroupId);
    tests.push(isOneOfDevices(await needs.activations.devicesInGroups((group) => group.id === id, { anyRank })));
  }
  if (isParameterGiven(query.activationGroup)) {
    tests.push(await inAdHocGroup(needs, parseObjectParameter(query.activationGroup, "activationGroup"), anyRank));
  }
  if (isParameterGiven(query.endpointIdToBeReachableBy)) {
    tests.push(await reachableBy(needs, query.endpointIdToBeReachableBy, anyRank));
  }
  if (query.onlyUnallocated === "true") {
    const isAllocated = isOneOfDevices(await needs.activations.devicesInGroups(() => true));
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
  if (!sees(id)) throw invalidValue("activationGroupId", "There is none with this id.");
  return id;
}

/** own choice: without a priority it takes every device that it describes, as with disregardPriority. */
async function inAdHocGroup(
  { reader, activations }: ActivationQueryDeps,
  input: Record<string, unknown>,
  anyRank: boolean,
): Promise<DevicePredicate> {
  const group = compileAdHocGroup({ reader, sees: () => false }, { ...input, baseDeviceGroupIds: [] });
  const priority = isParameterGiven(input.priority) ? Number(input.priority) : null;
  if (Number.isNaN(priority)) throw invalidValue("activationGroup", "Its priority is a number.");
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

/** What groups that name the appliance describe, and what it serves that is in no group. */
async function reachableBy(
  { reader, clock, activations }: ActivationQueryDeps,
  given: unknown,
  anyRank: boolean,
): Promise<DevicePredicate> {
  const id = typeof given === "string" ? given.toLowerCase() : "";
  const endpoint = reader.one<{ pk: number }>("SELECT pk FROM endpoints WHERE id = ?", id);
  if (!endpoint) throw invalidValue("endpointIdToBeReachableBy", "There is none with this id.");
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
