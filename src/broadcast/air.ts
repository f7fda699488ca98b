import type { Programme } from "../audio/programme.ts";
import type { Streamer } from "../audio/streamer.ts";
import { nextTurn, sleep } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import type { DeliveryItem } from "../plugin-api/index.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import { addActivity } from "./activities.ts";
import type { NotificationRow } from "./compose.ts";
import { readCounts } from "./counts.ts";
import type { Delivery } from "./delivery.ts";
import { ownTarget, pooledTarget, sharedItem } from "./delivery-item.ts";
import type { Desk } from "./desk.ts";
import { type Gates, isHeld } from "./gates.ts";
import type { Ledger } from "./ledger.ts";
import { loadDeliveries } from "./ledger-rows.ts";
import { createLiveBroadcast, type LiveBroadcast } from "./live-broadcast.ts";
import type { LiveNeeds } from "./live-state.ts";
import { hasOpenRecipients } from "./open-recipients.ts";
import type { Precedence } from "./precedence.ts";
import { imagePathOf, programmeFor } from "./programme.ts";
import { APPLIANCES, type Providers, settingsOfProvider } from "./providers.ts";
import { type Resumption, resumptionOf } from "./resumption.ts";
import { effectiveSettingsOf, sendingProfileOf } from "./sending-profile.ts";
import { silencedDevices } from "./silenced.ts";
import { createSound, type Sound, type SoundNeeds } from "./sound.ts";
import type { StageNeeds } from "./stage.ts";
import { stoppedBy } from "./stopped.ts";
import { takeGroups } from "./taken-groups.ts";
import { unresponsiveDevices } from "./unresponsive.ts";

/** Puts messages on air from their rows, whether they are new or were left by an earlier run. */
export interface Air {
  /** The message on air; it is put there by the first call. */
  take(notificationId: string): Promise<LiveBroadcast>;
  /** Adds rows that were made after the message went on air. */
  addNewRows(live: LiveBroadcast): Promise<void>;
  leave(notificationId: string): void;
}

/** What putting messages on air needs. */
export interface AirNeeds extends StageNeeds {
  streamer: Pick<Streamer, "open" | "startGroup" | "repeat" | "end" | "on">;
  /** Own IPv4 address on the network that multicast goes to. */
  interfaceAddress: string;
  /** Hops that the packets of pooled streams may take. */
  ttl: number;
  ledger: Ledger;
  desk: Desk;
  gates: Gates;
  precedence: Precedence;
}

/** What the stages from deliver on need. */
export interface EngineNeeds extends AirNeeds {
  air: Air;
}

/** Longest wait for channels to hear of devices that they are then told to silence. own choice */
const FOLLOW_UP_MS = 5_000;

/** The emergency class. @source interfaces.md, Priorities */
const EMERGENCY = 0;

/** Between turns of the event loop, which may be long while many other messages are sent. own choice */
const URGENT_SLICE_MS = 10;

function nobody(): ReadonlySet<number> {
  return new Set();
}

/** Makes the way on air. */
export function createAir(needs: AirNeeds): Air {
  const { desk } = needs;
  const known = new Map<string, Promise<LiveBroadcast>>();
  const leave = (notificationId: string): void => {
    known.delete(notificationId);
    needs.events.emit("sound.ended", { notificationId });
    desk.leave(notificationId);
    needs.gates.forget(notificationId);
  };
  return {
    take(notificationId) {
      const found = known.get(notificationId);
      if (found !== undefined) return found;
      const put = putOnAir(notificationId, needs);
      known.set(notificationId, put);
      put.catch(() => leave(notificationId));
      return put;
    },
    async addNewRows(live) {
      await loadRows(live, needs, { again: false, givenUp: null, silenced: nobody() });
      live.allAdded();
    },
    leave,
  };
}

async function putOnAir(notificationId: string, needs: AirNeeds): Promise<LiveBroadcast> {
  const { clock, store, desk } = needs;
  let row = store.get(notifications, notificationId);
  if (!row) throw new BugError("No such notification.", { notificationId });
  const stopped = stoppedBy(row, clock.now());
  const how = stopped ? "finish" : isCarried(row, store) ? "carried" : resumptionOf(storedOf(row), clock.now());
  if (how === "again") row = await beginAgain(row, needs);
  const live = await makeLive(row, how, needs);
  desk.enter(live);
  const givenUp = how === "finish" || how === "interrupted" ? WORDS[stopped ?? how] : null;
  const silenced = isHeld(row) ? silencedDevices(row, store, clock.now()) : nobody();
  live.listenAlready(takeGroups(live, desk.all(), needs));
  await loadRows(live, needs, { again: how === "again", givenUp, silenced });
  live.allAdded();
  if (how === "interrupted") await tell(row, "broadcast-failed", WORDS.interrupted, needs);
  if (how === "resume" && live.sound) await tell(row, "info", gapWords(row, clock.now()), needs);
  if (how === "finish" || how === "interrupted") await endAgain(live, stopped ?? how, needs);
  // It could not be made again: nothing more is to be heard by those who have joined.
  else if (!live.sound && row.t0 !== null && how !== "carried") live.soundIsOver();
  return live;
}

/** An earlier run handed it to appliances, which carry it out and tell, whatever this one does. */
function isCarried({ pk }: NotificationRow, store: AirNeeds["store"]): boolean {
  // Of one that is new, no row need be looked at.
  if (!readCounts(store, [pk]).get(pk)?.get("activity:broadcast-started")) return false;
  const open = `SELECT 1 FROM deliveries
    WHERE notification_pk = ? AND provider = ? AND attempt > 0 AND ended_at IS NULL LIMIT 1`;
  return store.one(open, pk, APPLIANCES) !== null;
}

function storedOf(row: NotificationRow) {
  const { t0, streamEndedAt, programmeMs } = row;
  return {
    t0,
    streamEndedAt,
    programmeMs,
    notAfter: row.notAfter ?? row.createdAt,
    emergency: row.priorityLevel === 0,
  };
}

/** The emergency gets as much time as it had at first. */
async function beginAgain(row: NotificationRow, { store, clock, laneOf, endpointId, by }: AirNeeds) {
  const notAfter = clock.now() + Math.max(0, (row.notAfter ?? row.createdAt) - (row.retriedAt ?? row.createdAt));
  await store.write(
    (tx) => {
      tx.run(
        "UPDATE notifications SET t0 = NULL, stream_ended_at = NULL, not_after = ? WHERE pk = ?",
        notAfter,
        row.pk,
      );
      const details = { message: "The appliance was not running: the message starts again from the beginning." };
      addActivity(tx, { notificationId: row.id, type: "info", endpointId: endpointId(), details }, by);
    },
    laneOf(row.priorityLevel ?? 5),
  );
  return { ...row, t0: null, streamEndedAt: null, notAfter };
}

async function makeLive(row: NotificationRow, how: Resumption | "carried", needs: AirNeeds): Promise<LiveBroadcast> {
  const { clock, store, desk, laneOf } = needs;
  const lane = laneOf(row.priorityLevel ?? 5);
  const isBell = row.notificationSource === "bell-schedule";
  const target = pooledTarget(row, needs.ttl);
  const moment = (column: "t0" | "stream_ended_at", at: number): void => {
    store
      .write((tx) => void tx.run(`UPDATE notifications SET ${column} = ? WHERE pk = ?`, at, row.pk), lane)
      .catch((error) => needs.log.error({ err: error, notificationId: row.id }, "moment of the sound not stored"));
  };
  const sounds = how === "begin" || how === "resume" || how === "again";
  const sound = sounds
    ? await makeSound(row, needs, {
        isAwaited: () => live.isAwaited(),
        isMissed: (endsAt) => live.isMissed(endsAt),
        onOver() {
          moment("stream_ended_at", clock.now());
          needs.events.emit("sound.ended", { notificationId: row.id });
          live.soundIsOver();
        },
      })
    : null;
  if (sound && row.t0 !== null) {
    sound.resume(row.t0);
    needs.events.emit("sound.began", { notificationId: row.id, at: clock.now() });
  }
  const hasGroup = sound ? await openGroup(row, sound, needs) : target !== null;
  const profile = sendingProfileOf(row);
  const live: LiveBroadcast = createLiveBroadcast({
    clock,
    providers: needs.providers,
    dispatcher: desk.dispatcher,
    ledger: needs.ledger,
    shared: sharedItem(row, row.notAfter ?? row.createdAt, imagePathOf(row, store.files)),
    callsUntil: callsUntil(row),
    settingsFor: settingsByProvider(row, needs.providers),
    // A bell that is heard late tells the wrong time.
    mayWait: !isBell && profile.queueingAllowed,
    isTogether: profile.isTogether,
    triesOnce: profile.skipUnresponsiveRecipients && row.priorityLevel !== 0,
    rank: isBell ? (profile.priority ?? 5) : null,
    soundsAt: row.heldUntil,
    held: isHeld(row),
    givenUp: !sounds && how !== "carried",
    sound,
    onceMs: sound && onceMs(sound.durationMs, profile),
    targets: targetsOf(row, hasGroup, needs.ttl),
    moreToCome: () => hasOpenRecipients(store, row.id),
    soundBegan(t0) {
      moment("t0", t0);
      needs.events.emit("sound.began", { notificationId: row.id, at: t0 });
    },
  });
  if (isHeld(row)) needs.gates.whenBegun(row.id, live.begin);
  return live;
}

/** Of what goes on until the message ends, or is spoken at this moment, nobody knows: null. */
function onceMs(
  durationMs: number | null,
  { repetitions, repetitionPauseMs, repeatIndefinitely }: ReturnType<typeof sendingProfileOf>,
): number | null {
  if (durationMs === null || repeatIndefinitely) return null;
  return (durationMs - repetitionPauseMs * (repetitions - 1)) / repetitions;
}

/** How much longer people are called than devices are asked, where the message does not expire. own choice */
const CALLS_MS = { emergency: 45 * 60_000, routine: 28 * 60_000 } as const;

function callsUntil({ notAfter, createdAt, expiresAt, priorityLevel }: NotificationRow): number {
  const more = expiresAt === null ? CALLS_MS[priorityLevel === 0 ? "emergency" : "routine"] : 0;
  return (notAfter ?? createdAt) + more;
}

function targetsOf(row: NotificationRow, hasGroup: boolean, ttl: number): LiveNeeds["targets"] {
  const own = ownTarget(row, ttl);
  return { group: hasGroup ? pooledTarget(row, ttl) : null, own, call: own };
}

/** What the settings of a message say of each provider, put together once. */
function settingsByProvider(
  row: NotificationRow,
  providers: Providers,
): (provider: string) => DeliveryItem["settings"] {
  const settings = effectiveSettingsOf(row);
  const known = new Map<string, DeliveryItem["settings"]>();
  return (provider) => {
    const found = known.get(provider) ?? settingsOfProvider(provider, settings, providers).value;
    known.set(provider, found);
    return found;
  };
}

async function makeSound(
  row: NotificationRow,
  needs: AirNeeds,
  course: Pick<SoundNeeds, "isAwaited" | "isMissed" | "onOver">,
): Promise<Sound | null> {
  const programme = await programmeOnceMore(row, needs);
  if (!programme || row.ssrc === null) return null;
  return createSound({
    clock: needs.clock,
    streamer: needs.streamer,
    notificationId: row.id,
    ssrc: row.ssrc,
    programme,
    isTogether: sendingProfileOf(row).isTogether,
    interfaceAddress: needs.interfaceAddress,
    ...course,
    onLost: () => void tell(row, "broadcast-failed", "The streamer failed: the sound was cut off.", needs),
  });
}

/** A message must not stay unseen because it can't be heard. */
async function programmeOnceMore(row: NotificationRow, needs: AirNeeds): Promise<Programme | null> {
  try {
    return await programmeFor(row, needs).catch(() => programmeFor(row, needs));
  } catch (error) {
    needs.log.error({ err: error, notificationId: row.id }, "no sound");
    await tell(row, "broadcast-failed", "The sound could not be made; the message is shown only.", needs);
    return null;
  }
}

/** Opens the stream that phones join; false when there are none, or when it can't be opened. */
async function openGroup(row: NotificationRow, sound: Sound, needs: AirNeeds): Promise<boolean> {
  const target = pooledTarget(row, needs.ttl);
  const phones = needs.store.one(
    "SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones' AND ended_at IS NULL LIMIT 1",
    row.pk,
  );
  if (!target || !phones) return false;
  try {
    await sound.open(target);
    return true;
  } catch (error) {
    needs.log.error({ err: error, notificationId: row.id }, "pooled stream not opened");
    await tell(
      row,
      "broadcast-failed",
      "The stream for phones could not be opened; they only show the message.",
      needs,
    );
    return false;
  }
}

async function tell(
  row: NotificationRow,
  type: "broadcast-failed" | "info",
  message: string,
  { store, by, endpointId, log }: AirNeeds,
): Promise<void> {
  await store
    .write((tx) => {
      const values = { notificationId: row.id, type, endpointId: endpointId() };
      addActivity(tx, { ...values, details: { message } }, by);
    })
    .catch((error) => log.error({ err: error, notificationId: row.id }, "activity not written"));
}

/** The ledger says of each device that it plays, but not that there was a hole in what it played. */
function gapWords({ t0 }: NotificationRow, now: number): string {
  const second = Math.max(1, Math.round((now - (t0 ?? now)) / 1_000));
  return `The appliance was not running for a time: the sound went on at its second ${second}, part of what came before was not heard.`;
}

/**
 * `givenUp`: what was not reached ends with these words instead of being asked; `silenced`: keys of devices that are left
 * alone. Other messages give way to an emergency, but for what has a moment of its own.
 */
async function loadRows(
  live: LiveBroadcast,
  needs: AirNeeds,
  { again, givenUp, silenced }: { again: boolean; givenUp: string | null; silenced: ReadonlySet<number> },
): Promise<void> {
  const { clock, precedence } = needs;
  const isUrgent = live.priority === EMERGENCY;
  let began = clock.monotonicMs();
  for (const page of loadDeliveries(live, needs.store, again, needs.providers)) {
    needs.signal.throwIfAborted();
    if (givenUp !== null) for (const delivery of page) delivery.reached ||= mayHaveJoined(delivery);
    needs.desk.add(live, page);
    const silent = live.skipsSilent ? unresponsiveDevices(page, needs.store, clock.now()) : nobody();
    for (const delivery of page) {
      if (givenUp !== null && !delivery.reached) live.end(delivery, "expired", givenUp);
      else if (silent.has(delivery.device ?? 0)) live.end(delivery, "skipped", WORDS.unresponsive);
      else if (silenced.has(delivery.device ?? 0)) live.end(delivery, "skipped", WORDS.silenced);
    }
    if (isUrgent && clock.monotonicMs() - began < URGENT_SLICE_MS) continue;
    await nextTurn(clock);
    if (!isUrgent && live.soundsAt === null) await precedence.giveWay();
    began = clock.monotonicMs();
  }
}

/** It was asked, and the answer may have been lost with the process: it is silenced like those that had answered. */
function mayHaveJoined({ hears, attempt }: Delivery): boolean {
  return hears === "group" && attempt > 0;
}

/** Ends what an earlier run left: channels first hear of what they are to silence. */
async function endAgain(live: LiveBroadcast, how: "finish" | "interrupted" | "aborted" | "expired", needs: AirNeeds) {
  const patience = new AbortController();
  const late = sleep(needs.clock, FOLLOW_UP_MS, AbortSignal.any([patience.signal, needs.signal])).catch(() => {});
  await Promise.race([live.handedOver, late]);
  patience.abort();
  needs.signal.throwIfAborted();
  if (how === "finish") live.soundIsOver();
  else live.halt(how);
}

const WORDS = {
  finish: "The sound was over before it answered.",
  interrupted: "The appliance was not running and came back too late.",
  aborted: "Somebody ended the message.",
  expired: "The message has expired.",
  unresponsive: "It did not answer the last messages, and this message leaves such devices out.",
  silenced: "An emergency silences the bells here until its all-clear.",
};
