import { yieldToEventLoop } from "../../lib/clock.ts";
import { InUseError } from "../../lib/errors.ts";
import {
  type CriticalUse,
  findCriticalUses,
  findOrdinaryUses,
  type RowUse,
} from "../../notifications/emergencies/critical-uses.ts";
import { measureImpact, rowImpactAt } from "../../notifications/recipients/change-impact.ts";
import { countTargets, targetsOfRecipients, targetsWithout } from "../../notifications/recipients/recipient-diff.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import devices from "../../resources/devices/devices.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import distributionLists from "../../resources/lists/distribution-lists.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import subscriptions from "../../resources/people/subscriptions.ts";
import users from "../../resources/people/users.ts";
import { boolean } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { createDryRun } from "../../store/dry-run.ts";
import type { ApiRequest } from "../action.ts";
import { type Query, textParameter } from "../query/query.ts";

/** Query parameter of changes that emergencies and bells may depend on. */
export const DETACH_QUERY = {
  detach: boolean(
    "Carries out the change although emergencies, inputs or bells use the row, which then reach fewer devices or people. Without it such a change answers 409 `in-use` with `dependents`.",
  ),
};

/** Devices checked per turn of the event loop; nearly always the first ones decide. */
const CHUNK_DEVICES = 100;
/** Groups that are examined when devices go. */
const MAX_GROUPS = 500;

interface Change {
  resource: AnyResource;
  id: string;
}

/**
 * Throws InUseError if emergencies, inputs or bells use the row that is to be removed, or use a group that loses its last
 * device, or a list that loses its last member.
 * @source docs/decisions/0435-in-use.md
 */
export async function assertRemovable(request: ApiRequest, change: Change): Promise<void> {
  if (isDetaching(request.query)) return;
  const uses = await findCriticalUses(request.deps, change, request.by.scope);
  if (uses.length > 0) refuse(uses, await reachWithout(request, change, uses));
  await assertDevicesSpared(request, change);
  if (change.resource === subscriptions) await assertNotLastMember(request, [change.id]);
  if (change.resource === users) {
    const held = request.deps.store.find(subscriptions, { userId: change.id }, MAX_GROUPS);
    await assertNotLastMember(
      request,
      held.map(({ id }) => id),
    );
  }
}

/** Rows that are not critical and lose the row when it is removed. */
export function ordinaryUses({ deps, by }: ApiRequest, change: Change): Promise<RowUse[]> {
  return findOrdinaryUses(deps, change, by.scope);
}

/** The same for a change that empties a group or list, or puts a device or plugin out of use. */
export async function assertChangeKeepsReach(
  request: ApiRequest,
  change: Change,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (isDetaching(request.query)) return;
  if (input.defunct === true || input.disabled === true) await assertDevicesSpared(request, change);
  if (change.resource !== deviceGroups) return;
  const { store, memberships, clock } = request.deps;
  const uses = await findCriticalUses(request.deps, change, request.by.scope);
  if (uses.length === 0) return;
  const before = await memberships.members([change.id]);
  if (before.length === 0) return;
  const dryRun = createDryRun(store, rowImpactAt(clock.now()));
  await dryRun.store.update(change.resource, change.id, input, request.by);
  const { devices: changed } = await measureImpact(dryRun.writes, { reader: store, clock, scope: request.by.scope });
  if (changed.leaving.count === before.length && changed.joining.count === 0) refuse(uses);
}

function isDetaching(query: Query): boolean {
  return textParameter(query, "detach") === "true";
}

type Reach = { devices: number; users: number };

/** `reach`: what templates reach after the change, by id. */
function refuse(uses: readonly CriticalUse[], reach: ReadonlyMap<string, Reach> = new Map()): void {
  if (uses.length === 0) return;
  throw new InUseError(
    uses.map(({ templateId, ...use }) => ({ ...use, left: (templateId !== null && reach.get(templateId)) || null })),
  );
}

/** Templates whose recipients are counted: each takes a pass over all devices. */
const MAX_TEMPLATES = 10;
const TARGETS: readonly AnyResource[] = [deviceGroups, distributionLists, users];

/** Whom the templates of the uses would still reach without the row, by id. */
async function reachWithout(
  { deps: { store, clock } }: ApiRequest,
  { resource, id }: Change,
  uses: readonly CriticalUse[],
): Promise<Map<string, Reach>> {
  const reach = new Map<string, Reach>();
  const row = store.get(resource, id);
  if (!TARGETS.includes(resource) || !row) return reach;
  const templateIds = [...new Set(uses.flatMap(({ templateId }) => templateId ?? []))].slice(0, MAX_TEMPLATES);
  for (const template of store.getByIds(messageTemplates, templateIds)) {
    const left = targetsWithout(targetsOfRecipients(store, template), { resource, id, pk: row.pk });
    reach.set(template.id, await countTargets(left, { reader: store, clock }));
  }
  return reach;
}

const DEVICE_OWNERS: ReadonlyMap<AnyResource, string> = new Map<AnyResource, string>([
  [devices, "id"],
  [extensions, "extension_pk"],
  [endpoints, "endpoint_pk"],
]);

/** Refuses a change that takes the last device of a group that something critical uses. */
async function assertDevicesSpared(request: ApiRequest, { resource, id }: Change): Promise<void> {
  const column = DEVICE_OWNERS.get(resource);
  if (column === undefined) return;
  const { store, memberships, clock } = request.deps;
  const row = store.get(resource, id);
  const groups = resource === devices ? await memberships.groupsOf(id) : groupIds(request);
  if (!row) return;
  const key = resource === devices ? id : row.pk;
  const rest = `SELECT 1 AS found FROM devices WHERE pk IN (SELECT value FROM json_each(?)) AND ${column} <> ? LIMIT 1`;
  const isEmptied = async (groupId: string): Promise<boolean> => {
    const members = await memberships.members([groupId]);
    for (let at = 0; at < members.length; at += CHUNK_DEVICES) {
      if (store.one(rest, JSON.stringify(members.slice(at, at + CHUNK_DEVICES)), key)) return false;
      await yieldToEventLoop(clock);
    }
    return members.length > 0;
  };
  const uses = new Map<string, CriticalUse>();
  for (const groupId of groups.slice(0, MAX_GROUPS)) {
    if (!(await isEmptied(groupId))) continue;
    const emptied = { resource: deviceGroups, id: groupId };
    for (const use of await findCriticalUses(request.deps, emptied, request.by.scope)) uses.set(use.id, use);
  }
  refuse([...uses.values()]);
}

function groupIds({ deps: { store } }: ApiRequest): string[] {
  return store.all<{ id: string }>("SELECT id FROM device_groups LIMIT ?", MAX_GROUPS).map(({ id }) => id);
}

/** Refuses the end of memberships that leaves a list in critical use without members. */
async function assertNotLastMember(request: ApiRequest, ids: readonly string[]): Promise<void> {
  const { store } = request.deps;
  const emptiedUses = new Map<string, CriticalUse>();
  for (const { distributionListId } of store.getByIds(subscriptions, ids)) {
    if (!distributionListId || store.count(subscriptions, { distributionListId }) > 1) continue;
    const emptied = { resource: distributionLists, id: distributionListId };
    for (const use of await findCriticalUses(request.deps, emptied, request.by.scope)) emptiedUses.set(use.id, use);
  }
  refuse([...emptiedUses.values()]);
}
