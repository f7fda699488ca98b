import {
  type AudioCodec,
  type Clock,
  type DeliveryItem,
  isNetworkUnreachable,
  isOwnAddress,
  type OutcomeDetails,
  type OwnAddress,
  type PluginContext,
  type StopRequest,
  sleep,
  type Timer,
} from "#plugin-api";
import { explainCallFailure } from "../call-failures.ts";
import type { CallRateLimiter } from "../call-rate-limiter.ts";
import type { MediaPort, MediaPortPool } from "../media/media-port.ts";
import { findProofOfReception, formatReceptionReport, parseReceptionReports } from "../media/rtcp.ts";
import { createSdpSession, isSameMedia, type RemoteMedia, type SdpSession } from "../media/sdp.ts";
import {
  createMediaDecryptor,
  createSrtpOffer,
  type MediaDecryptor,
  type SrtpPolicy,
} from "../media/srtp-negotiation.ts";
import { sentence } from "../sentences.ts";
import type { Hop } from "../user-agent/hop.ts";
import type { CallFailure, SipCall } from "../user-agent/sip-call.ts";
import type { SipUri } from "../user-agent/sip-uri.ts";
import type { SipUserAgent } from "../user-agent/user-agent.ts";
import {
  callerNameFor,
  pagingHeaders,
  resolveDestinations,
  type SipDestination,
  type SipDirectory,
} from "./sip-directory.ts";

export interface PagingCallsDeps {
  clock: Clock;
  userAgent: Pick<SipUserAgent, "call" | "addressTo">;
  ports: Pick<MediaPortPool, "allocate">;
  rateLimiter: CallRateLimiter;
  directory: SipDirectory;
  callerName: string;
  srtp: SrtpPolicy;
  /** Resolves the target of a redirection; rejects if it is not allowed. */
  redirect(uri: SipUri): Promise<Hop>;
  outcome: PluginContext["outcome"];
  stream: PluginContext["stream"];
}

/** Calls to devices with auto-answer. */
export interface PagingCalls {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /**
   * The machine's addresses changed: calls from an address that is gone are placed again once the device has a route.
   * Those that were not answered yet fail until then.
   */
  networkChanged(addresses: readonly OwnAddress[]): void;
  /** Ends calls that were never stopped, long after `notAfter`. */
  sweep(): void;
  /** Ends all calls at shutdown. */
  close(): Promise<void>;
}

/** A delivery until its call has ended. */
interface PagingCall {
  readonly item: DeliveryItem;
  state: "waiting" | "calling" | "accepted" | "playing" | "over";
  /** Only the plugin calls the device again then: the appliance counts it as reached. */
  wasAnswered: boolean;
  /** Set when the delivery is cancelled. */
  cancelReason: StopRequest["reason"] | null;
  call: SipCall | null;
  /** Further registrations of the device, which are called if this one fails. */
  alternatives: SipDestination[];
  /** Failure to report if they fail too. */
  failure: CallFailure | null;
  media: MediaPort | null;
  /** Where the call is placed from and to; null before. */
  path: { address: string; host: string } | null;
  /** Target of the stream; null while the device holds the call. */
  target: RemoteMedia | null;
  /** Accepted source of reports, also after the stream ended. */
  peerAddress: string | null;
  /** Media of the call; null before. */
  session: SdpSession | null;
  /** SRTP key of the device. */
  remoteSrtpKey: string | undefined;
  /** Decrypts the device's reports. */
  decryptor: MediaDecryptor;
  ringing: Timer | null;
  /** The next look for a route by which the call can be placed again. */
  routeCheck: Timer | null;
  redials: number;
  /** The last closing of a stream: a device often names the same port again, whose stream opens only afterwards. */
  closing: Promise<void>;
}

/** G.722 first: wideband speech is far easier to understand. */
const CODECS: readonly AudioCodec[] = ["G722", "PCMU", "PCMA"];
/** A device that rings this long, or whose server tries this long, has no auto-answer. */
const RING_TIMEOUT_MS = 10_000;
/** Time for final reports after the call. */
const FINAL_REPORTS_MS = 300;
/** A device that hangs up during an emergency is called again. */
const MAX_REDIALS = 3;
const REDIAL_MS = 1_000;
/** A host call times out after 5 s, but a stream may wait longer for its start time. */
const MAX_STREAM_OPEN_ATTEMPTS = 60;
/** A device that gets no ACK gives its call up after this time. @source RFC 3261 §13.3.1.4 */
const UNACKNOWLEDGED_MS = 32_000;
const RETENTION_MS = 3_600_000;
const NO_BYTES = Buffer.alloc(0);

/** Runs paging calls: call, open the stream, follow up until playing, hang up. */
export function createPagingCalls(deps: PagingCallsDeps): PagingCalls {
  const { clock, userAgent, outcome, stream, rateLimiter } = deps;
  const pages = new Map<number, PagingCall>();
  /** Hang-ups in progress by device, which cannot be called in the meantime. */
  const hangingUp = new Map<string, Promise<void>>();
  /**
   * Devices of calls whose address was lost: until this monotonic time they may be busy with them, and what fails is called
   * again.
   */
  const lostCalls = new Map<string, number>();

  const end = (
    page: PagingCall,
    level: "failed" | "skipped" | "expired",
    reason: string,
    flags: Pick<OutcomeDetails, "retryable" | "inconclusive" | "noNetwork" | "retryAfterMs"> = {},
  ): void => {
    if (page.state === "over") return;
    page.state = "over";
    pages.delete(page.item.deliveryId);
    outcome(page.item.deliveryId, level, { reason, ...flags });
    void hangUp(page);
  };

  /** Ends call and stream; the ports stay open for final reports. */
  const hangUp = async (page: PagingCall): Promise<void> => {
    const { call, media } = page;
    page.ringing?.cancel();
    page.routeCheck?.cancel();
    closeStream(page);
    if (call) {
      const { id } = page.item.device;
      const goodbye = call.hangUp();
      hangingUp.set(id, goodbye);
      await goodbye;
      if (hangingUp.get(id) === goodbye) hangingUp.delete(id);
    }
    if (!media) return;
    await sleep(clock, FINAL_REPORTS_MS);
    media.close();
  };

  const closeStream = (page: PagingCall): void => {
    const { target, item } = page;
    page.target = null;
    if (!target) return;
    page.closing = stream.close({ group: target.address, port: target.port }, item.notificationId).catch(() => {});
  };

  const dial = async (page: PagingCall): Promise<void> => {
    const { item } = page;
    await hangingUp.get(item.device.id);
    if (page.cancelReason || page.state === "over") return;
    if (clock.now() > item.notAfter) return end(page, "expired", EXPIRED, { inconclusive: true });
    page.state = "calling";
    const [destination, ...others] = await nextDestinations(page);
    page.alternatives = others;
    const { uri, hop, credentials } = destination;
    const [address, media] = await openMedia(hop.host);
    page.path = { address, host: hop.host };
    // It may have been cancelled in the meantime.
    if (page.cancelReason) return media.close();
    page.media = media;
    const secrecy = createSrtpOffer(deps.srtp, hop);
    const session = createSdpSession({ address, port: media.port, id: item.deliveryId, codecs: CODECS, secrecy });
    page.session = session;
    media.onRtcp = (packet, from) => {
      if (from === page.peerAddress) handleRtcp(page, packet);
    };
    page.call = userAgent.call(
      {
        ...{ uri, hop, credentials },
        caller: { user: "carillon", name: callerNameFor(item, deps.callerName) },
        headers: pagingHeaders(item, address),
        offer: session.offer(),
        offerAgain: session.offer,
        answerTo: session.answer,
        redirect: deps.redirect,
      },
      {
        onRinging: () => {
          page.ringing ??= clock.after(RING_TIMEOUT_MS, () => {
            if (!callAlternative(page, null)) end(page, "failed", NOT_ANSWERED);
          });
        },
        onAnswered: (description) => handleAnswer(page, description),
        onFailed: (failure) => handleFailure(page, failure),
        onEnded: () => handleRemoteHangUp(page),
      },
    );
  };

  /** The registrations of the device that were not called yet. */
  const nextDestinations = async ({
    alternatives: [next, ...others],
    item,
  }: PagingCall): Promise<[SipDestination, ...SipDestination[]]> =>
    next ? [next, ...others] : resolveDestinations(item.device, deps.directory);

  /** Calls the next registration of the device instead; false without one. The first failure says most. */
  const callAlternative = (page: PagingCall, failure: CallFailure | null): boolean => {
    if (page.alternatives.length === 0 || page.cancelReason || page.state !== "calling") return false;
    page.failure ??= failure;
    abandonCall(page);
    scheduleDial(page);
    return true;
  };

  /** Own address towards a host, and ports there. */
  const openMedia = async (host: string): Promise<[address: string, media: MediaPort]> => {
    try {
      const address = await userAgent.addressTo(host);
      return [address, await deps.ports.allocate(address)];
    } catch (error) {
      if (isNetworkUnreachable(error)) throw error;
      throw new LocalError(error instanceof Error ? error.message : String(error));
    }
  };

  const handleRtcp = (page: PagingCall, packet: Buffer): void => {
    const { item, state } = page;
    const report =
      item.audio && state === "accepted"
        ? findProofOfReception(parseReceptionReports(page.decryptor.decryptRtcp(packet) ?? NO_BYTES), item.audio.ssrc)
        : null;
    if (!report) return;
    page.state = "playing";
    outcome(item.deliveryId, "playing", { reason: formatReceptionReport(report) });
  };

  const handleAnswer = (page: PagingCall, description: string): void => {
    page.ringing?.cancel();
    page.wasAnswered = true;
    const { media, isHeld, error } = page.session?.parse(description) ?? { error: NO_SESSION };
    if (error !== undefined) {
      end(page, "failed", error);
      return;
    }
    if (media && page.remoteSrtpKey !== media.secrecy?.theirs.key) {
      page.remoteSrtpKey = media.secrecy?.theirs.key;
      page.decryptor = createMediaDecryptor(media.secrecy);
    }
    if (page.state === "calling") {
      page.state = "accepted";
      outcome(page.item.deliveryId, "accepted", isHeld ? { reason: HELD } : {});
    }
    // The stream opens again when the device resumes the call.
    if (!media || isHeld) return void closeStream(page);
    if (isSameMedia(page.target, media)) return;
    closeStream(page);
    page.target = media;
    page.peerAddress = media.address;
    void openStream(page, media, MAX_STREAM_OPEN_ATTEMPTS);
  };

  const openStream = async (page: PagingCall, target: RemoteMedia, tries: number): Promise<void> => {
    await page.closing;
    const { item, media } = page;
    if (page.target !== target || !item.audio || !media) return;
    const { address: group, port, codec } = target;
    const where = {
      ...{ group, port, codec, ttl: item.audio.ttl, sourcePort: media.port },
      ...(target.secrecy ? { secrecy: target.secrecy.own } : {}),
    };
    await stream.open(where, item.notificationId).catch((error: Error) => {
      if (tries > 1 && /no answer within/.test(error.message)) void openStream(page, target, tries - 1);
      else if (page.target !== target) return;
      else if (isNetworkUnreachable(error)) awaitRoute(page);
      // Resumed when the audio was over.
      else if (page.state === "playing") endProven(page, sentence("stream-failed-again", { error: error.message }));
      else end(page, "failed", sentence("stream-failed", { error: error.message }), OURS);
    });
  };

  const handleFailure = (page: PagingCall, last: CallFailure): void => {
    // A refusal by the device counts for all its registrations. @source RFC 3261 §16.7 step 5
    const isFinal = last.status !== null && last.status >= 600;
    if (!isFinal && callAlternative(page, last)) return;
    const failure = isFinal ? last : (page.failure ?? last);
    page.failure = null;
    const { reason, busy, ...flags } = explainCallFailure(failure);
    const isLost = (lostCalls.get(page.item.device.id) ?? 0) > clock.monotonicMs();
    if (isLost && (busy || (page.wasAnswered && flags.retryable))) dialLater(page);
    else if (busy && page.item.profile.skipPhonesInUse) end(page, "skipped", reason);
    else end(page, "failed", reason, flags);
  };

  const handleRemoteHangUp = (page: PagingCall): void => {
    page.call = null;
    if (page.state === "calling" && page.redials === 0) {
      end(page, "failed", sentence("hung-up-at-once"), { retryable: true });
      return;
    }
    const mayCallAgain = page.item.class === "emergency" && page.redials < MAX_REDIALS && !page.cancelReason;
    if (!mayCallAgain) {
      endProven(page, HUNG_UP);
      return;
    }
    page.redials++;
    dialLater(page);
  };

  /** Ends an answered call; the proven level stays. */
  const endProven = (page: PagingCall, reason: string): void => {
    void hangUp(page);
    const { deliveryId } = page.item;
    const proven = page.state === "playing" ? "playing" : "accepted";
    page.state = "over";
    pages.delete(deliveryId);
    if (!page.cancelReason) outcome(deliveryId, proven, { reason, last: true });
  };

  const dialLater = (page: PagingCall): void => {
    page.alternatives = [];
    abandonCall(page);
    clock.after(REDIAL_MS, () => scheduleDial(page));
  };

  /** Ends the call, if there is one, but not the delivery. */
  const abandonCall = (page: PagingCall): void => {
    void hangUp(page);
    page.call = null;
    page.media = null;
    page.ringing = null;
    page.path = null;
    page.session = null;
  };

  const scheduleDial = (page: PagingCall): void =>
    rateLimiter.schedule(page.item.priority, () => {
      if (page.cancelReason || page.state === "over") return;
      dial(page).catch((error: Error) => {
        if (isNetworkUnreachable(error)) return failWithoutNetwork(page, error.message);
        end(page, "failed", error.message, {
          retryable: true,
          ...(error instanceof LocalError && { inconclusive: true }),
        });
      });
    });

  /** The device still has the old call: it is freed from the new address before it is called again. */
  const placeAgain = async (page: PagingCall): Promise<void> => {
    const { path } = page;
    if (!path) return;
    lostCalls.set(page.item.device.id, clock.monotonicMs() + UNACKNOWLEDGED_MS);
    const problem = await userAgent.addressTo(path.host).then(
      () => null,
      (error: Error) => error,
    );
    if (page.path !== path || page.cancelReason || page.state === "over") return;
    if (!problem) {
      page.alternatives = [];
      abandonCall(page);
      scheduleDial(page);
    } else if (page.state === "calling") failWithoutNetwork(page, problem.message);
    else awaitRoute(page);
  };

  const failWithoutNetwork = (page: PagingCall, reason: string): void => {
    if (page.wasAnswered) dialLater(page);
    else end(page, "failed", reason, { retryable: true, noNetwork: true });
  };

  /** An answered call without a route is placed again when there is one. */
  const awaitRoute = (page: PagingCall): void => {
    page.routeCheck?.cancel();
    page.routeCheck = clock.after(REDIAL_MS, () => void placeAgain(page));
  };

  const cancel = async (page: PagingCall, reason: StopRequest["reason"]): Promise<void> => {
    if (page.cancelReason) return;
    page.cancelReason = reason;
    const { deliveryId } = page.item;
    const { state } = page;
    if (state === "waiting")
      return end(page, reason === "expired" ? "expired" : "skipped", sentence(STOPPED_BEFORE_CALL[reason]), {
        inconclusive: true,
      });
    await hangUp(page);
    pages.delete(deliveryId);
    // A final report may have arrived in the meantime.
    const last = page.state;
    page.state = "over";
    if (last === "playing") outcome(deliveryId, "playing");
    else if (state === "calling") outcome(deliveryId, "expired", { reason: sentence(STOPPED_UNANSWERED[reason]) });
    else outcome(deliveryId, "accepted");
  };

  const startCall = (item: DeliveryItem): void => {
    if (!item.audio) {
      outcome(item.deliveryId, "failed", { reason: sentence("audio-only"), unsupported: true });
      return;
    }
    const held = pages.get(item.deliveryId);
    if (held) return;
    const page: PagingCall = {
      item,
      state: "waiting",
      wasAnswered: false,
      cancelReason: null,
      call: null,
      alternatives: [],
      failure: null,
      media: null,
      path: null,
      target: null,
      peerAddress: null,
      session: null,
      remoteSrtpKey: undefined,
      decryptor: createMediaDecryptor(null),
      ringing: null,
      routeCheck: null,
      redials: 0,
      closing: Promise.resolve(),
    };
    pages.set(item.deliveryId, page);
    // Calls of an earlier run lost their audio with that run, so they are placed again.
    scheduleDial(page);
  };

  return {
    start: (items) => items.forEach(startCall),
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const page = pages.get(id);
        if (page) void cancel(page, reason);
      }
    },
    networkChanged(addresses) {
      for (const page of pages.values())
        if (page.path && !isOwnAddress(addresses, page.path.address)) void placeAgain(page);
    },
    sweep() {
      const before = clock.now() - RETENTION_MS;
      for (const [device, until] of lostCalls) if (until <= clock.monotonicMs()) lostCalls.delete(device);
      for (const page of pages.values()) if (page.item.notAfter < before) void cancel(page, "expired");
    },
    async close() {
      const all = [...pages.values()];
      pages.clear();
      // Waiting calls must not start.
      for (const page of all) page.cancelReason ??= "ended";
      await Promise.all(all.map(({ call }) => call?.hangUp()));
    },
  };
}

/** The appliance could not place the call, or not send the audio. */
const OURS = { retryable: true, inconclusive: true };
class LocalError extends Error {}
const EXPIRED = sentence("expired");
const NO_SESSION = sentence("no-session");
const HELD = sentence("held");
const HUNG_UP = sentence("hung-up");
const NOT_ANSWERED = sentence("not-answered");

const STOPPED_BEFORE_CALL = {
  aborted: "before-call-aborted",
  expired: "before-call-expired",
  preempted: "before-call-preempted",
  ended: "before-call-ended",
} as const satisfies Readonly<Record<StopRequest["reason"], string>>;
const STOPPED_UNANSWERED = {
  aborted: "unanswered-aborted",
  expired: "unanswered-expired",
  preempted: "unanswered-preempted",
  ended: "unanswered-ended",
} as const satisfies Readonly<Record<StopRequest["reason"], string>>;
