import type { RemoteCommandType, SyncCommand } from "../protocol/frames.ts";
import type { RowBody, TransactionStore } from "../storage/transaction-program.ts";
import { requestFullResync } from "./command-inbox.ts";
import { startIncarnation } from "./handshake.ts";
import { MAX_OUTBOX_BYTES, pruneAcked } from "./outbox.ts";
import type { ActivityContext } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";

/** Remote commands that the sync engine carries out itself. */
export type LinkCommandType = Extract<
  RemoteCommandType,
  "full-resync" | "replication-queue-reset" | "replication-clean-up"
>;

const LINK_COMMANDS: ReadonlySet<string> = new Set<LinkCommandType>([
  "full-resync",
  "replication-queue-reset",
  "replication-clean-up",
]);

export function isLinkCommand(command: SyncCommand): command is SyncCommand & { kind: LinkCommandType } {
  return LINK_COMMANDS.has(command.kind);
}

export interface LinkCommandDeps {
  store: TransactionStore;
  journal: ActivityContext;
  /** Cloud time as observed, epoch ms; null if it was not. */
  cloudTime: number | null;
  /** Runs urgent tasks between two steps. */
  yieldToUrgent(): Promise<void>;
}

/** Runs the command. Returns details to report, or null for commands that end with the checkpoint of the resync that they request. */
export async function runLinkCommand(kind: LinkCommandType, deps: LinkCommandDeps): Promise<RowBody | null> {
  if (kind === "replication-clean-up") return await pruneOutbox(deps);
  const { store, journal } = deps;
  await store.transact(function* () {
    if (kind === "replication-queue-reset") yield* startIncarnation((yield* readSyncState()).incarnation, journal);
    yield* requestFullResync();
  });
  return null;
}

/** Prunes everything that is no longer needed, at once. */
async function pruneOutbox({ store, cloudTime, yieldToUrgent }: LinkCommandDeps): Promise<RowBody> {
  const before = await store.read(readSyncState);
  for (const lane of ["bulk", "hot"] as const) {
    while (await store.transact(() => pruneAcked(lane, cloudTime, MAX_OUTBOX_BYTES))) await yieldToUrgent();
  }
  const after = await store.read(readSyncState);
  const freedBytes = before.outboxBytes - after.outboxBytes;
  return { freedBytes };
}
