import { randomBytes } from "node:crypto";
import {
  type AudioCodec,
  type Clock,
  type DeliveryItem,
  isOwnAddress,
  type OwnAddress,
  type PluginContext,
  type Timer,
  type VoiceTarget,
} from "#plugin-api";
import { createDtmfDetector, dtmfKeyOfInfo, parseMediaPacket } from "../sip/media/dtmf.ts";
import type { MediaPort, MediaPortPool } from "../sip/media/media-port.ts";
import {
  findProofOfReception,
  formatReceptionReport,
  parseReceptionReports,
  type ReceptionReport,
} from "../sip/media/rtcp.ts";
import { createSdpSession, isSameMedia, type RemoteMedia, type SdpSession } from "../sip/media/sdp.ts";
import { createMediaDecryptor, createSrtpOffer, type SrtpPolicy } from "../sip/media/srtp-negotiation.ts";
import type { CallFailure, SipCall } from "../sip/user-agent/sip-call.ts";
import { escapeUser } from "../sip/user-agent/sip-uri.ts";
import type { SipUserAgent } from "../sip/user-agent/user-agent.ts";
import { createAnsweringMachineDetector } from "./answering-machine-detection.ts";
import { createCallScript, type SpokenLanguage } from "./call-script.ts";
import { type CallConversation, createCallConversation } from "./conversation.ts";
import { decodeG711 } from "./g711-decoder.ts";
import { sentence } from "./sentences.ts";
import type { SipTrunk } from "./sip-trunk.ts";
import { explainTelephoneFailure, type TelephoneFailure } from "./telephone-failures.ts";

export interface TelephoneCallDeps extends Pick<PluginContext, "voice" | "confirm" | "outcome"> {
  clock: Clock;
  userAgent: Pick<SipUserAgent, "call" | "addressTo">;
  ports: Pick<MediaPortPool, "allocate">;
  trunk: SipTrunk;
  language: SpokenLanguage;
  callerName: string;
  /** Caller number; null leaves it to the trunk. */
  callerNumber: string | null;
  srtp: SrtpPolicy;
  ringMs: number;
  /** How often the message is played if no key is pressed. */
  repetitions: number;
}

/** Result of a call. */
export type CallResult =
  | { kind: "talked"; summary: string; report: ReceptionReport | null }
  | { kind: "cancelled" }
  | TelephoneFailure;

/** A call to one telephone. */
export interface TelephoneCall {
  /** Never rejects. */
  readonly ended: Promise<CallResult>;
  /** Hangs up. */
  cancel(): void;
  /** The machine's addresses changed: a call from an address that is gone fails, since nothing is heard any more. */
  networkChanged(addresses: readonly OwnAddress[]): void;
}

/** Offered codecs in order of preference: telephone networks use G.711. */
const CODECS: readonly AudioCodec[] = ["PCMU", "PCMA", "G722"];
/** Time until a network reports ringing. */
const RINGING_GRACE_MS = 20_000;
const RINGING_STATUS = 180;
/** Maximum duration of a call. */
const MAX_CALL_MS = 900_000;
const SSRC_BYTES = 4;
const MAX_PREPARE_ATTEMPTS = 3;

/** Calls `dialled` and plays the script when it is answered. */
export function placeTelephoneCall(item: DeliveryItem, dialled: string, deps: TelephoneCallDeps): TelephoneCall {
  const { clock, userAgent, voice, outcome, trunk } = deps;
  const { deliveryId, notificationId } = item;
  const script = createCallScript(item, deps);
  const drawSsrc = (): number => randomBytes(SSRC_BYTES).readUInt32BE(0);
  let ssrc = drawSsrc();
  let call: SipCall | null = null;
  let localAddress: string | null = null;
  let media: MediaPort | null = null;
  let conversation: CallConversation | null = null;
  let target: VoiceTarget | null = null;
  let dtmfPayloadType: number | null = null;
  let remoteMedia: RemoteMedia | null = null;
  let session: SdpSession | null = null;
  let decryptor = createMediaDecryptor(null);
  let report: ReceptionReport | null = null;
  let timeout: Timer | null = null;
  let isAnswered = false;
  /** Of the stream before a hold. */
  let closing: Promise<void> = Promise.resolve();
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
  const finishTalked = (summary: string): void => finish({ kind: "talked", summary, report });
  const setTimeoutFor = (ms: number, then: () => void): void => {
    timeout?.cancel();
    timeout = clock.after(ms, then);
  };
  const unanswered = (): void => finish({ kind: "no-answer", reason: sentence("no-answer") });

  const dial = async (): Promise<void> => {
    await prepareSpeech();
    const hop = await trunk.resolveHop();
    const address = await userAgent.addressTo(hop.host);
    media = await deps.ports.allocate(address);
    localAddress = address;
    if (isOver) return media.close();
    handleMedia(media);
    const secrecy = createSrtpOffer(deps.srtp, hop);
    const agreed = createSdpSession({ address, port: media.port, id: deliveryId, codecs: CODECS, secrecy });
    session = agreed;
    const { uri, credentials } = trunk;
    const user = deps.callerNumber ?? escapeUser(credentials?.user ?? "carillon");
    call = userAgent.call(
      {
        uri: { ...uri, user: dialled, params: new Map([["user", "phone"]]) },
        ...{ hop, credentials },
        caller: { user, name: deps.callerName, address: `sip:${user}@${uri.host}` },
        headers: deps.callerNumber === null ? [] : [["P-Asserted-Identity", `<sip:${user}@${uri.host}>`]],
        offer: agreed.offer(),
        offerAgain: agreed.offer,
        answerTo: agreed.answer,
      },
      {
        onRinging(status) {
          outcome(deliveryId, "sent");
          if (timeout === null || status >= RINGING_STATUS)
            setTimeoutFor(status >= RINGING_STATUS ? deps.ringMs : RINGING_GRACE_MS + deps.ringMs, unanswered);
        },
        onAnswered: (description) => void handleAnswer(description).catch((error: Error) => failMedia(error.message)),
        onFailed: fail,
        onEnded: () => finishTalked(conversation?.summary ?? sentence("hung-up-at-once")),
        onInfo(type, body) {
          const key = dtmfKeyOfInfo(type, body);
          if (key !== null) conversation?.pressKey(key);
        },
      },
    );
  };

  /** Speech synthesis may exceed the host call timeout. */
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
    const handleEvent = createDtmfDetector((key) => conversation?.pressKey(key));
    const machineDetector = createAnsweringMachineDetector();
    open.onRtp = (datagram, from) => {
      // Packets from other sources must not act for the callee.
      const plain = from === target?.group ? decryptor.decryptRtp(datagram) : null;
      const packet = plain && parseMediaPacket(plain);
      if (!packet) return;
      if (packet.type === dtmfPayloadType) return handleEvent(packet.timestamp, packet.payload);
      const samples = decodeG711(packet.type, packet.payload);
      if (samples) conversation?.handleCallProgress(machineDetector.analyze(samples));
    };
    open.onRtcp = (datagram, from) => {
      const plain = from === target?.group ? decryptor.decryptRtcp(datagram) : null;
      const found = plain && findProofOfReception(parseReceptionReports(plain), ssrc);
      if (found && report === null) outcome(deliveryId, "playing", { reason: formatReceptionReport(found) });
      report = found ?? report;
    };
  };

  const handleAnswer = async (description: string): Promise<void> => {
    if (isOver || !media || !session) return;
    const { media: remote, isHeld, error } = session.parse(description);
    if (error !== undefined) return failMedia(error);
    if (!remote || isHeld) return holdSpeech();
    dtmfPayloadType = remote.dtmfPayloadType;
    if (remoteMedia?.secrecy?.theirs.key !== remote.secrecy?.theirs.key)
      decryptor = createMediaDecryptor(remote.secrecy);
    const isSame = isSameMedia(remoteMedia, remote);
    remoteMedia = remote;
    if (isSame) return;
    const before = target;
    // The new stream restarts its sequence numbers, which must not be reused with the same key.
    if (isAnswered) ssrc = drawSsrc();
    const next: VoiceTarget = {
      ...{ group: remote.address, port: remote.port, codec: remote.codec, sourcePort: media.port, ssrc },
      ...(remote.secrecy ? { secrecy: remote.secrecy.own } : {}),
    };
    target = next;
    beginTalking();
    await (before ? voice.close(before) : closing);
    await voice.open(next);
    if (isOver) return void voice.close(next).catch(() => {});
    conversation ??= createCallConversation(item, script, {
      ...deps,
      say: (parts) => voice.say(target ?? next, parts, notificationId),
      onOver: finishTalked,
    });
    conversation.start();
  };

  const beginTalking = (): void => {
    if (isAnswered) return;
    isAnswered = true;
    outcome(deliveryId, "accepted");
    setTimeoutFor(MAX_CALL_MS, () => finishTalked(sentence("too-long")));
  };

  /** The callee holds the call: the script starts again when it is resumed. */
  const holdSpeech = (): void => {
    beginTalking();
    conversation?.pause();
    remoteMedia = null;
    if (target) closing = voice.close(target).catch(() => {});
    target = null;
  };

  const failMedia = (reason: string): void => {
    if (isAnswered) finishTalked(sentence("speech-failed", { error: reason }));
    else finish({ kind: "refused", reason });
  };

  dial().catch((error: Error) => finish({ kind: "ours", reason: error.message }));
  return {
    ended: over,
    cancel: () => finish({ kind: "cancelled" }),
    networkChanged(addresses) {
      if (localAddress !== null && !isOwnAddress(addresses, localAddress))
        finish({
          kind: "ours",
          reason: sentence("network-changed", { address: localAddress }),
        });
    },
  };
}
