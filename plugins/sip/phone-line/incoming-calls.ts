import { randomBytes, randomInt } from "node:crypto";
import {
  type AudioCodec,
  type Clock,
  type DialledCall,
  isOwnAddress,
  type OwnAddress,
  type PhoneLine,
  type PluginLog,
  type Timer,
  type VoiceTarget,
} from "#plugin-api";
import { dtmfKeyOfInfo } from "../media/dtmf.ts";
import type { MediaPort, MediaPortPool } from "../media/media-port.ts";
import { createSdpSession, isSameMedia, type RemoteMedia, type SdpSession } from "../media/sdp.ts";
import { createMediaDecryptor, createSrtpOffer, type SrtpPolicy } from "../media/srtp-negotiation.ts";
import type { SipRegistrar } from "../registrar.ts";
import type { IncomingCall } from "../user-agent/incoming-call.ts";
import { firstHeader, headerValues } from "../user-agent/sip-message.ts";
import { parseNameAddress, parseSipUri, unescapeUser } from "../user-agent/sip-uri.ts";
import type { SipUserAgent } from "../user-agent/user-agent.ts";
import { createCallAttempts, type TrustedAddresses } from "./caller-admission.ts";
import { createVoiceReceiver } from "./voice-receiver.ts";

export interface IncomingCallsDeps {
  clock: Clock;
  log: PluginLog;
  phone: PhoneLine;
  userAgent: Pick<SipUserAgent, "addressTo">;
  ports: Pick<MediaPortPool, "allocate">;
  registrar: Pick<SipRegistrar, "authenticate">;
  /** False without accounts: then only trusted addresses may call. */
  hasAccounts: boolean;
  trusted: TrustedAddresses;
  srtp: SrtpPolicy;
  maxCalls: number;
  /** A call without audio for this long is ended. */
  silenceMs: number;
}

/** Calls to the appliance, from registered telephones and trusted addresses. */
export interface IncomingCalls {
  handle(call: IncomingCall): void;
  /** Calls from an address that is gone are ended. */
  networkChanged(addresses: readonly OwnAddress[]): void;
  close(): Promise<void>;
}

/** Codecs in order of preference, if this side offers. */
const CODECS: readonly AudioCodec[] = ["PCMU", "PCMA", "G722"];
const SSRC_BYTES = 4;
const MAX_NUMBER_LENGTH = 50;
/** How often the same refused address is logged again, and of how many. */
const LOG_AGAIN_MS = 3_600_000;
const MAX_LOGGED = 1_000;

type Caller = Pick<DialledCall, "callingNumber" | "source" | "isAuthenticated">;

/** An answered call. */
interface AnsweredCall {
  call: IncomingCall;
  /** This side's address. */
  address: string;
  hangUp(): Promise<void>;
}

export function createIncomingCalls(deps: IncomingCallsDeps): IncomingCalls {
  const { clock, log, phone, registrar, trusted } = deps;
  const attempts = createCallAttempts(clock);
  const answered = new Map<string, AnsweredCall>();
  /** Calls that are being answered. */
  let pending = 0;
  const logged = new Map<string, number>();
  phone.onHangUp((callId) => void answered.get(callId)?.hangUp());

  /** A caller who may call; null once refused. */
  const admit = (call: IncomingCall): Caller | null => {
    const { invite, from } = call;
    if (trusted.has(from.host)) return { callingNumber: callerNumber(call), source: from.host, isAuthenticated: false };
    const waitSeconds = attempts.take(from);
    if (waitSeconds > 0) {
      report("too many attempts", call);
      call.refuse(503, "Service Unavailable", [["Retry-After", String(waitSeconds)]]);
      return null;
    }
    if (!deps.hasAccounts) {
      report("not a trusted address", call);
      call.refuse(403, "Forbidden");
      return null;
    }
    const arrival = { message: invite, from, reply: () => {} };
    const account = registrar.authenticate(arrival, (status, reason, headers) => call.refuse(status, reason, headers));
    return account && { callingNumber: account.user, source: account.user, isAuthenticated: true };
  };

  /** Strangers call often. */
  const report = (reason: string, { from, invite }: IncomingCall): void => {
    const now = clock.monotonicMs();
    const key = `${from.host} ${reason}`;
    if (now < (logged.get(key) ?? 0)) return;
    logged.delete(key);
    logged.set(key, now + LOG_AGAIN_MS);
    for (const oldest of logged.keys()) {
      if (logged.size <= MAX_LOGGED) break;
      logged.delete(oldest);
    }
    const number = dialledNumber(invite.uri);
    log.warn({ event: "sip.call_refused", address: from.host, number, reason }, "call to the appliance refused");
  };

  const answer = async (call: IncomingCall, caller: Caller, calledNumber: string): Promise<void> => {
    const decision = await phone.dial({ callId: call.id, calledNumber, ...caller });
    const withdraw = (): void => phone.end(call.id);
    if (!decision.answer) {
      if (decision.reason === "unknown-number") return call.refuse(404, "Not Found");
      if (decision.reason === "too-many-calls") return call.refuse(486, "Busy Here");
      report("locked after wrong PINs", call);
      return call.refuse(403, "Too Many Wrong PINs", [["Retry-After", String(decision.waitSeconds ?? 60)]]);
    }
    if (!call.isActive) return withdraw();
    const address = await deps.userAgent.addressTo(call.from.host);
    const media = await deps.ports.allocate(address).catch(() => null);
    if (!media) {
      withdraw();
      return call.refuse(503, "Service Unavailable", [["Retry-After", "10"]]);
    }
    const talk = openTalk(call, media, address);
    if (await call.answer(talk.handlers)) return;
    talk.close();
    withdraw();
  };

  /** The media of a call and its way to the host. */
  const openTalk = (call: IncomingCall, media: MediaPort, address: string) => {
    let remote: RemoteMedia | null = null;
    let dtmfPayloadType: number | null = null;
    let decryptor = createMediaDecryptor(null);
    let silence: Timer | null = null;
    let isOver = false;
    const close = (): void => {
      if (isOver) return;
      isOver = true;
      silence?.cancel();
      media.close();
      answered.delete(call.id);
    };
    const hangUp = async (): Promise<void> => {
      close();
      await call.hangUp();
    };
    /** A telephone that was cut off sends nothing any more. */
    const expectAudio = (): void => {
      silence?.cancel();
      silence = clock.after(deps.silenceMs, () => {
        log.info({ event: "sip.call_silent", callId: call.id }, "call ended: no audio received");
        phone.end(call.id);
        void hangUp();
      });
    };
    const session = createSession(call, media, address);
    const receiver = createVoiceReceiver({
      dtmfPayloadType: () => dtmfPayloadType,
      onVoice: (codec, payload) => phone.hear(call.id, codec, payload),
      onKey: (key) => phone.press(call.id, key),
    });
    let heardAt = 0;
    media.onRtp = (datagram, from) => {
      // Packets from other sources must not speak for the caller.
      const plain = from === remote?.address ? decryptor.decryptRtp(datagram) : null;
      if (!plain || !receiver.receive(plain)) return;
      // A timer for each packet would cost more than the packet.
      const now = clock.monotonicMs();
      if (now - heardAt < 1_000) return;
      heardAt = now;
      expectAudio();
    };
    const connect = async (next: RemoteMedia | null): Promise<void> => {
      if (!next) return phone.connect(call.id, null);
      const target: VoiceTarget = {
        ...{ group: next.address, port: next.port, codec: next.codec, sourcePort: media.port },
        ssrc: randomBytes(SSRC_BYTES).readUInt32BE(0),
        ...(next.secrecy ? { secrecy: next.secrecy.own } : {}),
      };
      await phone.connect(call.id, target);
    };
    const handleSession = (description: string): void => {
      if (isOver) return;
      const { media: described, isHeld, error } = session.parse(description);
      const next = described && !isHeld ? described : null;
      const isSame = next ? isSameMedia(remote, next) : false;
      if (next && remote?.secrecy?.theirs.key !== next.secrecy?.theirs.key)
        decryptor = createMediaDecryptor(next.secrecy);
      remote = next;
      dtmfPayloadType = next?.dtmfPayloadType ?? dtmfPayloadType;
      if (isSame) return;
      // A caller who holds the call may be silent as long as they like; the host ends it after a while.
      if (next) expectAudio();
      else silence?.cancel();
      const connected = error === undefined ? connect(next) : Promise.reject(new Error(error));
      connected.catch((problem: Error) => {
        log.warn({ event: "sip.call_failed", callId: call.id, reason: problem.message }, "call could not be connected");
        phone.end(call.id);
        void hangUp();
      });
    };
    answered.set(call.id, { call, address, hangUp });
    return {
      close,
      handlers: {
        answerTo: session.answer,
        offer: session.offer,
        onSession: handleSession,
        onInfo(type: string, body: string) {
          const key = dtmfKeyOfInfo(type, body);
          if (key !== null) phone.press(call.id, key);
        },
        onEnded() {
          phone.end(call.id);
          close();
        },
      },
    };
  };

  const createSession = (call: IncomingCall, { port }: MediaPort, address: string): SdpSession => {
    const secrecy = createSrtpOffer(deps.srtp, call.from);
    return createSdpSession({ address, port, id: randomInt(2 ** 40), codecs: CODECS, secrecy });
  };

  return {
    handle(call) {
      const calledNumber = dialledNumber(call.invite.uri);
      const caller = admit(call);
      if (!caller) return;
      if (calledNumber === "") return call.refuse(404, "Not Found");
      if (deps.srtp === "require" && call.from.protocol !== "tls") {
        report("SRTP is required, but the connection does not use TLS", call);
        return call.refuse(488, "Not Acceptable Here");
      }
      if (answered.size + pending >= deps.maxCalls) {
        report("too many calls", call);
        return call.refuse(486, "Busy Here");
      }
      pending++;
      answer(call, caller, calledNumber)
        .catch((error: Error) => {
          log.error({ event: "sip.call_failed", callId: call.id, reason: error.message }, "call could not be answered");
          phone.end(call.id);
          call.refuse(500, "Server Internal Error");
        })
        .finally(() => {
          pending--;
        });
    },
    networkChanged(addresses) {
      for (const { call, address, hangUp } of [...answered.values()]) {
        if (isOwnAddress(addresses, address)) continue;
        phone.end(call.id);
        void hangUp();
      }
    },
    async close() {
      await Promise.all([...answered.values()].map(({ hangUp }) => hangUp()));
    },
  };
}

/** User part of the request URI, as dialled. */
function dialledNumber(uri: string): string {
  const user = unescapeUser(parseSipUri(uri)?.user ?? null) ?? "";
  // A password or parameters of a telephone number follow.
  return (user.split(/[;:]/, 1)[0] ?? "").slice(0, MAX_NUMBER_LENGTH);
}

/** The caller as a trusted peer names them. @source RFC 3325 §9.1 */
function callerNumber({ invite }: IncomingCall): string {
  const named = [...headerValues(invite, "P-Asserted-Identity"), firstHeader(invite, "From") ?? ""];
  for (const value of named) {
    const user = unescapeUser(parseNameAddress(value)?.uri.user ?? null);
    if (user) return user.slice(0, MAX_NUMBER_LENGTH);
  }
  return "";
}
