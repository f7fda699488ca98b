import { createBusyTable } from "../devices/busy.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import type { By } from "../store/store.ts";
import { type AirNeeds, createAir, type EngineNeeds } from "./air.ts";
import { createAllClear } from "./all-clear.ts";
import { recordAnswer, recordChannelAnswer, recordRead } from "./answers.ts";
import { approve, waitingWith } from "./approval.ts";
import type { Broadcaster } from "./broadcaster.ts";
import { callOff } from "./call-off.ts";
import type { NotificationRow } from "./compose.ts";
import { createDesk, type DeskNeeds } from "./desk.ts";
import { createDueWatch } from "./due.ts";
import { createEndings } from "./endings.ts";
import { createEscalation } from "./escalations.ts";
import { foresee } from "./foresight.ts";
import { createGates } from "./gates.ts";
import { createLedger } from "./ledger.ts";
import { createLivePages } from "./live-pages.ts";
import { PIPELINE } from "./pipeline.ts";
import { createPrecedence } from "./precedence.ts";
import { programmeOf, recordingAudio, toneAudio } from "./programme.ts";
import { createQueueLimit } from "./queue-limit.ts";
import { createRepeats } from "./repeats.ts";
import { openAgain } from "./retry.ts";
import { createRunner } from "./runner.ts";
import type { SecondPerson } from "./second-person.ts";
import { laneOf } from "./stage.ts";
import { accept, acceptTogether } from "./stages/accept.ts";
import { calledOffBy } from "./supersession.ts";
import { createTrackingEnd } from "./tracking.ts";
import { createVoiceCalls, type VoiceCallsNeeds } from "./voice-calls.ts";

/** What the broadcaster is made of; audio worker and streamer are started and stopped by whoever made them. */
export type BroadcasterNeeds = Omit<
  AirNeeds,
  "ledger" | "precedence" | "desk" | "gates" | "signal" | "laneOf" | "livePages"
> &
  Pick<DeskNeeds, "baseUrl"> &
  Pick<VoiceCallsNeeds, "streamer"> & {
    /** How long somebody may speak live. */
    livePageMs: number;
    /** The two-person rule; nobody else is asked without it. */
    secondPerson?: SecondPerson | null;
  };

/** Makes the broadcaster of an appliance; nothing is sent before `start`. */
export function createBroadcaster(given: BroadcasterNeeds): Broadcaster {
  const { store, events, log } = given;
  const ending = new AbortController();
  const ledger = createLedger(given);
  const desk = createDesk({ ...given, busy: createBusyTable() });
  const gates = createGates(events);
  const abort: Broadcaster["abort"] = (notificationId, by) => endings.abort(notificationId, by);
  const livePages = createLivePages({ ...given, longestMs: given.livePageMs, abort });
  const { signal } = ending;
  const precedence = createPrecedence(given.clock, signal);
  const onAir: AirNeeds = { ...given, ledger, desk, gates, precedence, laneOf, livePages, signal };
  const needs = { ...onAir, air: createAir(onAir) } satisfies EngineNeeds;
  const runner = createRunner(PIPELINE, needs);
  const endings = createEndings(needs);
  const forget = events.on("notification.accepted", () => endings.watch());

  /** What a new message takes the place of is ended first, since it may go to the same devices; then the message goes out. */
  const takeUp = async (accepted: readonly NotificationRow[], by: By): Promise<void> => {
    const rows = accepted.filter(({ approval }) => approval !== "waiting");
    if (rows.length < accepted.length) endings.watch();
    const together = rows.map(({ id }) => id);
    const over = new Set(rows.flatMap((row) => calledOffBy(row, together, store, given.clock.now())));
    const asSender = { actor: by.actor, scope: needs.by.scope };
    for (const id of over) {
      await endings
        .abort(id, asSender)
        .catch((err) => log.error({ err, notificationId: id }, "message not called off"));
    }
    for (const id of together) runner.take(id);
  };

  const sendTogether: Broadcaster["sendTogether"] = async (messages, by, belong) => {
    const rows = await acceptTogether(messages, by, belong, needs);
    await takeUp(rows, by);
    return rows;
  };
  const escalation = createEscalation({ ...needs, send: sendTogether });
  const repeat = createRepeats({ ...needs, take: runner.take });
  const queueLimit = createQueueLimit({ ...needs, send: sendTogether });
  const tracking = createTrackingEnd(needs);
  const due = createDueWatch({ ...needs, handlers: { escalation, "queue-limit": queueLimit, repeat, tracking } });

  return {
    async start() {
      claimAddresses(needs);
      runner.takeUnfinished();
      endings.watch();
      due.start();
    },
    async stop() {
      forget();
      endings.stop();
      const nothingDue = due.stop();
      ending.abort();
      desk.stop();
      ledger.stop();
      await runner.idle();
      await nothingDue;
      await ledger.flush().catch((error) => log.error({ err: error }, "ledger not written at the end"));
    },
    async send(input, by, options) {
      const row = await accept(input, by, options, needs);
      await takeUp([row], by);
      return row;
    },
    async speak(input, by, options, tell) {
      const row = await accept({ ...input, draft: false }, by, { ...options, isLive: true }, needs);
      const page = await livePages.open(row, by, tell);
      await takeUp([row], by);
      return page;
    },
    sendTogether,
    async decide(notificationId, decision, by) {
      if (decision === "approve") {
        await takeUp(await approve(notificationId, by, needs), by);
      } else {
        for (const { id } of waitingWith(store, notificationId, by, given.clock.now())) await endings.abort(id, by);
      }
      return store.get(notifications, notificationId) as NotificationRow;
    },
    async retry(notificationId, by) {
      const row = await openAgain(notificationId, by, needs);
      runner.take(row.id);
      return row;
    },
    sendAllClear: createAllClear({ ...needs, abort: endings.abort, take: runner.take }),
    foresee: (input, by, options, provider) => foresee(input, by, options, provider, needs),
    takeUp: runner.take,
    release: gates.release,
    begin: gates.begin,
    async discard(notificationId) {
      const { audioGroup: group, audioPort: port } = store.get(notifications, notificationId) ?? {};
      await store.remove(notifications, notificationId, needs.by);
      gates.forget(notificationId);
      // It is lent when the message is made ready, and nothing settles that any more.
      if (group && port) needs.addresses.release({ group, port });
    },
    clearDevices: () => callOff(needs.providers, deliveriesShown(needs), "expired"),
    abort,
    expire: endings.expire,
    answer: (notificationId, userId, option, by) => recordAnswer(notificationId, userId, option, by, needs),
    setRead: (notificationId, userId, read, by) => recordRead(notificationId, userId, read, by, needs),
    confirm: (_provider, recipientId, option) => recordChannelAnswer(recipientId, option, needs.by, needs),
    programmeOf: (notificationId) => programmeOf(notificationId, needs),
    toneAudio: (alertTone) => toneAudio(alertTone, needs),
    recordingAudio: (recording) => recordingAudio(recording, needs),
    takeOutcomes: desk.takeOutcomes,
    openStream: (_provider, target, notificationId) => desk.openStream(target, notificationId),
    closeStream: desk.closeStream,
    voice: createVoiceCalls(given),
  };
}

/** Before anything new borrows them: phones may still listen to what an earlier run sent. */
function claimAddresses({ store, addresses }: EngineNeeds): void {
  const lent = store.all<{ group: string; port: number }>(
    `SELECT audio_group AS "group", audio_port AS port FROM notifications
     WHERE audio_group IS NOT NULL AND stage NOT IN ('settled', 'draft')`,
  );
  for (const address of lent) addresses.claim(address);
}

/** How far back something may still be shown. own choice */
const SHOWN_MS = 7 * 86_400_000;

/** What settled messages may have left on displays: the last delivery of each device. */
function deliveriesShown({ store, clock }: EngineNeeds): { pk: number; provider: string }[] {
  return store.all<{ pk: number; provider: string }>(
    `SELECT max(l.pk) AS pk, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
     WHERE n.created_at > ? AND n.stage = 'settled' AND l.accepted_at IS NOT NULL AND l.provider IS NOT NULL
       AND l.device_pk IS NOT NULL GROUP BY l.device_pk`,
    clock.now() - SHOWN_MS,
  );
}
