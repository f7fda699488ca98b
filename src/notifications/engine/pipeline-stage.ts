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
import type { DeliveryProviders, DeviceFilters } from "./delivery-providers.ts";

/**
 * Values of the column `notifications.stage`: the next stage, `settled` at the end, `draft` for a preview, `approval`
 * while it waits for approval.
 */
export type NotificationStage = StageName | "settled" | "draft" | "approval";

/** Dependencies of every stage. */
export interface PipelineStageDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  providers: DeliveryProviders;
  /** Extensions that narrow the devices of messages; absent without any. */
  filters?: DeviceFilters;
  /** Absent without a speech engine. */
  speech?: Pick<SpeechSynthesizer, "synthesize" | "drillAnnouncement" | "announcement">;
  /** Audio of live pages; undefined if live paging is not available. */
  livePages?: { renderedAudioOf(notificationId: string): RenderedAudio | null };
  /** Members of device groups. */
  memberships: Pick<GroupMemberships, "members">;
  /** Which appliance activates which devices. */
  activations: Pick<Activations, "activatedElsewhere" | "shareDevices" | "devicesWithin">;
  audio: Pick<AudioRenderer, "prepare">;
  addresses: MulticastAddressPool;
  /** The pipeline's own actor. */
  by: ActorContext;
  /** This appliance's endpoint. */
  endpointId(): string;
  /** Write lane of a notification, by its priority level. */
  laneOf(priorityLevel: number): "normal" | "emergency";
  /** Aborts when the notification service stops. */
  signal: AbortSignal;
}

/**
 * One step of a broadcast: reads rows, writes rows, and calls `advanceStage` in its last transaction. After a crash the
 * stage is repeated, so it must be idempotent.
 */
export interface PipelineStage<N extends PipelineStageDeps = PipelineStageDeps> {
  name: StageName;
  run(notificationId: string, deps: N): Promise<void>;
}

/** Sets the next stage; belongs in the last transaction of the previous one. */
export function advanceStage(tx: Transaction, notificationId: string, next: NotificationStage): void {
  tx.run("UPDATE notifications SET stage = ? WHERE id = ?", next, notificationId);
}

/**
 * Emergencies have precedence in the database, too: level 0 is the emergency class. @source
 * docs/decisions/0022-priorities.md
 */
export function writeLaneOf(priorityLevel: number): "normal" | "emergency" {
  return priorityLevel === 0 ? "emergency" : "normal";
}
