import { createDeviceClaims } from "../devices/device-claims.ts";
import notifications from "../resources/notifications/notifications.ts";
import { UNFINISHED_SQL } from "../resources/notifications/pipeline-stages.ts";
import type { ActorContext } from "../store/store.ts";
import { recordingWav, renderedWavOf, toneWav } from "./compose/audio-rendering.ts";
import type { NotificationRow } from "./compose/message-builder.ts";
import { type ActiveBroadcastRegistryDeps, createActiveBroadcastRegistry } from "./engine/active-broadcast-registry.ts";
import { createAllClearSender } from "./engine/all-clear.ts";
import { findCancelledByTemplate } from "./engine/auto-cancellation.ts";
import {
  type BroadcastActivatorDeps,
  createBroadcastActivator,
  type EngineDeps,
} from "./engine/broadcast-activator.ts";
import { createCancellationService } from "./engine/cancellation.ts";
import { createCatchUpHandler } from "./engine/catch-up.ts";
import { simulateDelivery } from "./engine/delivery-simulation.ts";
import { createEmergencyPrecedence } from "./engine/emergency-precedence.ts";
import { createHoldRegistry } from "./engine/hold-registry.ts";
import { createDeliveryLedger } from "./engine/ledger.ts";
import { createLivePageRegistry } from "./engine/live-pages.ts";
import { PIPELINE } from "./engine/pipeline.ts";
import { createPipelineRunner } from "./engine/pipeline-runner.ts";
import { writeLaneOf } from "./engine/pipeline-stage.ts";
import { createQueueLimitHandler } from "./engine/queue-limit.ts";
import { assessMessageReach } from "./engine/reach.ts";
import { findReachWarnings } from "./engine/reach-warnings.ts";
import { retryNotification } from "./engine/retry.ts";
import { accept, acceptBatch } from "./engine/stages/accept.ts";
import { stopDeliveries } from "./engine/stop-deliveries.ts";
import { createVoiceCalls, type VoiceCallsDeps } from "./engine/voice-calls.ts";
import type { NotificationService } from "./notification-service.ts";
import { countRecipients } from "./recipients/count-recipients.ts";
import { recordAnswer, recordChannelAnswer, recordRead } from "./responses/answers.ts";
import { approve, findAwaitingApproval } from "./responses/approval.ts";
import { createEscalationHandler } from "./responses/escalations.ts";
import { createRepeatHandler } from "./responses/repeats.ts";
import { createTimerScheduler } from "./responses/timers.ts";
import { createTrackingEndHandler } from "./responses/tracking.ts";
import type { TwoPersonRule } from "./responses/two-person-approval.ts";

/** The owner of audio renderer and streamer starts and stops them. */
export type NotificationServiceDeps = Omit<
  BroadcastActivatorDeps,
  "ledger" | "emergencyPrecedence" | "activeBroadcasts" | "holds" | "signal" | "laneOf" | "livePages"
> &
  Pick<ActiveBroadcastRegistryDeps, "baseUrl"> &
  Pick<VoiceCallsDeps, "streamer"> & {
    /** Maximum length of a live page. */
    livePageMs: number;
    /** The two-person rule; without it no approval is required. */
    secondPerson?: TwoPersonRule | null;
  };

/** Creates the notification service of an appliance; nothing is sent before `start`. */
export function createNotificationService(given: NotificationServiceDeps): NotificationService {
  const { store, events, log } = given;
  const ending = new AbortController();
  const ledger = createDeliveryLedger(given);
  const activeBroadcasts = createActiveBroadcastRegistry({ ...given, busy: createDeviceClaims() });
  const holds = createHoldRegistry(events);
  const abort: NotificationService["abort"] = (notificationId, by, details) =>
    endings.abort(notificationId, by, details);
  const livePages = createLivePageRegistry({ ...given, longestMs: given.livePageMs, abort });
  const { signal } = ending;
  const emergencyPrecedence = createEmergencyPrecedence(given.clock, signal);
  const onAir: BroadcastActivatorDeps = {
    ...given,
    ledger,
    activeBroadcasts,
    holds,
    emergencyPrecedence,
    laneOf: writeLaneOf,
    livePages,
    signal,
  };
  const deps = { ...onAir, activator: createBroadcastActivator(onAir) } satisfies EngineDeps;
  const runner = createPipelineRunner(PIPELINE, deps);
  const endings = createCancellationService(deps);
  const forget = events.on("notification.accepted", () => endings.watch());

  /** Ends the messages that a new one replaces first, since it may go to the same devices; then sends the message. */
  const runAccepted = async (accepted: readonly NotificationRow[], by: ActorContext): Promise<void> => {
    const rows = accepted.filter(({ approval }) => approval !== "waiting");
    if (rows.length < accepted.length) endings.watch();
    const together = rows.map(({ id }) => id);
    const over = new Set(rows.flatMap((row) => findCancelledByTemplate(row, together, store, given.clock.now())));
    const asSender = { actor: by.actor, scope: deps.by.scope };
    for (const id of over) {
      await endings
        .abort(id, asSender)
        .catch((err) =>
          log.error(
            { event: "notification.cancellation_failed", err, notificationId: id },
            "Message could not be cancelled.",
          ),
        );
    }
    for (const id of together) runner.run(id);
  };

  const sendBatch: NotificationService["sendBatch"] = async (messages, by, belong) => {
    const rows = await acceptBatch(messages, by, belong, deps);
    await runAccepted(rows, by);
    return rows;
  };
  const escalation = createEscalationHandler({ ...deps, send: sendBatch });
  const repeat = createRepeatHandler({ ...deps, run: runner.run });
  const queueLimit = createQueueLimitHandler({ ...deps, send: sendBatch });
  const tracking = createTrackingEndHandler(deps);
  const catchUp = createCatchUpHandler({ ...deps, run: runner.run });
  const handlers = { escalation, "queue-limit": queueLimit, "catch-up": catchUp, repeat, tracking };
  const due = createTimerScheduler({ ...deps, handlers });

  return {
    isEmergencyUnderWay: emergencyPrecedence.isUnderWay,
    async start() {
      claimMulticastAddresses(deps);
      runner.runUnfinished();
      endings.watch();
      due.start();
    },
    async stop() {
      forget();
      endings.stop();
      const nothingDue = due.stop();
      ending.abort();
      activeBroadcasts.stop();
      ledger.stop();
      await runner.waitUntilIdle();
      await nothingDue;
      await ledger
        .flush()
        .catch((error) =>
          log.error({ event: "ledger.final_flush_failed", err: error }, "Ledger could not be written at shutdown."),
        );
    },
    async send(input, by, options) {
      const row = await accept(input, by, options, deps);
      await runAccepted([row], by);
      return row;
    },
    async speak(input, by, options, tell) {
      const row = await accept({ ...input, draft: false }, by, { ...options, isLive: true }, deps);
      const page = await livePages.open(row, by, tell);
      await runAccepted([row], by);
      return page;
    },
    sendBatch,
    async decideApproval(notificationId, decision, by) {
      if (decision === "approve") {
        await runAccepted(await approve(notificationId, by, deps), by);
      } else {
        for (const { id } of findAwaitingApproval(store, notificationId, by, given.clock.now()))
          await endings.abort(id, by);
      }
      return store.get(notifications, notificationId) as NotificationRow;
    },
    async retry(notificationId, by) {
      const row = await retryNotification(notificationId, by, deps);
      runner.run(row.id);
      return row;
    },
    sendAllClear: createAllClearSender({ ...deps, abort: endings.abort, run: runner.run }),
    assessReach: (input, by) => assessMessageReach(input, by, deps),
    findReachWarnings: (row) =>
      findReachWarnings(row, deps).catch((err) => {
        // The message is sent: a failed check must not look like a failed send.
        log.error(
          { event: "notification.reach_check_failed", err, notificationId: row.id },
          "Failed to check whether the message reaches anyone.",
        );
        return [];
      }),
    countRecipients: (row) =>
      countRecipients(row, deps).catch((err) => {
        log.error(
          { event: "notification.recipient_count_failed", err, notificationId: row.id },
          "Failed to count the recipients of a message that was sent.",
        );
        return null;
      }),
    simulate: (input, by, options, provider) => simulateDelivery(input, by, options, provider, deps),
    resume: runner.run,
    releaseHold: holds.release,
    startHeldAt: holds.startAt,
    async discardHeld(notificationId) {
      const { audioGroup: group, audioPort: port } = store.get(notifications, notificationId) ?? {};
      await store.remove(notifications, notificationId, deps.by);
      holds.forget(notificationId);
      // The address was allocated in `prepare`, and no `settle` will release it any more.
      if (group && port) deps.addresses.release({ group, port });
    },
    clearDisplays: () => stopDeliveries(deps.providers, findShownDeliveries(deps), "expired"),
    abort,
    expire: endings.expire,
    recordAnswer: (notificationId, userId, option, by) => recordAnswer(notificationId, userId, option, by, deps),
    setReadStatus: (notificationId, userId, read, by) => recordRead(notificationId, userId, read, by, deps),
    recordChannelAnswer: (_provider, recipientId, option) => recordChannelAnswer(recipientId, option, deps.by, deps),
    getRenderedAudio: (notificationId) => renderedWavOf(notificationId, deps),
    toneAudio: (alertTone) => toneWav(alertTone, deps),
    recordingAudio: (recording) => recordingWav(recording, deps),
    handleOutcomes: activeBroadcasts.handleOutcomes,
    openStream: (_provider, target, notificationId) => activeBroadcasts.openStream(target, notificationId),
    closeStream: activeBroadcasts.closeStream,
    voiceCalls: createVoiceCalls(given),
  };
}

/** Before new messages allocate addresses: phones may still listen to those of an earlier run. */
function claimMulticastAddresses({ store, addresses }: EngineDeps): void {
  const lent = store.all<{ group: string; port: number }>(
    `SELECT audio_group AS "group", audio_port AS port FROM notifications
     WHERE audio_group IS NOT NULL AND ${UNFINISHED_SQL}`,
  );
  for (const address of lent) addresses.claim(address);
}

/** How far back displays may still show a message. */
const SHOWN_MS = 7 * 86_400_000;

/** Messages that displays may still show: the last delivery of each device. */
function findShownDeliveries({ store, clock }: EngineDeps): { pk: number; provider: string }[] {
  return store.all<{ pk: number; provider: string }>(
    `SELECT max(l.pk) AS pk, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
     WHERE n.created_at > ? AND n.stage = 'settled' AND l.accepted_at IS NOT NULL AND l.provider IS NOT NULL
       AND l.device_pk IS NOT NULL GROUP BY l.device_pk`,
    clock.now() - SHOWN_MS,
  );
}
