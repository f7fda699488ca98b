import type { Activations } from "../../devices/activation-groups.ts";
import type { GroupMemberships } from "../../devices/group-memberships.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import type { AudioRenderer } from "../../media/audio-renderer.ts";
import type { MulticastAddressPool } from "../../media/multicast-address-pool.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import type { StageName } from "../../resources/notifications/pipeline-stages.ts";
import type { ActorContext, Store, Transaction } from "../../store/store.ts";
import type { SpeechSynthesizer } from "../compose/speech-synthesis.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";

/**
 * What the column `notifications.stage` may hold: the stage that is next, `settled` at the end, `draft` for a preview,
 * `approval` while another person is waited for.
 */
export type NotificationStage = StageName | "settled" | "draft" | "approval";

/** What every stage may use. */
export interface PipelineStageDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  providers: DeliveryProviders;
  /** Absent where nothing speaks. */
  speech?: Pick<SpeechSynthesizer, "synthesize" | "drillAnnouncement">;
  /** What is heard of a message that somebody speaks; absent where nobody can. */
  livePages?: { programmeOf(notificationId: string): RenderedAudio | null };
  /** Which devices groups have. */
  memberships: Pick<GroupMemberships, "members">;
  /** Which appliance activates which devices. */
  activations: Pick<Activations, "activatedElsewhere" | "shareDevices" | "devicesWithin">;
  audio: Pick<AudioRenderer, "prepare">;
  addresses: MulticastAddressPool;
  /** The pipeline itself as actor of what it writes. */
  by: ActorContext;
  /** This appliance's endpoint. */
  endpointId(): string;
  /** Lane of a notification's writes, by its priority level. */
  laneOf(priorityLevel: number): "normal" | "emergency";
  /** Aborts when the notificationService stops. */
  signal: AbortSignal;
}

/**
 * One step of a broadcast: reads rows, writes rows, and calls `advance` in its last transaction. A crash before that
 * repeats the stage, so it must give the same rows again.
 */
export interface PipelineStage<N extends PipelineStageDeps = PipelineStageDeps> {
  name: StageName;
  run(notificationId: string, needs: N): Promise<void>;
}

/** Says which stage is next; belongs into the last transaction of the stage before. */
export function advanceStage(tx: Transaction, notificationId: string, next: NotificationStage): void {
  tx.run("UPDATE notifications SET stage = ? WHERE id = ?", next, notificationId);
}

/** Emergencies go before everything else in the database too: level 0 is the emergency class. @source interfaces.md, Priorities */
export function writeLaneOf(priorityLevel: number): "normal" | "emergency" {
  return priorityLevel === 0 ? "emergency" : "normal";
}
