import type { AddressPool } from "../audio/address-pool.ts";
import type { AudioWorker } from "../audio/audio-worker.ts";
import type { Programme } from "../audio/programme.ts";
import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { Activations } from "../devices/activation-groups.ts";
import type { Memberships } from "../devices/memberships.ts";
import type { StageName } from "../resources/broadcasts/stages.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import type { Providers } from "./providers.ts";
import type { Speech } from "./speech.ts";

/**
 * What the column `notifications.stage` may hold: the stage that is next, `settled` at the end, `draft` for a preview,
 * `approval` while another person is waited for.
 */
export type NextStage = StageName | "settled" | "draft" | "approval";

/** What every stage may use. */
export interface StageNeeds {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  providers: Providers;
  /** Absent where nothing speaks. */
  speech?: Pick<Speech, "of" | "drillWord">;
  /** What is heard of a message that somebody speaks; absent where nobody can. */
  livePages?: { programmeOf(notificationId: string): Programme | null };
  /** Which devices groups have. */
  memberships: Pick<Memberships, "members">;
  /** Which appliance activates which devices. */
  activations: Pick<Activations, "elsewhere" | "share" | "within">;
  audio: Pick<AudioWorker, "prepare">;
  addresses: AddressPool;
  /** The pipeline itself as actor of what it writes. */
  by: By;
  /** This appliance's endpoint. */
  endpointId(): string;
  /** Lane of a notification's writes, by its priority level. */
  laneOf(priorityLevel: number): "normal" | "emergency";
  /** Aborts when the broadcaster stops. */
  signal: AbortSignal;
}

/**
 * One step of a broadcast: reads rows, writes rows, and calls `advance` in its last transaction. A crash before that
 * repeats the stage, so it must give the same rows again.
 */
export interface Stage<N extends StageNeeds = StageNeeds> {
  name: StageName;
  run(notificationId: string, needs: N): Promise<void>;
}

/** Says which stage is next; belongs into the last transaction of the stage before. */
export function advance(tx: Transaction, notificationId: string, next: NextStage): void {
  tx.run("UPDATE notifications SET stage = ? WHERE id = ?", next, notificationId);
}

/** Emergencies go before everything else in the database too: level 0 is the emergency class. @source interfaces.md, Priorities */
export function laneOf(priorityLevel: number): "normal" | "emergency" {
  return priorityLevel === 0 ? "emergency" : "normal";
}
