import { randomBytes } from "node:crypto";
import type { AudioCodec, Clock, DeliveryItem, PluginContext, Timer, VoiceTarget } from "#plugin-api";
import type { MediaPort, MediaPortPool } from "../sip/media/media-port.ts";
import {
  findProofOfReception,
  formatReceptionReport,
  parseReceptionReports,
  type ReceptionReport,
} from "../sip/media/rtcp.ts";
import {
  formatSdpAnswer,
  formatSdpOffer,
  isSameMedia,
  parseSdpAnswer,
  type RemoteMedia,
  type SdpOffer,
} from "../sip/media/sdp.ts";
import {
  createMediaDecryptor,
  createSrtpOffer,
  type SrtpOffer,
  type SrtpPolicy,
} from "../sip/media/srtp-negotiation.ts";
import type { CallFailure, SipCall } from "../sip/user-agent/call.ts";
import { escapeUser } from "../sip/user-agent/sip-uri.ts";
import type { SipUserAgent } from "../sip/user-agent/user-agent.ts";
import { createAnsweringMachineDetector } from "./answering-machine-detection.ts";
import { createCallScript, type SpokenLanguage } from "./call-script.ts";
import { type CallConversation, createCallConversation } from "./conversation.ts";
import { createDtmfDetector, dtmfKeyOfInfo, parseMediaPacket } from "./dtmf.ts";
import { decodeG711 } from "./g711-decoder.ts";
import type { SipTrunk } from "./sip-trunk.ts";
import { explainTelephoneFailure, type TelephoneFailure } from "./telephone-failures.ts";

/** What calls need. */
export interface TelephoneCallDeps extends Pick<PluginContext, "voice" | "confirm" | "outcome"> {
  clock: Clock;
  userAgent: Pick<SipUserAgent, "call" | "addressTo">;
  ports: MediaPortPool;
  trunk: SipTrunk;
  language: SpokenLanguage;
  callerName: string;
  /** What telephones show; null leaves it to the trunk. */
  callerNumber: string | null;
  srtp: SrtpPolicy;
  ringMs: number;
  /** How often the message is said to somebody who presses no key. */
  repetitions: number;
}

/** What came of a call. */
export type CallResult =
  | { kind: "talked"; words: string; report: ReceptionReport | null }
  | { kind: "cancelled" }
  | TelephoneFailure;

/** A call to one telephone. */
export interface TelephoneCall {
  /** Never rejects. */
  readonly ended: Promise<CallResult>;
  /** Hangs up. */
  cancel(): void;
}

/** The first that the other side takes counts: telephone networks know G.711 and nothing better. */
const CODECS: readonly AudioCodec[] = ["PCMU", "PCMA", "G722"];
/** Networks take their time before it rings. own choice */
const RINGING_GRACE_MS = 20_000;
const RINGING_STATUS = 180;
/** A call that nothing else has ended. own choice */
const MAX_CALL_MS = 900_000;
const SSRC_BYTES = 4;
const MAX_PREPARE_ATTEMPTS = 3;

/** Calls `dialled` and speaks with whoever answers. */
export function placeTelephoneCall(item: DeliveryItem, dialled: string, needs: TelephoneCallDeps): TelephoneCall {
  const { clock, userAgent, voice, outcome, trunk } = needs;
  const { deliveryId, notificationId } = item;
  const script = createCallScript(item, needs);
  const drawSsrc = (): number => randomBytes(SSRC_BYTES).readUInt32BE(0);
  let ssrc = drawSsrc();
  let call: SipCall | null = null;
  let media: MediaPort | null = null;
  let conversation: CallConversation | null = null;
  let target: VoiceTarget | null = null;
  let keys: number | null = null;
  let remoteMedia: RemoteMedia | null = null;
  let srtpOffer: SrtpOffer | null = null;
  let decryptor = createMediaDecryptor(null);
  let report: ReceptionReport | null = null;
  let timeout: Timer | null = null;
  let isOver = false;
  let onOver = (_end: CallResult): void => {};
  const over = new Promise<CallResult>((resolve) => {
    onOver = resolve;
  });

  const finish = (end: CallResult): void => {
    if (isOver) return;
    isOver = true;
    timeout?.cancel();
    conversation?.stop();
    if (target) voice.close(target).catch(() => {});
    void (call?.hangUp() ?? Promise.resolve()).then(() => {
      media?.close();
      onOver(end);
    });
  };
  const fail = (failure: CallFailure): void => finish(explainTelephoneFailure(failure));
  const finishTalked = (words: string): void => finish({ kind: "talked", words, report });
  const setTimeoutFor = (ms: number, then: () => void): void => {
    timeout?.cancel();
    timeout = clock.after(ms, then);
  };
  const unanswered = (): void => finish({ kind: "no-answer", reason: "nobody answered" });

  const dial = async (): Promise<void> => {
    await prepareSpeech();
    const hop = await trunk.resolveHop();
    const address = await userAgent.addressTo(hop.host);
    media = await needs.ports.allocate(address);
    if (isOver) return media.close();
    handleMedia(media);
    srtpOffer = createSrtpOffer(needs.srtp, hop);
    const offer: SdpOffer = { address, port: media.port, id: deliveryId, codecs: CODECS, secrecy: srtpOffer };
    const { uri, credentials } = trunk;
    const user = needs.callerNumber ?? escapeUser(credentials?.user ?? "carillon");
    call = userAgent.call(
      {
        uri: { ...uri, user: dialled, params: new Map([["user", "phone"]]) },
        ...{ hop, credentials },
        caller: { user, name: needs.callerName, address: `sip:${user}@${uri.host}` },
        headers: needs.callerNumber === null ? [] : [["P-Asserted-Identity", `<sip:${user}@${uri.host}>`]],
        offer: formatSdpOffer(offer),
        answerTo: (theirs) => formatSdpAnswer(offer, theirs),
      },
      {
        onRinging(status) {
          outcome(deliveryId, "sent");
          if (timeout === null || status >= RINGING_STATUS)
            setTimeoutFor(status >= RINGING_STATUS ? needs.ringMs : RINGING_GRACE_MS + needs.ringMs, unanswered);
        },
        onAnswered: (description) => void handleAnswer(description).catch((error: Error) => failMedia(error.message)),
        onFailed: fail,
        onEnded: () => finishTalked(conversation?.summary ?? "It was answered, and hung up at once."),
        onInfo(type, body) {
          const key = dtmfKeyOfInfo(type, body);
          if (key !== null) conversation?.pressKey(key);
        },
      },
    );
  };

  /** Making speech may take longer than the host is waited for. */
  const prepareSpeech = async (): Promise<void> => {
    for (let tries = MAX_PREPARE_ATTEMPTS; ; tries--) {
      try {
        await voice.prepare(script.opening, notificationId);
        return;
      } catch (error) {
        if (tries === 0 || !/no answer within/.test((error as Error).message)) throw error;
      }
    }
  };

  const handleMedia = (open: MediaPort): void => {
    const tellKey = createDtmfDetector((key) => conversation?.pressKey(key));
    const greeting = createAnsweringMachineDetector();
    open.onRtp = (datagram, from) => {
      // Whoever else finds the port must not answer for the person.
      const plain = from === target?.group ? decryptor.decryptRtp(datagram) : null;
      const packet = plain && parseMediaPacket(plain);
      if (!packet) return;
      if (packet.type === keys) return tellKey(packet.timestamp, packet.payload);
      const samples = decodeG711(packet.type, packet.payload);
      if (samples) conversation?.handleCallProgress(greeting.analyze(samples));
    };
    open.onRtcp = (datagram, from) => {
      const plain = from === target?.group ? decryptor.decryptRtcp(datagram) : null;
      const found = plain && findProofOfReception(parseReceptionReports(plain), ssrc);
      if (found && report === null) outcome(deliveryId, "playing", { reason: formatReceptionReport(found) });
      report = found ?? report;
    };
  };

  const handleAnswer = async (description: string): Promise<void> => {
    const { media: remote, fault } = parseSdpAnswer(description, CODECS, srtpOffer);
    if (isOver || !media) return;
    if (!remote) return failMedia(fault);
    keys = remote.dtmfPayloadType;
    if (remoteMedia?.secrecy?.theirs.key !== remote.secrecy?.theirs.key)
      decryptor = createMediaDecryptor(remote.secrecy);
    const isSame = isSameMedia(remoteMedia, remote);
    remoteMedia = remote;
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
      setTimeoutFor(MAX_CALL_MS, () => finishTalked("The call lasted too long."));
    }
    await voice.open(next);
    if (isOver) return void voice.close(next).catch(() => {});
    conversation ??= createCallConversation(item, script, {
      ...needs,
      say: (parts) => voice.say(target ?? next, parts, notificationId),
      onOver: finishTalked,
    });
    conversation.start();
  };

  const failMedia = (words: string): void => {
    if (target) finishTalked(`It was answered, but nothing could be said: ${words}`);
    else finish({ kind: "refused", reason: words });
  };

  dial().catch((error: Error) => finish({ kind: "ours", reason: error.message }));
  return { ended: over, cancel: () => finish({ kind: "cancelled" }) };
}
