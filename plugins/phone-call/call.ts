import { randomBytes } from "node:crypto";
import type { AudioCodec, Clock, DeliveryItem, PluginContext, Timer, VoiceTarget } from "#plugin-api";
import type { Agent } from "../sip/agent/agent.ts";
import type { Call, CallFailure } from "../sip/agent/call.ts";
import { escapeUser } from "../sip/agent/uri.ts";
import type { MediaPort, MediaPorts } from "../sip/media/media-port.ts";
import { proofOfSound, type ReceptionReport, readReports, reportWords } from "../sip/media/rtcp.ts";
import {
  describeAnswer,
  describeOffer,
  isSameMedia,
  type Offer,
  type RemoteMedia,
  readAnswer,
} from "../sip/media/sdp.ts";
import { createMediaOpener, drawSecrecy, type OwnSecrecy, type SecrecyChoice } from "../sip/media/secrecy.ts";
import { type Conversation, converse } from "./conversation.ts";
import { decodeG711 } from "./decode.ts";
import { createGreeting } from "./greeting.ts";
import { createKeyEvents, keyOfInfo, readPacket } from "./keys.ts";
import { type TelephoneFailure, telephoneFailureOf } from "./telephone-failures.ts";
import type { Trunk } from "./trunk.ts";
import { type Language, writeScript } from "./words.ts";

/** What calls need. */
export interface TelephoneNeeds extends Pick<PluginContext, "voice" | "confirm" | "outcome"> {
  clock: Clock;
  agent: Pick<Agent, "call" | "addressTo">;
  ports: MediaPorts;
  trunk: Trunk;
  language: Language;
  callerName: string;
  /** What telephones show; null leaves it to the trunk. */
  callerNumber: string | null;
  srtp: SecrecyChoice;
  ringMs: number;
  /** How often the message is said to somebody who presses no key. */
  repetitions: number;
}

/** What came of a call. */
export type CallEnd =
  | { kind: "talked"; words: string; report: ReceptionReport | null }
  | { kind: "cancelled" }
  | TelephoneFailure;

/** A call to one telephone. */
export interface TelephoneCall {
  /** Never rejects. */
  readonly over: Promise<CallEnd>;
  /** Hangs up. */
  cancel(): void;
}

/** The first that the other side takes counts: telephone networks know G.711 and nothing better. */
const CODECS: readonly AudioCodec[] = ["PCMU", "PCMA", "G722"];
/** Networks take their time before it rings. own choice */
const BEFORE_RINGING_MS = 20_000;
const RINGS = 180;
/** A call that nothing else has ended. own choice */
const LONGEST_MS = 900_000;
const SSRC_BYTES = 4;
const MOST_TRIES = 3;

/** Calls `dialled` and speaks with whoever answers. */
export function callTelephone(item: DeliveryItem, dialled: string, needs: TelephoneNeeds): TelephoneCall {
  const { clock, agent, voice, outcome, trunk } = needs;
  const { deliveryId, notificationId } = item;
  const script = writeScript(item, needs);
  const drawSsrc = (): number => randomBytes(SSRC_BYTES).readUInt32BE(0);
  let ssrc = drawSsrc();
  let call: Call | null = null;
  let media: MediaPort | null = null;
  let talk: Conversation | null = null;
  let target: VoiceTarget | null = null;
  let keys: number | null = null;
  let agreed: RemoteMedia | null = null;
  let secrecy: OwnSecrecy | null = null;
  let opener = createMediaOpener(null);
  let report: ReceptionReport | null = null;
  let patience: Timer | null = null;
  let isOver = false;
  let onOver = (_end: CallEnd): void => {};
  const over = new Promise<CallEnd>((resolve) => {
    onOver = resolve;
  });

  const finish = (end: CallEnd): void => {
    if (isOver) return;
    isOver = true;
    patience?.cancel();
    talk?.stop();
    if (target) voice.close(target).catch(() => {});
    void (call?.hangUp() ?? Promise.resolve()).then(() => {
      media?.close();
      onOver(end);
    });
  };
  const fail = (failure: CallFailure): void => finish(telephoneFailureOf(failure));
  const talked = (words: string): void => finish({ kind: "talked", words, report });
  const expect = (ms: number, then: () => void): void => {
    patience?.cancel();
    patience = clock.after(ms, then);
  };
  const unanswered = (): void => finish({ kind: "no-answer", reason: "nobody answered" });

  const dial = async (): Promise<void> => {
    await prepared();
    const hop = await trunk.hop();
    const address = await agent.addressTo(hop.host);
    media = await needs.ports.open(address);
    if (isOver) return media.close();
    listen(media);
    secrecy = drawSecrecy(needs.srtp, hop);
    const offer: Offer = { address, port: media.port, id: deliveryId, codecs: CODECS, secrecy };
    const { uri, credentials } = trunk;
    const user = needs.callerNumber ?? escapeUser(credentials?.user ?? "carillon");
    call = agent.call(
      {
        uri: { ...uri, user: dialled, params: new Map([["user", "phone"]]) },
        ...{ hop, credentials },
        caller: { user, name: needs.callerName, address: `sip:${user}@${uri.host}` },
        headers: needs.callerNumber === null ? [] : [["P-Asserted-Identity", `<sip:${user}@${uri.host}>`]],
        offer: describeOffer(offer),
        answerTo: (theirs) => describeAnswer(offer, theirs),
      },
      {
        onRinging(status) {
          outcome(deliveryId, "sent");
          if (patience === null || status >= RINGS)
            expect(status >= RINGS ? needs.ringMs : BEFORE_RINGING_MS + needs.ringMs, unanswered);
        },
        onAnswered: (description) => void answered(description).catch((error: Error) => broken(error.message)),
        onFailed: fail,
        onEnded: () => talked(talk?.words ?? "It was answered, and hung up at once."),
        onInfo(type, body) {
          const key = keyOfInfo(type, body);
          if (key !== null) talk?.press(key);
        },
      },
    );
  };

  /** Making speech may take longer than the host is waited for. */
  const prepared = async (): Promise<void> => {
    for (let tries = MOST_TRIES; ; tries--) {
      try {
        await voice.prepare(script.opening, notificationId);
        return;
      } catch (error) {
        if (tries === 0 || !/no answer within/.test((error as Error).message)) throw error;
      }
    }
  };

  const listen = (open: MediaPort): void => {
    const tellKey = createKeyEvents((key) => talk?.press(key));
    const greeting = createGreeting();
    open.onRtp = (datagram, from) => {
      // Whoever else finds the port must not answer for the person.
      const plain = from === target?.group ? opener.sound(datagram) : null;
      const packet = plain && readPacket(plain);
      if (!packet) return;
      if (packet.type === keys) return tellKey(packet.timestamp, packet.payload);
      const samples = decodeG711(packet.type, packet.payload);
      if (samples) talk?.hear(greeting.push(samples));
    };
    open.onRtcp = (datagram, from) => {
      const plain = from === target?.group ? opener.report(datagram) : null;
      const found = plain && proofOfSound(readReports(plain), ssrc);
      if (found && report === null) outcome(deliveryId, "playing", { reason: reportWords(found) });
      report = found ?? report;
    };
  };

  const answered = async (description: string): Promise<void> => {
    const { media: remote, fault } = readAnswer(description, CODECS, secrecy);
    if (isOver || !media) return;
    if (!remote) return broken(fault);
    keys = remote.keys;
    if (agreed?.secrecy?.theirs.key !== remote.secrecy?.theirs.key) opener = createMediaOpener(remote.secrecy);
    const isSame = isSameMedia(agreed, remote);
    agreed = remote;
    if (isSame) return;
    const before = target;
    // The new stream begins its numbers anew, which must not meet the same secret again.
    if (before) ssrc = drawSsrc();
    const next: VoiceTarget = {
      ...{ group: remote.address, port: remote.port, codec: remote.codec, sourcePort: media.port, ssrc },
      ...(remote.secrecy ? { secrecy: remote.secrecy.own } : {}),
    };
    target = next;
    if (before) await voice.close(before);
    else {
      outcome(deliveryId, "accepted");
      expect(LONGEST_MS, () => talked("The call lasted too long."));
    }
    await voice.open(next);
    if (isOver) return void voice.close(next).catch(() => {});
    talk ??= converse(item, script, {
      ...needs,
      say: (parts) => voice.say(target ?? next, parts, notificationId),
      onOver: talked,
    });
    talk.begin();
  };

  const broken = (words: string): void => {
    if (target) talked(`It was answered, but nothing could be said: ${words}`);
    else finish({ kind: "refused", reason: words });
  };

  dial().catch((error: Error) => finish({ kind: "ours", reason: error.message }));
  return { over, cancel: () => finish({ kind: "cancelled" }) };
}
