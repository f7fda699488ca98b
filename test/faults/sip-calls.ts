import { spawn } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createCallRateLimiter } from "../../plugins/sip/call-rate-limiter.ts";
import { createMediaPortPool, type MediaPortPool } from "../../plugins/sip/media/media-port.ts";
import { createPagingCalls, type PagingCallsDeps } from "../../plugins/sip/paging/paging-calls.ts";
import { openSipUserAgent } from "../../plugins/sip/user-agent/user-agent.ts";
import { systemClock as clock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { PACKET_BYTES, PACKET_MS } from "../../src/media/rtp.ts";
import { Streamer } from "../../src/media/streamer.ts";
import type { StreamEnded } from "../../src/media/streamer-messages.ts";
import { DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import { percentile } from "../bench/benchmark-row.ts";
import { unusedPort } from "../support/free-port.ts";

/** How devices are called. */
export interface CallPlan {
  calls: number;
  perSecond: number;
  /** How long each hears something. */
  soundMs: number;
}

/** What calls came to. */
export interface CallFigures extends CallPlan {
  answered: number;
  /** From the request to the answer. */
  setupMs: { p50: number; p99: number; max: number };
  /** From the first request to the last answer. */
  placedMs: number;
  /** Packets of sound that were sent, those that left more than 5 ms late, and those that came back from the other side. */
  packets: number;
  late: number;
  lateMaxMs: number;
  echoed: number;
  /** The other side counts every call as ended well. */
  endedWell: boolean;
  /** Longest delay of the event loop that calls, hangs up and takes what comes back. */
  loopMaxMs: number;
}

const NOTIFICATION = "0190a1b2-0000-7000-8000-000000000001";
const LAST_ANSWER_MS = 30_000;
const LOOK_MS = 50;

/** Calls as many devices as planned at sipp, through the plugin's own pages and the core's streamer. Needs Debian's sip-tester. */
export async function callMany(plan: CallPlan): Promise<CallFigures> {
  const port = await unusedPort();
  const peer = spawn(
    "sipp",
    ["-sn", "uas", "-i", "127.0.0.1", "-p", String(port), "-m", String(plan.calls), "-nostdin", "-rtp_echo"],
    { stdio: "ignore" },
  );
  const peerEnd: { code?: number | null } = {};
  peer.once("exit", (code) => Object.assign(peerEnd, { code }));
  await until(() => false, 1_000);
  const streamer = new Streamer({ clock, log: silentLog });
  await streamer.start();
  const ends: StreamEnded[] = [];
  streamer.on("ended", (end) => ends.push(end));
  const nothing = { tls: null, authority: null, onError: () => {} };
  const agent = await openSipUserAgent({ ...nothing, clock, port: 0, address: "127.0.0.1" });
  const loop = monitorEventLoopDelay({ resolution: 5 });
  const setups: number[] = [];
  const moments: number[] = [];
  let echoed = 0;

  const lent = createMediaPortPool({ first: 40_000, last: 40_000 + 4 * plan.calls });
  const ports: Pick<MediaPortPool, "allocate"> = {
    async allocate(address) {
      const media = await lent.allocate(address);
      media.onRtp = () => echoed++;
      return media;
    },
  };
  const call: PagingCallsDeps["userAgent"]["call"] = (callee, handlers) => {
    const at = clock.monotonicMs();
    moments.push(at);
    return agent.call(callee, {
      ...handlers,
      onAnswered(description) {
        moments.push(clock.monotonicMs());
        setups.push(clock.monotonicMs() - at);
        handlers.onAnswered(description);
      },
    });
  };
  const pages = createPagingCalls({
    ...{
      clock,
      ports,
      userAgent: { call, addressTo: agent.addressTo },
      callerName: "Carillon",
      outcome: () => {},
      srtp: "off",
    },
    rateLimiter: createCallRateLimiter(clock, plan.perSecond),
    redirect: () => Promise.reject(new Error("not allowed")),
    directory: { registrar: { bindingsOf: () => [], problemOf: () => null }, accounts: new Map(), credentials: null },
    stream: streamTo(streamer, plan),
  });
  loop.enable();
  const ids = Array.from({ length: plan.calls }, (_, at) => at + 1);
  pages.start(ids.map((id) => itemFor(id, port)));
  await until(() => ends.length >= plan.calls, LAST_ANSWER_MS + plan.soundMs);
  pages.stop({ deliveryIds: ids, reason: "ended" });
  await until(() => peerEnd.code !== undefined, LAST_ANSWER_MS);
  loop.disable();
  peer.kill("SIGKILL");
  await pages.close();
  await Promise.all([agent.close(), streamer.stop()]);
  const sum = (of: (end: StreamEnded) => number): number => ends.reduce((total, end) => total + of(end), 0);
  return {
    ...plan,
    answered: setups.length,
    setupMs: { p50: percentile(setups, 50), p99: percentile(setups, 99), max: Math.max(0, ...setups) },
    placedMs: Math.round(Math.max(0, ...moments) - Math.min(...moments)),
    packets: sum(({ packets }) => packets),
    late: sum(({ latePackets }) => latePackets),
    lateMaxMs: Math.max(0, ...ends.map(({ lateMaxMs }) => lateMaxMs)),
    echoed,
    endedWell: peerEnd.code === 0,
    loopMaxMs: Math.round(loop.max / 1e6),
  };
}

/** Each call hears its sound from the moment at which it is answered. */
function streamTo(streamer: Streamer, { soundMs }: CallPlan): PagingCallsDeps["stream"] {
  const payload = new Uint8Array(new SharedArrayBuffer((soundMs / PACKET_MS) * PACKET_BYTES)).fill(0x55);
  return {
    async open({ group, port, ttl, sourcePort = 0 }) {
      const streamId = String(sourcePort);
      const place = { streamId, group, port, ttl, sourcePort, networkInterface: "127.0.0.1" };
      await streamer.open({ ...place, ssrc: sourcePort, payloadType: 0, payload, repeats: 1, offsetPackets: 0 });
      streamer.startGroup([streamId], clock.now());
    },
    close: async () => {},
  };
}

function itemFor(deliveryId: number, port: number): DeliveryItem {
  const attributes = { SipUri: `sip:speaker${deliveryId}@127.0.0.1:${port}` };
  return {
    ...{ deliveryId, notificationId: NOTIFICATION, priority: 5, attempt: 1, drill: false },
    class: "routine",
    ...{ notAfter: Number.MAX_SAFE_INTEGER, sentAt: 0, expiresAt: null, imagePath: null, settings: {} },
    device: { id: String(deliveryId), deviceIdentifier: `sip:speaker${deliveryId}`, attributes },
    text: { subject: "Test", body: "", short: "Test" },
    audio: { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: deliveryId },
    profile: DEFAULT_PROFILE,
  };
}

async function until(isSo: () => boolean, maxMs: number): Promise<void> {
  const end = clock.monotonicMs() + maxMs;
  while (!isSo() && clock.monotonicMs() < end) await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve));
}
