import type { AudioTarget, DeliveryProfile } from "../plugin-api/index.ts";
import type notificationActivities from "../resources/notifications/notification-activities.ts";
import type { NOTIFICATION_SOURCES } from "../resources/notifications/notification-sources.ts";
import type notifications from "../resources/notifications/notifications.ts";
import type { ReachWarningCode } from "../resources/notifications/reach-warnings.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";
import type { ActivityDetails } from "./engine/activity-log.ts";
import type { DeliveryOutcome } from "./engine/delivery-providers.ts";
import type { VoiceCalls } from "./engine/voice-calls.ts";

/** How a message is sent, beside its content. */
export interface SendOptions {
  source: (typeof NOTIFICATION_SOURCES)[number];
  /**
   * Sent by a rule of the appliance, not by a person: it may change what the template protects and use what its sender
   * cannot see; texts that become too long are truncated.
   */
  overrules?: boolean;
  /** Ids of messages: sent to all their recipients instead of the given ones. */
  sameRecipientsAs?: readonly string[];
  /** A live page, see `speak`. */
  isLive?: boolean;
  /** The rule that sends a live page, as `initiationSourceId` and `initiationSourceDescription`. */
  rule?: { id: string; description: string };
  /** Sent by a machine through the API, such as a panic button on a wall: no approval required. */
  byMachine?: boolean;
  /** Id of its incident, whether or not the sender can see it. */
  incidentId?: string;
  /**
   * Holds the message after preparation: `releaseHold` has its devices asked, `startHeldAt` starts its audio at `at`
   * (epoch ms). It gets the given id, so that it cannot exist twice, and its deadline is `usefulMs` after its time.
   */
  held?: { id: string; at: number; usefulMs: number; description: string; standsIn?: FailoverRing };
}

/** A ring for the devices of some groups only, because the appliance that should ring them is down. */
export interface FailoverRing {
  /** Id of the ring of the other appliance. */
  ring: string;
  /** Ids of groups and pairs. */
  groups: readonly string[];
}

/** One of several messages that are sent together. */
export interface OutgoingNotification {
  input: Record<string, unknown>;
  options: SendOptions;
}

/** Common context of messages that are sent together. */
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

export interface AllClearOptions extends Pick<SendOptions, "source"> {
  /** Ids of further messages that are over: the all-clear also goes to their recipients, and ends them. */
  alsoFor?: readonly string[];
  /** Send even if an all-clear has been sent already. */
  again?: boolean;
}

/** State of a live page: its devices listen `inMs` from now, or it is over. */
export type LivePageState = { notificationId: string } & (
  | { state: "speak"; inMs: number }
  /**
   * `finished` by the speaker, `limit`: maximum length, `stopped` by a user or by expiry, `unheard`: no device
   * listened, `lost`: no more audio arrived.
   */
  | { state: "over"; reason: "finished" | "limit" | "stopped" | "unheard" | "lost" }
);

/** A live page in progress. */
export interface LivePageHandle {
  readonly notificationId: string;
  /**
   * Adds speech up to now: 8 kHz, full scale 1. False when it will not be heard: too early, too late or too much of it.
   */
  pushSamples(samples: Float32Array): boolean;
  /** Ends the speech; the rest of it is still sent. */
  finish(): void;
}

/** Whom a message would reach if it were sent now. */
export interface MessageReach {
  /** Devices that would be asked and are presumed to answer. */
  devices: { id: string; type: string }[];
  /** Devices that would be asked but did not answer the last message, or are not registered. */
  doubtful: number;
  /** Devices that would not be asked. */
  unreachable: number;
  /** Internal keys of the users on its lists and named directly. */
  people: ReadonlySet<number>;
}

/** A message that was accepted would reach no one. */
export interface ReachWarning {
  code: ReachWarningCode;
  /** The reason, as a sentence. */
  message: string;
}

/** A simulated delivery to the devices of one plugin, or of all. */
export interface SimulatedDelivery {
  /** Ids of the devices that would be asked. */
  deviceIds: readonly string[];
  /** True if the message has recipients other than devices. */
  reachesPeople: boolean;
  /** 0 the most urgent. */
  priority: number;
  /** Rank among bells, 1 the most urgent. */
  rank: number;
  volume: DeliveryProfile["volume"];
  /** Deadline, epoch ms. */
  notAfter: number;
  /** The audio, G.711 µ-law in whole packets; null if there is none or no recipient hears it. */
  sound: Uint8Array | null;
}

/** The notification engine: everything that starts, ends or answers a message goes through it. */
export interface NotificationService {
  /** Resumes what an earlier run left unfinished, then accepts new messages. */
  start(): Promise<void>;
  /** Stops dispatching and writes the known state; the next start resumes from the rows. */
  stop(): Promise<void>;
  /** True while an emergency is not audible yet, for at most 2 s: other work makes way for it. */
  isEmergencyUnderWay(): boolean;
  /**
   * Validates a message and stores it with its recipients in one transaction; resolves after COMMIT. A `draft` is not
   * sent: its row says who and what would be reached. A message that requires approval waits for `decideApproval`.
   * Throws CallerError, ConflictError.
   */
  send(input: Record<string, unknown>, by: ActorContext, options: SendOptions): Promise<RowOf<typeof notifications>>;
  /**
   * Sends a live page: its audio is a voice at this moment, after the alert tone; `tell` gets its state. The recording
   * is kept with the message. Throws CallerError.
   */
  speak(
    input: Record<string, unknown>,
    by: ActorContext,
    options: Pick<SendOptions, "source" | "overrules" | "rule">,
    onStateChange: (state: LivePageState) => void,
  ): Promise<LivePageHandle>;
  /**
   * As `send` for several messages, in one transaction: all of them or none. `belong` runs first in it, stores their
   * common context and returns it; the rows come in the order of the messages.
   */
  sendBatch(
    messages: readonly OutgoingNotification[],
    by: ActorContext,
    createContext: (tx: Transaction) => NotificationContext,
  ): Promise<RowOf<typeof notifications>[]>;
  /**
   * Sends a settled message again to the devices it has not reached; resolves after COMMIT. Throws CallerError
   * not-found, ConflictError if there is nothing to send again.
   */
  retry(notificationId: string, by: ActorContext): Promise<RowOf<typeof notifications>>;
  /**
   * Sends the all-clear to all recipients of a message; a drill stays a drill. A message still in progress is ended
   * once the all-clear is stored. Throws CallerError, ConflictError.
   */
  sendAllClear(
    notificationId: string,
    text: { subject?: string | null; body?: string | null },
    by: ActorContext,
    options: AllClearOptions,
  ): Promise<RowOf<typeof notifications>>;
  /** Assesses whom a message would reach now; nothing is stored. Throws CallerError. */
  assessReach(input: Record<string, unknown>, by: ActorContext): Promise<MessageReach>;
  /** Warns where an accepted message or draft would reach no one; empty where it reaches any device or person. */
  findReachWarnings(row: RowOf<typeof notifications>): Promise<ReachWarning[]>;
  /**
   * Number of distinct users that an accepted message goes to; null if counting takes too long for a response, or fails.
   */
  countRecipients(row: RowOf<typeof notifications>): Promise<number | null>;
  /** What a message would do on the devices of one plugin, or of all; stores nothing. Throws CallerError. */
  simulate(
    input: Record<string, unknown>,
    by: ActorContext,
    options: SendOptions,
    provider: string | null,
  ): Promise<SimulatedDelivery>;
  /**
   * Approves or refuses a message that waits for a second person; messages of one scenario are decided together. Throws
   * CallerError not-found, ConflictError.
   */
  decideApproval(
    notificationId: string,
    decision: "approve" | "refuse",
    by: ActorContext,
  ): Promise<RowOf<typeof notifications>>;
  /** Carries out a message that the other side has accepted, starting from its row. */
  resume(notificationId: string): void;
  /** Has the devices of a held message asked. */
  releaseHold(notificationId: string): void;
  /** Starts the audio of a held message: its first packet leaves at `at` (epoch ms), at once if that is past. */
  startHeldAt(notificationId: string, at: number): void;
  /** Deletes a held message that was never released. */
  discardHeld(notificationId: string): Promise<void>;
  /** Clears displays of settled messages. */
  clearDisplays(): void;
  /** Ends a message early: devices are silenced, answers refused. Has no effect on one that has ended. */
  abort(
    notificationId: string,
    by: ActorContext,
    details?: ActivityDetails,
  ): Promise<RowOf<typeof notificationActivities>>;
  /** As `abort`, recorded as expiry. */
  expire(
    notificationId: string,
    by: ActorContext,
    details?: ActivityDetails,
  ): Promise<RowOf<typeof notificationActivities>>;
  /**
   * Records a recipient's answer; the last one counts. Throws CallerError for an unknown option, an expired request, a
   * non-recipient.
   */
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
  /** The audio as 8 kHz 16-bit mono WAV; null when nothing is audible. */
  getRenderedAudio(notificationId: string): Promise<Uint8Array | null>;
  /** An alert tone as played, 8 kHz 16-bit mono WAV; null for silence. Throws CallerError for an unknown tone. */
  toneAudio(alertTone: string): Promise<Uint8Array | null>;
  /** A recording as it would be played, 8 kHz 16-bit mono WAV. */
  recordingAudio(recording: StoredFile): Promise<Uint8Array>;
  /** Processes reports of the channels; never throws, never waits. */
  handleOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  /** Sends the message's audio to one more target; resolves when the first packet has left. */
  openStream(provider: string, target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  /** Ends the message's stream to one target. */
  closeStream(target: Pick<AudioTarget, "group" | "port">, notificationId: string): void;
  /** Speech in calls that channels place. */
  readonly voiceCalls: VoiceCalls;
  /** Records an answer that came in through a channel; returns the reply to the recipient, null for none. */
  recordChannelAnswer(provider: string, recipientId: string, option: string): Promise<string | null>;
}
