import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import type { OfferedUpgrade } from "../../ops/upgrade/remote-upgrade.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import { REMOTE_COMMAND_TYPES, type RemoteCommandType, type SyncCommand } from "../protocol/frames.ts";
import type { SqliteProgramRunner } from "../storage/sqlite-program-runner.ts";
import { type RowBody, scanRecords } from "../storage/transaction-program.ts";
import type { HubSync } from "./hub-sync.ts";
import { readCommandOutcomes } from "./issued-commands.ts";
import { ISSUED_COMMANDS } from "./tables.ts";

/** What sending orders needs. */
export interface RemoteCommandSenderDeps {
  store: Store;
  runner: Pick<SqliteProgramRunner, "readSync">;
  clock: Clock;
  events: Events;
  by: ActorContext;
  hub: Pick<HubSync, "issue">;
  /** The version that lies ready for appliances that are to upgrade; null when none does. */
  offered(): OfferedUpgrade | null;
  /** The cloud's own endpoint, whose orders it carries out itself. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/** @source replication.md, settled questions (c) */
const VALIDITY_MS = 24 * 3600_000;
const UPGRADES: ReadonlySet<string> = new Set<RemoteCommandType>(["upgrade", "upgrade-all"]);
const COMMAND_TYPES: ReadonlySet<string> = new Set(REMOTE_COMMAND_TYPES);
const MAX_PENDING = 1_000;
const CHECK_MS = 60_000;
const NOT_CONNECTED = "The appliance was not there in time.";
const OUTCOME_UNKNOWN = "The appliance came back as an older copy of itself: whether it was done is not known.";

/** Sends the orders that people at the cloud give to appliances; an order's activity is the command's id. */
export function createRemoteCommandSender(needs: RemoteCommandSenderDeps): { follow(): () => void } {
  const { store, runner: work, clock, events, hub, onFault } = needs;

  function send({ id, type, endpointId, value, createdAt }: RowOf<typeof endpointActivities>): void {
    const isSent = Object.keys(work.readSync(() => readCommandOutcomes(id))).length > 0;
    if (!COMMAND_TYPES.has(type) || endpointId === needs.endpointId() || isSent) return;
    const command: SyncCommand = {
      ...{
        cid: id,
        kind: type as RemoteCommandType,
        class: "admin",
        notAfter: validUntil(createdAt, value),
        rank: 0,
        term: 0,
        ref: null,
      },
      body: { value: value ?? null } as RowBody,
      ...(UPGRADES.has(type) ? upgradeBody(value) : {}),
    };
    if (command.notAfter > clock.now()) hub.issue([{ endpoint: endpointId, command }]).catch(onFault);
  }

  /** An order names the version by its file, which the appliance fetches over the link. */
  function upgradeBody(value: unknown): Pick<SyncCommand, "body" | "needs"> {
    const offered = needs.offered();
    if (!offered) return { body: { value: (value ?? null) as RowBody | null } };
    const { sha256, size } = offered;
    return { body: { value: { ...(value as RowBody | null), ...offered } }, needs: [{ sha256, size }] };
  }

  /** What of an order the cloud itself concluded, in words; null while the appliance may still tell. */
  function lossReason({ id, createdAt, value }: RowOf<typeof endpointActivities>): string | null {
    const [issued] = work.readSync(() => scanRecords(ISSUED_COMMANDS, { by: "cid", where: [id], limit: 1 }));
    if (!issued) return validUntil(createdAt, value) < clock.now() ? NOT_CONNECTED : null;
    if (issued.saidBy === "site") return null;
    // One that was never linked is not looked through for what came too late.
    if (issued.open === 1)
      return issued.sentInc === null && issued.command.notAfter < clock.now() ? NOT_CONNECTED : null;
    return issued.outcome === "expired" ? NOT_CONNECTED : OUTCOME_UNKNOWN;
  }

  /** Nobody else says what became of an order that never arrived. */
  async function failLostCommands(): Promise<void> {
    for (const row of store.find(endpointActivities, { state: "pending" }, MAX_PENDING)) {
      const reason = row.endpointId === needs.endpointId() || !COMMAND_TYPES.has(row.type) ? null : lossReason(row);
      if (reason === null) continue;
      const value = { ...(row.value as object | null), reason };
      await store.update(endpointActivities, row.id, { state: "fail", severity: "error", value }, needs.by);
    }
  }

  return {
    follow() {
      for (const row of store.find(endpointActivities, { state: "pending" }, MAX_PENDING)) send(row);
      const looking = clock.every(CHECK_MS, () => void failLostCommands().catch(onFault));
      const stopSending = events.on("row.changed", ({ resource, id, op }) => {
        const row = resource === endpointActivities.name && op === "create" ? store.get(endpointActivities, id) : null;
        if (row?.state === "pending") send(row);
      });
      return () => {
        looking.cancel();
        stopSending();
      };
    },
  };
}

/** By when an order must have arrived; `until` of its value says when it is worth nothing any more. */
function validUntil(createdAt: number, value: unknown): number {
  const until = Date.parse(String((value as { until?: unknown } | null)?.until));
  return Math.min(createdAt + VALIDITY_MS, Number.isNaN(until) ? Number.POSITIVE_INFINITY : until);
}
