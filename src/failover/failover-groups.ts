import type { Events } from "../lib/events.ts";
import type { StoreReader } from "../store/store.ts";
import type { FailoverGroup } from "./membership.ts";

export interface FailoverGroupsDeps {
  reader: StoreReader;
  events: Events;
  /** Only groups with this appliance; null for all groups. */
  ownId: (() => string) | null;
}

/** The groups whose members take over for each other. */
export interface FailoverGroups {
  /** Activation groups and failover pairs with at least two members; cached until a change. */
  all(): readonly FailoverGroup[];
  stop(): void;
}

/** @source docs/decisions/0040-replication.md, Section 9 */
const DEFAULT_TIMEOUT_MS = 3_000;
/** Longer timeouts count as this one: what sounds 30 s late is dropped, and the next appliance needs time to begin. */
const MAX_TIMEOUT_MS = 20_000;
const SOURCE_RESOURCES: ReadonlySet<string> = new Set(["activation-groups", "failover-pairs", "endpoints"]);

export function createFailoverGroups({ reader, events, ownId }: FailoverGroupsDeps): FailoverGroups {
  let cached: FailoverGroup[] | null = null;
  const subscriptions = [
    events.on("row.changed", ({ resource }) => {
      if (SOURCE_RESOURCES.has(resource)) cached = null;
    }),
    events.on("batch.published", () => {
      cached = null;
    }),
  ];
  return {
    all() {
      cached ??= readGroups(reader).filter(
        ({ members }) => members.length > 1 && (!ownId || members.includes(ownId())),
      );
      return cached;
    },
    stop() {
      for (const each of subscriptions) each();
    },
  };
}

function readGroups(reader: StoreReader): FailoverGroup[] {
  const pairs = reader
    .all<{ id: string; first: string; second: string; timeout: number }>(
      `SELECT p.id, a.id AS first, b.id AS second, p.timeout FROM failover_pairs p
       JOIN endpoints a ON a.pk = p.primary_endpoint_pk JOIN endpoints b ON b.pk = p.backup_endpoint_pk ORDER BY p.pk`,
    )
    .map(({ id, first, second, timeout }) => {
      return { id, members: [first, second], timeoutMs: Math.min(timeout * 1_000, MAX_TIMEOUT_MS) };
    });
  const groups = new Map<string, string[]>();
  for (const { id, member } of reader.all<{ id: string; member: string }>(
    `SELECT g.id, e.id AS member FROM activation_groups g JOIN activation_groups__endpoint_ids l ON l.owner = g.pk
     JOIN endpoints e ON e.pk = l.target ORDER BY g.priority, g.pk, l.position`,
  )) {
    groups.set(id, [...(groups.get(id) ?? []), member]);
  }
  const timeouts = new Map(pairs.map(({ members, timeoutMs }) => [members.join(), timeoutMs]));
  return [
    ...[...groups].map(([id, members]) => ({
      id,
      members,
      timeoutMs: timeouts.get(members.join()) ?? DEFAULT_TIMEOUT_MS,
    })),
    ...pairs,
  ];
}
