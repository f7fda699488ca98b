import type { AudioTarget, DeliveryProfile } from "../plugin-api/index.ts";
import type notificationActivities from "../resources/notifications/notification-activities.ts";
import type { NOTIFICATION_SOURCES } from "../resources/notifications/notification-sources.ts";
import type notifications from "../resources/notifications/notifications.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";
import type { DeliveryOutcome } from "./engine/delivery-providers.ts";
import type { VoiceCalls } from "./engine/voice-calls.ts";

/** How a message is sent, beside what it says. */
export interface SendOptions {
  source: (typeof NOTIFICATION_SOURCES)[number];
  /**
   * A rule of the appliance, not a person, sends it: it may change what the template keeps to itself and use what its
   * sender does not see; texts that grow too long are cut.
   */
  overrules?: boolean;
  /** Ids of messages: it goes to everybody whom they were for, instead of whom it names. */
  sameRecipientsAs?: readonly string[];
  /** Somebody speaks it in person, see `speak`. */
  isLive?: boolean;
  /** A machine that calls the API starts it, such as a panic button on a wall: nobody else is asked. */
  byMachine?: boolean;
  /** Id of the incident that it belongs to, whether or not the sender sees it. */
  incidentId?: string;
  /**
   * It is made ready and then waits: `release` has its devices asked, `begin` lets it sound at `at` (epoch ms). It gets the
   * id given, so that it can't be there twice, and is of no use `usefulMs` after its time.
   */
  held?: { id: string; at: number; usefulMs: number; description: string; standsIn?: FailoverRing };
}

/** A message that goes to the devices of some groups alone, because the appliance that is to sound it there does not. */
export interface FailoverRing {
  /** What that one would sound. */
  ring: string;
  /** Ids of groups and pairs. */
  groups: readonly string[];
}

/** One of several messages that are sent together. */
export interface OutgoingNotification {
  input: Record<string, unknown>;
  options: SendOptions;
}

/** What messages that are sent together belong to. */
export type NotificationContext = Pick<
  SystemValues<typeof notifications>,
  | "scenarioNotificationId"
  | "incidentId"
  | "parentNotificationId"
  | "escalationRuleId"
  | "initiationSourceType"
  | "initiationSourceId"
  | "initiationSourceDescription"
>;

/** How an all-clear is sent. */
export interface AllClearOptions extends Pick<SendOptions, "source"> {
  /** Ids of further messages that are over: it goes to whom they were for, too, and ends them. */
  alsoFor?: readonly string[];
  /** Also where one has gone out already. */
  again?: boolean;
}

/** How a live page stands: its devices listen `inMs` from now, or it is over. */
export type LivePageState = { notificationId: string } & (
  | { state: "speak"; inMs: number }
  /**
   * `finished` by who spoke, `limit`: as long as one may be, `stopped` by somebody or by its expiry, `unheard`: no device
   * listened, `lost`: no sound came any more.
   */
  | { state: "over"; reason: "finished" | "limit" | "stopped" | "unheard" | "lost" }
);

/** A message that somebody speaks. */
export interface LivePageHandle {
  readonly notificationId: string;
  /** What was spoken up to now: 8 kHz, full scale 1. False when nobody will hear it: too early, too late or too much of it. */
  pushSamples(samples: Float32Array): boolean;
  /** Nothing more is said; what was said is sent to its end. */
  finish(): void;
}

/** What would become of a message on the devices of one plugin, or of all. */
export interface SimulatedDelivery {
  /** Ids of the devices that would be asked. */
  deviceIds: readonly string[];
  /** It goes to people as well. */
  reachesPeople: boolean;
  /** 0 the most urgent. */
  priority: number;
  /** How urgent it is among bells, 1 most. */
  rank: number;
  volume: DeliveryProfile["volume"];
  /** Epoch ms after which it is of no use. */
  notAfter: number;
  /** What would be heard, G.711 µ-law in whole packets; null where nothing is, or nobody hears it. */
  sound: Uint8Array | null;
}

/** The one engine that carries messages: everything that starts, ends or answers one comes here. */
export interface NotificationService {
  /** Takes up what an earlier run left unfinished, then takes new messages. */
  start(): Promise<void>;
  /** Stops handing out work and writes what is known; rows stay where they are and are taken up at the next start. */
  stop(): Promise<void>;
  /**
   * Checks a message and stores it with whom it names in one transaction; resolves after COMMIT. With `draft` nothing is
   * sent: its row says who and what would be reached. What needs another person waits for `decide`. Throws CallerError, ConflictError.
   */
  send(input: Record<string, unknown>, by: ActorContext, options: SendOptions): Promise<RowOf<typeof notifications>>;
  /**
   * Sends a message whose sound is a voice at this moment, after the alert tone; `tell` hears how it stands. The recording
   * is kept with the message. Throws CallerError.
   */
  speak(
    input: Record<string, unknown>,
    by: ActorContext,
    options: Pick<SendOptions, "source">,
    tell: (state: LivePageState) => void,
  ): Promise<LivePageHandle>;
  /**
   * As `send` for several messages, in one transaction: all of them or none. `belong` runs first in it, stores what they
   * belong to and says so; the rows come in the order of the messages.
   */
  sendBatch(
    messages: readonly OutgoingNotification[],
    by: ActorContext,
    belong: (tx: Transaction) => NotificationContext,
  ): Promise<RowOf<typeof notifications>[]>;
  /**
   * Sends a settled message again to what it has not reached; resolves after COMMIT. Throws CallerError not-found, and
   * ConflictError in words where that makes no sense.
   */
  retry(notificationId: string, by: ActorContext): Promise<RowOf<typeof notifications>>;
  /**
   * Sends the all-clear to everybody whom a message was for; a drill stays a drill. own choice: a message that is still
   * going on is ended, once the all-clear is stored. Throws CallerError, ConflictError.
   */
  sendAllClear(
    notificationId: string,
    words: { subject?: string | null; body?: string | null },
    by: ActorContext,
    options: AllClearOptions,
  ): Promise<RowOf<typeof notifications>>;
  /** What a message would be on the devices of one plugin, or of all, if it were sent; nothing is stored. Throws CallerError. */
  simulate(
    input: Record<string, unknown>,
    by: ActorContext,
    options: SendOptions,
    provider: string | null,
  ): Promise<SimulatedDelivery>;
  /**
   * Lets a message go out that waits for another person than its sender, or not; those of one scenario together. Throws
   * CallerError not-found, ConflictError in words.
   */
  decideApproval(
    notificationId: string,
    decision: "approve" | "refuse",
    by: ActorContext,
  ): Promise<RowOf<typeof notifications>>;
  /** Carries a message out that another side has accepted, from its row on. */
  resume(notificationId: string): void;
  /** Has the devices of a message asked that was held back. */
  releaseHold(notificationId: string): void;
  /** Lets a message sound that was held back: its first packet leaves at `at` (epoch ms), at once when that is over. */
  startHeldAt(notificationId: string, at: number): void;
  /** Takes a message away that was held back and never released; nothing is left of it. */
  discardHeld(notificationId: string): Promise<void>;
  /** Clears devices of what settled messages left on them. */
  clearDisplays(): void;
  /** Ends a message before its time: devices are silenced, answers refused. One that has ended stays as it is. */
  abort(notificationId: string, by: ActorContext): Promise<RowOf<typeof notificationActivities>>;
  /** As `abort`, recorded as expiry. */
  expire(notificationId: string, by: ActorContext): Promise<RowOf<typeof notificationActivities>>;
  /** A recipient's answer; the last one counts. Throws CallerError for an unknown option, an expired request, a non-recipient. */
  recordAnswer(
    notificationId: string,
    userId: string,
    option: string,
    by: ActorContext,
  ): Promise<RowOf<typeof notificationActivities>>;
  setReadStatus(
    notificationId: string,
    userId: string,
    read: boolean,
    by: ActorContext,
  ): Promise<RowOf<typeof notificationActivities>>;
  /** What is played, as 8 kHz 16-bit mono WAV; null when nothing is audible. */
  getRenderedAudio(notificationId: string): Promise<Uint8Array | null>;
  /** An alert tone as it is played, 8 kHz 16-bit mono WAV; null for silence. Throws CallerError for a tone there is not. */
  toneAudio(alertTone: string): Promise<Uint8Array | null>;
  /** A recording by itself as it would be played, 8 kHz 16-bit mono WAV. */
  recordingAudio(recording: StoredFile): Promise<Uint8Array>;
  /** Reports of the channels; never throws, never waits. */
  handleOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  /** Sends the message's audio to one more target; resolves when the first packet has left. */
  openStream(provider: string, target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  /** Ends the message's stream to one target. */
  closeStream(target: Pick<AudioTarget, "group" | "port">, notificationId: string): void;
  /** Speaks in calls that channels make. */
  readonly voiceCalls: VoiceCalls;
  /** A recipient's answer that came in through a channel; gives what the recipient is told, null for nothing. */
  recordChannelAnswer(provider: string, recipientId: string, option: string): Promise<string | null>;
}
