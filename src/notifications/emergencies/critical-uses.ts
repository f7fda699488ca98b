import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { isEmergencyTemplate } from "../../resources/messages/emergency-template.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { RowVisibility, StoreReader } from "../../store/store.ts";

/** Why a use is critical: it sends emergencies, is started by an input, or rings. */
export type CriticalRole = "emergency" | "input" | "bells";

/** A row that uses another one. */
export interface RowUse {
  /** Resource name: `scenarios`. */
  type: string;
  id: string;
  /** Null if the caller must not see the row. */
  name: string | null;
  role: CriticalRole | "ordinary";
}

/** A row whose messages or rings would change without notice if another row went. */
export interface CriticalUse extends RowUse {
  role: CriticalRole;
  /** Id of the template that leads to the use or is the use; null without one. */
  templateId: string | null;
}

type Row = Readonly<Record<string, unknown>> & { id: string };

/** How the rows of a resource use the rows that they refer to. */
interface Usage {
  /** Null for a row that is not critical. */
  role(row: Row): CriticalRole | null;
  /** The field with the row that the use belongs to: a rule of a confirmation request is used by whatever uses the request. */
  owner?: string;
}

const passesOn: Usage = { role: () => null };
const always = (role: CriticalRole): Usage => ({ role: () => role });

/**
 * Resources whose rows are in use; all others are history, permissions or parts that are removed with their owner.
 * @source docs/decisions/0435-in-use.md, Critical uses
 */
const USAGES: Readonly<Record<string, Usage>> = {
  "message-templates": {
    role: ({ priority, metadata }) => (isEmergencyTemplate({ priority, metadata }) ? "emergency" : null),
  },
  scenarios: { role: ({ emergency, type }) => (emergency === true || type !== "standard" ? "emergency" : null) },
  "incident-plans": always("emergency"),
  "alarm-actions": { role: () => "emergency", owner: "alarmId" },
  "m2m-inputs": always("input"),
  "dialcast-dialing-configurations": always("input"),
  "call-aware-routing-requests": always("input"),
  "night-bells": always("input"),
  "boundary-triggers": always("input"),
  "ring-lists": always("bells"),
  "bell-schedules": always("bells"),
  "bell-schedules-day-changes": { ...always("bells"), owner: "bellScheduleIds" },
  "scheduled-notifications": always("bells"),
  "confirmation-requests": passesOn,
  "escalation-rules": { ...passesOn, owner: "confirmationRequestId" },
  "device-groups": passesOn,
  "collaboration-groups": passesOn,
  "site-roles": passesOn,
  "site-recipients": { ...passesOn, owner: "siteRoleId" },
};

export interface CriticalUsesDeps {
  store: StoreReader;
  catalogue: Catalogue;
  clock: Pick<Clock, "defer">;
}

/** Uses that an answer lists. */
const MAX_USES = 100;
/** Rows that are followed: groups of groups may form long chains. More than a domain may have templates. */
const MAX_ROWS = 10_000;
/** Rows read per turn of the event loop: a few ms. */
const PAGE = 100;

/**
 * Finds the emergencies, inputs and bells that use the row, directly or through templates, lists, groups and requests;
 * at most 100, nearest first. `scope`: rows outside it have no name.
 */
export async function findCriticalUses(
  { store: reader, catalogue, clock }: CriticalUsesDeps,
  target: { resource: AnyResource; id: string },
  scope: RowVisibility,
): Promise<CriticalUse[]> {
  const found: CriticalUse[] = [];
  const known = new Set([keyOf(target)]);
  const queue: QueuedRow[] = [{ ...target, templateId: null }];
  for (let next = queue.shift(); next && found.length < MAX_USES && known.size < MAX_ROWS; next = queue.shift()) {
    for await (const use of usersOf({ reader, catalogue, clock }, next, next.id === target.id)) {
      if (known.has(keyOf(use))) continue;
      known.add(keyOf(use));
      const templateId = use.resource === messageTemplates ? use.id : next.templateId;
      const role = use.usage.role(use.row);
      if (role !== null) found.push({ ...describe(reader, catalogue, use, scope), role, templateId });
      queue.push({ ...use, templateId });
      const owner = ownerOf(catalogue, use);
      if (owner && !known.has(keyOf(owner))) {
        known.add(keyOf(owner));
        queue.push({ ...owner, templateId });
      }
    }
  }
  return found;
}

/** Finds the rows that refer to the row and are not critical: they lose it when it is removed. At most 100. */
export async function findOrdinaryUses(
  { store: reader, catalogue, clock }: CriticalUsesDeps,
  target: { resource: AnyResource; id: string },
  scope: RowVisibility,
): Promise<RowUse[]> {
  const found = new Map<string, RowUse>();
  for await (const use of usersOf({ reader, catalogue, clock }, target, true)) {
    if (use.usage.role(use.row) !== null) continue;
    found.set(keyOf(use), { ...describe(reader, catalogue, use, scope), role: "ordinary" });
    if (found.size === MAX_USES) break;
  }
  return [...found.values()];
}

/** A row whose users are to be found, and the template that led to it. */
interface QueuedRow {
  resource: AnyResource;
  id: string;
  templateId: string | null;
}

interface FoundUse {
  resource: AnyResource;
  id: string;
  row: Row;
  usage: Usage;
}

const keyOf = ({ resource, id }: { resource: AnyResource; id: string }): string => `${resource.name} ${id}`;

/**
 * The rows that refer to a row; of the row that is to be removed itself, without references that keep it from being
 * removed at all.
 */
async function* usersOf(
  { reader, catalogue, clock }: { reader: StoreReader; catalogue: Catalogue; clock: Pick<Clock, "defer"> },
  { resource, id }: { resource: AnyResource; id: string },
  isFirst: boolean,
): AsyncGenerator<FoundUse> {
  for (const { from, field } of catalogue.inboundReferences(resource)) {
    const usage = USAGES[from.name];
    // The part does not use its owner.
    if (!usage || usage.owner === field) continue;
    const spec = from.fields[field];
    if (isFirst && spec && "onDelete" in spec && spec.onDelete === "refuse") continue;
    const filters = [{ field, op: "eq", value: id }] as const;
    for (let start: string | null | undefined; start !== null; ) {
      const query = { filters, limit: PAGE, includeTotal: false, ...(start === undefined ? {} : { start }) };
      const { rows, next } = reader.page(from, query);
      for (const row of rows as unknown as Row[]) yield { resource: from, id: row.id, row, usage };
      start = next;
      if (next !== null) await yieldToEventLoop(clock);
    }
  }
}

function ownerOf(catalogue: Catalogue, { resource, row, usage }: FoundUse): Omit<FoundUse, "row" | "usage"> | null {
  const spec = usage.owner === undefined ? undefined : resource.fields[usage.owner];
  const id = usage.owner === undefined ? null : row[usage.owner];
  return spec?.kind === "ref" && typeof id === "string" ? { resource: catalogue.byName(spec.to), id } : null;
}

function describe(
  reader: StoreReader,
  catalogue: Catalogue,
  use: FoundUse,
  scope: RowVisibility,
): Omit<RowUse, "role"> {
  const { resource, id, row } = use;
  const shown = reader.get(resource, id, scope) === null ? null : (nameOf(row) ?? ownerName(reader, catalogue, use));
  return { type: resource.name, id, name: shown };
}

function nameOf(row: Row): string | null {
  for (const field of ["name", "subject", "type", "dialingPattern"]) {
    const value = row[field];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

/** A part without a name is named by its owner: an action by its alarm. */
function ownerName(reader: StoreReader, catalogue: Catalogue, use: FoundUse): string | null {
  const owner = ownerOf(catalogue, use);
  return owner && nameOf((reader.get(owner.resource, owner.id) ?? { id: owner.id }) as unknown as Row);
}
