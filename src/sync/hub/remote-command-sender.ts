import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
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

export interface RemoteCommandSenderDeps {
  store: Store;
  runner: Pick<SqliteProgramRunner, "readSync">;
  clock: Clock;
  events: Events;
  by: ActorContext;
  hub: Pick<HubSync, "issue">;
  /** The upgrade on offer; null if there is none. */
  offered(): OfferedUpgrade | null;
  /** The cloud's own endpoint, which runs its commands itself. */
  endpointId(): string;
  onFault(error: unknown): void;
}

/** @source docs/decisions/0040-replication.md, Section 5 */
const VALIDITY_MS = 24 * 3600_000;
const UPGRADES: ReadonlySet<string> = new Set<RemoteCommandType>(["upgrade", "upgrade-all"]);
const COMMAND_TYPES: ReadonlySet<string> = new Set(REMOTE_COMMAND_TYPES);
const MAX_PENDING = 1_000;
const CHECK_MS = 60_000;
const NOT_CONNECTED = sentence("command.not-connected");
const OUTCOME_UNKNOWN = sentence("command.restored");

/**
 * Sends remote commands, which users create as endpoint activities, to appliances. The activity's id is the command id.
 */
export function createRemoteCommandSender(deps: RemoteCommandSenderDeps): { follow(): () => void } {
  const { store, runner, clock, events, hub, onFault } = deps;

  function send({ id, type, endpointId, value, createdAt }: RowOf<typeof endpointActivities>): void {
    const isSent = Object.keys(runner.readSync(() => readCommandOutcomes(id))).length > 0;
    if (!COMMAND_TYPES.has(type) || endpointId === deps.endpointId() || isSent) return;
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

  /** An upgrade refers to the package by its file, which the appliance downloads over the link. */
  function upgradeBody(value: unknown): Pick<SyncCommand, "body" | "needs"> {
    const offered = deps.offered();
    if (!offered) return { body: { value: (value ?? null) as RowBody | null } };
    const { sha256, size } = offered;
    return { body: { value: { ...(value as RowBody | null), ...offered } }, needs: [{ sha256, size }] };
  }

  /** Why the cloud concluded that a command failed; null while the appliance may still report. */
  function lossReason({ id, createdAt, value }: RowOf<typeof endpointActivities>): string | null {
    const [issued] = runner.readSync(() => scanRecords(ISSUED_COMMANDS, { by: "cid", where: [id], limit: 1 }));
    if (!issued) return validUntil(createdAt, value) < clock.now() ? NOT_CONNECTED : null;
    if (issued.saidBy === "site") return null;
    // Retention does not visit endpoints that were never linked.
    if (issued.open === 1)
      return issued.sentInc === null && issued.command.notAfter < clock.now() ? NOT_CONNECTED : null;
    return issued.outcome === "expired" ? NOT_CONNECTED : OUTCOME_UNKNOWN;
  }

  /** Fails commands that never arrived: no appliance will report them. */
  async function failLostCommands(): Promise<void> {
    for (const row of store.find(endpointActivities, { state: "pending" }, MAX_PENDING)) {
      const reason = row.endpointId === deps.endpointId() || !COMMAND_TYPES.has(row.type) ? null : lossReason(row);
      if (reason === null) continue;
      const value = { ...(row.value as object | null), reason };
      await store.update(endpointActivities, row.id, { state: "fail", severity: "error", value }, deps.by);
    }
  }

  return {
    follow() {
      for (const row of store.find(endpointActivities, { state: "pending" }, MAX_PENDING)) send(row);
      const checkTimer = clock.every(CHECK_MS, () => void failLostCommands().catch(onFault));
      const stopSending = events.on("row.changed", ({ resource, id, op }) => {
        const row = resource === endpointActivities.name && op === "create" ? store.get(endpointActivities, id) : null;
        if (row?.state === "pending") send(row);
      });
      return () => {
        checkTimer.cancel();
        stopSending();
      };
    },
  };
}

/** Expiry of a command; `until` in its value shortens it. */
function validUntil(createdAt: number, value: unknown): number {
  const until = Date.parse(String((value as { until?: unknown } | null)?.until));
  return Math.min(createdAt + VALIDITY_MS, Number.isNaN(until) ? Number.POSITIVE_INFINITY : until);
}
