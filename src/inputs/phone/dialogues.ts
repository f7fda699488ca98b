import { hash } from "node:crypto";
import { CallerError, ConflictError, LimitError } from "../../lib/errors.ts";
import type { WavSource } from "../../media/audio-renderer.ts";
import { createLiveAudio } from "../../media/live-audio.ts";
import { toPcm } from "../../media/samples.ts";
import { encodeWav } from "../../media/wav.ts";
import type { NotificationService } from "../../notifications/notification-service.ts";
import type dialcastDialingConfigurations from "../../resources/inputs/dialcast-dialing-configurations.ts";
import type { RowOf } from "../../schema/resource.ts";
import { type DialcastMatch, dialcastMessage } from "../dialcast-message.ts";
import type { Inputs } from "../inputs.ts";
import type { CallSession } from "./call-session.ts";
import type { PinDialogueDeps } from "./pin-dialogue.ts";
import { prompt, SPEAK_NOW } from "./prompts.ts";

export interface DialogueDeps extends PinDialogueDeps {
  notificationService: Pick<NotificationService, "speak" | "sendBatch" | "sendAllClear" | "getRenderedAudio">;
  inputs: Pick<Inputs, "process" | "enqueue">;
}

type CallAction = NonNullable<RowOf<typeof dialcastDialingConfigurations>["callAction"]>;

/** What a number does, until the call is over or there is nothing more to say. `pin`: the digits that were right. */
type Dialogue = (session: CallSession, match: DialcastMatch, deps: DialogueDeps, pin: string | null) => Promise<void>;

/** The dialogue of each call action. */
export const DIALOGUES: Readonly<Record<CallAction, Dialogue>> = {
  SEND: send,
  LIVE_PAGE: speakLive,
  RECORDING: recordAndSend,
  ALL_CLEAR: sendAllClear,
  LAST_BROADCAST: playLastBroadcast,
  ECHO_TEST: echo,
};

const MAX_RECORDING_MS = 180_000;
const MAX_ECHO_MS = 60_000;
const MAX_RECORDINGS = 5;
const MENU_TIMEOUT_MS = 15_000;
const SAMPLES_PER_MS = 8;
const RECORDING_FILE = { fileName: "call.wav", maxBytes: 16 * 1_048_576, types: ["audio/wav"] };

/** Sends the message or starts the scenarios, as for a call that a call manager reports. */
async function send(session: CallSession, _match: DialcastMatch, { inputs }: DialogueDeps, pin: string | null) {
  const report = callReport(session);
  const begin = { ...report, dedupeKey: `${session.call.callId} ringing` };
  const result = await inputs.process(session.plugin, {
    ...begin,
    call: { ...report.call, state: "ringing", ...(pin === null ? {} : { pin }) },
  });
  await session.say(prompt(result.outcome === "started" || result.outcome === "throttled" ? "sent" : "not-sent"));
  await inputs.enqueue(session.plugin, {
    ...report,
    dedupeKey: `${session.call.callId} ended`,
    call: { ...report.call, state: "ended" },
  });
}

/** The caller's voice goes to the devices at once. */
async function speakLive(session: CallSession, match: DialcastMatch, deps: DialogueDeps): Promise<void> {
  const message = dialcastMessage(match, deps.store);
  if (typeof message === "string") return refuse(session, match, message, deps);
  let onOver: (reason: string) => void = () => {};
  const over = new Promise<string>((resolve) => {
    onOver = resolve;
  });
  const options = { source: "dial-cast", overrules: true, rule: ruleOf(match, session) } as const;
  const page = await deps.notificationService.speak(
    { ...message, customVars: variablesOf(match, session) },
    deps.by,
    options,
    (state) => {
      if (state.state === "over") onOver(state.reason);
      // The signal ends when the devices listen.
      else deps.clock.after(state.inMs, () => void session.say(SPEAK_NOW));
    },
  );
  session.onVoice = (samples) => void page.pushSamples(samples);
  session.onOver(() => page.finish());
  void (async () => {
    while (!session.isOver) if ((await session.nextKey(MAX_RECORDING_MS)) === "#") return page.finish();
  })();
  const reason = await over;
  session.onVoice = () => {};
  if (reason !== "finished" && reason !== "lost") await session.say(prompt("not-sent"));
}

/** Records, plays it back, and sends it on the key 1. Hanging up discards it. */
async function recordAndSend(session: CallSession, match: DialcastMatch, deps: DialogueDeps): Promise<void> {
  for (let tries = 0; tries < MAX_RECORDINGS && !session.isOver; tries++) {
    await session.say(prompt("record"), SPEAK_NOW);
    const pcm = await record(session);
    if (session.isOver) return;
    if (pcm.length === 0) {
      await session.say(prompt("nothing-recorded"));
      continue;
    }
    const wav = encodeWav(pcm);
    await session.say({ recording: wavSource(wav) }, prompt("recorded"));
    const key = await session.nextKey(MENU_TIMEOUT_MS);
    if (key === "1") return sendRecording(session, match, wav, deps);
    if (key !== "2") return;
  }
}

/** The voice up to a key, or as long as recordings may be. */
async function record(session: CallSession): Promise<Int16Array> {
  const pieces: Int16Array[] = [];
  let samples = 0;
  session.onVoice = (piece) => {
    if (samples >= MAX_RECORDING_MS * SAMPLES_PER_MS) return;
    pieces.push(toPcm(piece));
    samples += piece.length;
  };
  await session.nextKey(MAX_RECORDING_MS);
  session.onVoice = () => {};
  const pcm = new Int16Array(samples);
  let at = 0;
  for (const piece of pieces) {
    pcm.set(piece, at);
    at += piece.length;
  }
  return pcm;
}

async function sendRecording(
  session: CallSession,
  match: DialcastMatch,
  wav: Uint8Array,
  deps: DialogueDeps,
): Promise<void> {
  const { store, notificationService, by } = deps;
  const message = dialcastMessage(match, store);
  if (typeof message === "string") return refuse(session, match, message, deps);
  const audio = await store.files.put(singlePiece(wav), RECORDING_FILE);
  let isKept = false;
  try {
    const { id, description } = ruleOf(match, session);
    await notificationService.sendBatch(
      [
        {
          input: { ...message, audio, customVars: variablesOf(match, session) },
          options: { source: "dial-cast", overrules: true },
        },
      ],
      by,
      () => ({
        initiationSourceType: "dialcast-dialing-configurations",
        initiationSourceId: id,
        initiationSourceDescription: description,
      }),
    );
    isKept = true;
  } finally {
    store.files.release(audio, isKept);
  }
  await session.say(prompt("sent"));
}

/** All-clear to the newest message of the configuration's template. */
async function sendAllClear(session: CallSession, match: DialcastMatch, deps: DialogueDeps): Promise<void> {
  const { store, notificationService, by } = deps;
  const newest = store.one<{ id: string }>(
    `SELECT n.id FROM notifications n WHERE n.draft = 0 AND n.parent_notification_pk IS NULL
       AND n.message_template_pk = (SELECT pk FROM message_templates WHERE id = ?) ORDER BY n.pk DESC LIMIT 1`,
    match.row.messageTemplateId,
  );
  if (!newest) return session.say(prompt("nothing-to-clear"));
  try {
    await notificationService.sendAllClear(newest.id, {}, by, { source: "dial-cast" });
  } catch (error) {
    // It was sent already.
    if (error instanceof ConflictError) return session.say(prompt("nothing-to-clear"));
    throw error;
  }
  await session.say(prompt("cleared"));
}

/** The newest announcement to a device group of the configuration, or of its template. */
async function playLastBroadcast(session: CallSession, match: DialcastMatch, deps: DialogueDeps): Promise<void> {
  const { store, notificationService } = deps;
  const newest = store.all<{ id: string }>(
    `WITH wanted AS (SELECT target FROM dialcast_dialing_configurations__device_group_ids WHERE owner = ?
       UNION SELECT target FROM message_templates__device_group_ids
       WHERE owner = (SELECT pk FROM message_templates WHERE id = ?)
         AND NOT EXISTS (SELECT 1 FROM dialcast_dialing_configurations__device_group_ids WHERE owner = ?))
     SELECT n.id FROM notifications n WHERE n.draft = 0 AND EXISTS (SELECT 1 FROM notifications__device_group_ids g
       WHERE g.owner = n.pk AND g.target IN (SELECT target FROM wanted)) ORDER BY n.pk DESC LIMIT 5`,
    ...[match.row.pk, match.row.messageTemplateId, match.row.pk],
  );
  for (const { id } of newest) {
    const wav = await notificationService.getRenderedAudio(id);
    if (wav) return session.say({ recording: wavSource(wav) });
  }
  await session.say(prompt("no-broadcast"));
}

/** The caller hears what they say, a little later. */
async function echo(session: CallSession, _match: DialcastMatch, { clock }: DialogueDeps): Promise<void> {
  await session.say(prompt("echo"));
  const live = createLiveAudio(`echo/${session.call.callId}`, null, MAX_ECHO_MS);
  session.onVoice = (samples) => void live.writeVoice(samples, clock.monotonicMs());
  live.start(clock.monotonicMs());
  await session.say({ audio: live.rendered });
  session.onVoice = () => {};
}

async function refuse(session: CallSession, { row }: DialcastMatch, reason: string, { log }: DialogueDeps) {
  log.warn({ event: "phone_call.refused", configuration: row.name, reason }, "call could not be carried out");
  await session.say(prompt("not-sent"));
}

/** True for an error of the configuration, not of the appliance. */
export function isConfigurationError(error: unknown): error is Error {
  return error instanceof CallerError || error instanceof ConflictError || error instanceof LimitError;
}

function callReport({ call }: CallSession) {
  const { callId, calledNumber, callingNumber } = call;
  return {
    source: "phone",
    values: {},
    call: { callId, calledNumber, ...(callingNumber === "" ? {} : { callingNumber }) },
  };
}

function ruleOf({ row }: DialcastMatch, { call }: CallSession): { id: string; description: string } {
  return { id: row.id, description: `${row.name} (${call.callingNumber})`.slice(0, 255) };
}

function variablesOf({ row }: DialcastMatch, { call }: CallSession): Record<string, string> {
  return { callingNumber: call.callingNumber, calledNumber: call.calledNumber, rule: row.name };
}

function wavSource(wav: Uint8Array): WavSource {
  return { sha256: hash("sha256", wav, "hex"), read: () => wav };
}

async function* singlePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
