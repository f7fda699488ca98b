import type { RemoteCommandType, SyncCommand } from "../protocol/frames.ts";
import type { RowBody, TransactionStore } from "../storage/transaction-program.ts";
import { requestFullResync } from "./command-inbox.ts";
import { startIncarnation } from "./handshake.ts";
import { MAX_OUTBOX_BYTES, pruneAcked } from "./outbox.ts";
import type { ActivityContext } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";

/** Orders that the link itself carries out. */
export type LinkCommandType = Extract<
  RemoteCommandType,
  "full-resync" | "replication-queue-reset" | "replication-clean-up"
>;

const LINK_COMMANDS: ReadonlySet<string> = new Set<LinkCommandType>([
  "full-resync",
  "replication-queue-reset",
  "replication-clean-up",
]);

/** Whether the link itself carries a command out. */
export function isLinkCommand(command: SyncCommand): command is SyncCommand & { kind: LinkCommandType } {
  return LINK_COMMANDS.has(command.kind);
}

/** What carrying them out needs. */
export interface LinkCommandDeps {
  store: TransactionStore;
  journal: ActivityContext;
  /** As it was heard; epoch ms, null when it was not. */
  cloudTime: number | null;
  /** Between two steps: what is urgent does not wait for all of them. */
  yieldToUrgent(): Promise<void>;
}

/**
 * Carries such an order out. Returns what is to be told of it; null for those that end with the mark of a resync, which
 * begins with the next connection.
 */
export async function runLinkCommand(kind: LinkCommandType, needs: LinkCommandDeps): Promise<RowBody | null> {
  if (kind === "replication-clean-up") return await pruneOutbox(needs);
  const { store, journal } = needs;
  await store.transact(function* () {
    if (kind === "replication-queue-reset") yield* startIncarnation((yield* readSyncState()).incarnation, journal);
    yield* requestFullResync();
  });
  return null;
}

/** Forgets all that is not needed any more, at once. */
async function pruneOutbox({ store, cloudTime, yieldToUrgent }: LinkCommandDeps): Promise<RowBody> {
  const before = await store.read(readSyncState);
  for (const lane of ["bulk", "hot"] as const) {
    while (await store.transact(() => pruneAcked(lane, cloudTime, MAX_OUTBOX_BYTES))) await yieldToUrgent();
  }
  const after = await store.read(readSyncState);
  const freedBytes = before.outboxBytes - after.outboxBytes;
  return { freedBytes };
}
