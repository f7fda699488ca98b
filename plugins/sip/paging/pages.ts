import type { AudioCodec, Clock, DeliveryItem, PluginContext, StopRequest, Timer } from "#plugin-api";
import type { Agent } from "../agent/agent.ts";
import type { Call, CallFailure } from "../agent/call.ts";
import { failureOf } from "../failure-words.ts";
import type { MediaPort, MediaPorts } from "../media/media-port.ts";
import { proofOfSound, readReports, reportWords } from "../media/rtcp.ts";
import { describeAnswer, describeOffer, isSameMedia, type Offer, type RemoteMedia, readAnswer } from "../media/sdp.ts";
import {
  createMediaOpener,
  drawSecrecy,
  type MediaOpener,
  type OwnSecrecy,
  type SecrecyChoice,
} from "../media/secrecy.ts";
import type { Pace } from "../pace.ts";
import { callerName, type Directory, findDevice, pagingHeaders } from "./device.ts";

/** What pages need. */
export interface PagesNeeds {
  clock: Clock;
  agent: Pick<Agent, "call" | "addressTo">;
  ports: MediaPorts;
  pace: Pace;
  directory: Directory;
  callerName: string;
  srtp: SecrecyChoice;
  outcome: PluginContext["outcome"];
  stream: PluginContext["stream"];
}

/** Calls to devices that answer by themselves. */
export interface Pages {
  take(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** Ends calls that nobody called off long after they were of any use. */
  sweep(): void;
  /** Ends all calls; for the end of the plugin. */
  close(): Promise<void>;
}

/** One delivery, from its arrival until its call has ended. */
interface Page {
  readonly item: DeliveryItem;
  state: "waiting" | "calling" | "accepted" | "playing" | "over";
  /** Set once it is called off. */
  called: StopRequest["reason"] | null;
  call: Call | null;
  media: MediaPort | null;
  /** Where its sound goes. */
  target: RemoteMedia | null;
  /** Whose reports count, also after the sound has ended. */
  peer: string | null;
  secrecy: OwnSecrecy | null;
  /** What the device encrypts with. */
  secret: string | undefined;
  /** Reads its reports. */
  opener: MediaOpener;
  ringing: Timer | null;
  redials: number;
}

/** own choice: speech is far better understood in the wider band. */
const CODECS: readonly AudioCodec[] = ["G722", "PCMU", "PCMA"];
/** A device that rings so long, or whose server tries for so long, does not answer by itself. own choice */
const RING_MS = 10_000;
/** What a device still says of the sound after the call. own choice */
const LAST_WORDS_MS = 300;
/** A device that ends the call of an emergency is called again. own choice */
const MOST_REDIALS = 3;
const REDIAL_MS = 1_000;
/** The core's answer is given up after 5 s, while a sound may have to wait for its moment. */
const MOST_OPENINGS = 60;
const KEPT_MS = 3_600_000;
const NOTHING = Buffer.alloc(0);

/** Makes the flow: call, accepted, stream, follow up until playing, goodbye. */
export function createPages(needs: PagesNeeds): Pages {
  const { clock, agent, outcome, stream, pace } = needs;
  const pages = new Map<number, Page>();
  /** Calls that are being ended, by device: it can't be called meanwhile. */
  const leaving = new Map<string, Promise<void>>();

  const end = (page: Page, level: "failed" | "skipped" | "expired", reason: string, retryable = false): void => {
    if (page.state === "over") return;
    page.state = "over";
    pages.delete(page.item.deliveryId);
    outcome(page.item.deliveryId, level, { reason, retryable });
    void hangUp(page);
  };

  /** Ends call and stream; the ports stay a moment for last words. */
  const hangUp = async (page: Page): Promise<void> => {
    const { call, media } = page;
    page.ringing?.cancel();
    closeStream(page);
    if (call) {
      const { id } = page.item.device;
      const goodbye = call.hangUp();
      leaving.set(id, goodbye);
      await goodbye;
      if (leaving.get(id) === goodbye) leaving.delete(id);
    }
    if (!media) return;
    await new Promise<void>((resolve) => void clock.after(LAST_WORDS_MS, resolve));
    media.close();
  };

  const closeStream = (page: Page): void => {
    const { target, item } = page;
    page.target = null;
    if (target) stream.close({ group: target.address, port: target.port }, item.notificationId).catch(() => {});
  };

  const dial = async (page: Page): Promise<void> => {
    const { item } = page;
    await leaving.get(item.device.id);
    if (page.called || page.state === "over") return;
    if (clock.now() > item.notAfter) return end(page, "expired", "its time was over before it was called");
    page.state = "calling";
    const { uri, hop, credentials } = await findDevice(item.device, needs.directory);
    const address = await agent.addressTo(hop.host);
    const media = await needs.ports.open(address);
    // It may have been called off meanwhile.
    if (page.called) return media.close();
    page.media = media;
    page.secrecy = drawSecrecy(needs.srtp, hop);
    const offer: Offer = { address, port: media.port, id: item.deliveryId, codecs: CODECS, secrecy: page.secrecy };
    media.onRtcp = (packet, from) => {
      if (from === page.peer) hear(page, packet);
    };
    page.call = agent.call(
      {
        ...{ uri, hop, credentials },
        caller: { user: "carillon", name: callerName(item, needs.callerName) },
        headers: pagingHeaders(item, address),
        offer: describeOffer(offer),
        answerTo: (theirs) => describeAnswer(offer, theirs),
      },
      {
        onRinging: () => {
          page.ringing ??= clock.after(RING_MS, () => end(page, "failed", NO_ANSWER));
        },
        onAnswered: (description) => answered(page, description),
        onFailed: (failure) => failed(page, failure),
        onEnded: () => ended(page),
      },
    );
  };

  const hear = (page: Page, packet: Buffer): void => {
    const { item, state } = page;
    const report =
      item.audio && state === "accepted"
        ? proofOfSound(readReports(page.opener.report(packet) ?? NOTHING), item.audio.ssrc)
        : null;
    if (!report) return;
    page.state = "playing";
    outcome(item.deliveryId, "playing", { reason: reportWords(report) });
  };

  const answered = (page: Page, description: string): void => {
    page.ringing?.cancel();
    const { media, fault } = readAnswer(description, CODECS, page.secrecy);
    if (!media) {
      end(page, "failed", fault);
      return;
    }
    if (page.secret !== media.secrecy?.theirs.key) {
      page.secret = media.secrecy?.theirs.key;
      page.opener = createMediaOpener(media.secrecy);
    }
    if (isSameMedia(page.target, media)) return;
    closeStream(page);
    page.target = media;
    page.peer = media.address;
    if (page.state === "calling") {
      page.state = "accepted";
      outcome(page.item.deliveryId, "accepted");
    }
    void send(page, media, MOST_OPENINGS);
  };

  const send = async (page: Page, target: RemoteMedia, tries: number): Promise<void> => {
    const { item, media } = page;
    if (page.target !== target || !item.audio || !media) return;
    const { address: group, port, codec } = target;
    const where = {
      ...{ group, port, codec, ttl: item.audio.ttl, sourcePort: media.port },
      ...(target.secrecy ? { secrecy: target.secrecy.own } : {}),
    };
    await stream.open(where, item.notificationId).catch((error: Error) => {
      if (tries > 1 && /no answer within/.test(error.message)) void send(page, target, tries - 1);
      else if (page.target === target) end(page, "failed", `the stream could not be opened: ${error.message}`, true);
    });
  };

  const failed = (page: Page, failure: CallFailure): void => {
    const { reason, retryable, busy } = failureOf(failure);
    if (busy && page.item.profile.skipPhonesInUse) end(page, "skipped", reason);
    else end(page, "failed", reason, retryable);
  };

  const ended = (page: Page): void => {
    page.call = null;
    if (page.state === "calling" && page.redials === 0) {
      end(page, "failed", "it hung up when it was answered", true);
      return;
    }
    const mayCallAgain = page.item.class === "emergency" && page.redials < MOST_REDIALS && !page.called;
    void hangUp(page);
    page.media = null;
    if (!mayCallAgain) {
      // What was proven stays; the words are for what was not.
      page.state = "over";
      return;
    }
    page.redials++;
    page.ringing = null;
    clock.after(REDIAL_MS, () => dialInTurn(page));
  };

  const dialInTurn = (page: Page): void =>
    pace.add(page.item.priority, () => {
      if (page.called || page.state === "over") return;
      dial(page).catch((error: Error) => end(page, "failed", error.message, true));
    });

  const callOff = async (page: Page, reason: StopRequest["reason"]): Promise<void> => {
    if (page.called) return;
    page.called = reason;
    const { deliveryId } = page.item;
    const { state } = page;
    if (state === "waiting")
      return end(page, reason === "expired" ? "expired" : "skipped", `${WORDS[reason]} before it was called`);
    await hangUp(page);
    pages.delete(deliveryId);
    // Last words may have come meanwhile.
    const last = page.state;
    page.state = "over";
    if (last === "playing") outcome(deliveryId, "playing");
    else if (state === "calling") outcome(deliveryId, "expired", { reason: `${WORDS[reason]} before it answered` });
    else outcome(deliveryId, "accepted");
  };

  const take = (item: DeliveryItem): void => {
    if (!item.audio) {
      outcome(item.deliveryId, "skipped", { reason: "it is only called for what is heard" });
      return;
    }
    const held = pages.get(item.deliveryId);
    if (held) return;
    const page: Page = {
      item,
      state: "waiting",
      called: null,
      call: null,
      media: null,
      target: null,
      peer: null,
      secrecy: null,
      secret: undefined,
      opener: createMediaOpener(null),
      ringing: null,
      redials: 0,
    };
    pages.set(item.deliveryId, page);
    // What an earlier run had called lost its sound with that run, so it is called again.
    dialInTurn(page);
  };

  return {
    take: (items) => items.forEach(take),
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const page = pages.get(id);
        if (page) void callOff(page, reason);
      }
    },
    sweep() {
      const before = clock.now() - KEPT_MS;
      for (const page of pages.values()) if (page.item.notAfter < before) void callOff(page, "expired");
    },
    async close() {
      const all = [...pages.values()];
      pages.clear();
      // What waits is not begun any more.
      for (const page of all) page.called ??= "ended";
      await Promise.all(all.map(({ call }) => call?.hangUp()));
      for (const { media } of all) media?.close();
    },
  };
}

const NO_ANSWER = "the call gets through, and it does not answer by itself";

const WORDS: Readonly<Record<StopRequest["reason"], string>> = {
  aborted: "the message was ended",
  expired: "the message expired",
  preempted: "a more urgent message came",
  ended: "the sound was over",
};
