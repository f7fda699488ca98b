import { randomUUID, sign } from "node:crypto";
import { WebSocket } from "ws";
import { buildChallenge } from "../../src/sync/protocol/key-challenge.ts";

/** Who a simulated appliance is. */
export interface ApplianceEnrollment {
  endpoint: string;
  token: string;
  key: string;
  /** The extension that the appliance is of. */
  extension: string;
}

/** An appliance that speaks the link and has nothing behind it. */
export interface SimulatedAppliance {
  /** Up to where it applied the cloud's feed. */
  applied(): number;
  /** What was answered to `ping` so far. */
  pongs(): number;
  /** When the newest message came, by `performance.now()`, and how many did. */
  messages(): { came: number; count: number };
  ping(): void;
  close(): void;
}

type Said = Readonly<Record<string, unknown>> & { t: string };

/** Links it with one device of its own, which plays whatever comes; resolves once it has all rows and the cloud has its device. */
export function linkAppliance(url: string, own: ApplianceEnrollment): Promise<SimulatedAppliance> {
  const { endpoint, token, key } = own;
  const device = deviceOf(own);
  const socket = new WebSocket(url, ["carillon.1"], {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  const say = (frame: object): void => socket.send(JSON.stringify(frame));
  const at = { applied: 0, pongs: 0, hot: 0, hasDevice: false, messages: { came: 0, count: 0 } };

  function hello(): void {
    const nothing = { epoch: null, recv: 0, applied: 0, snap: null, cmdHw: 0, decided: 0, fresh: false };
    const types = ["message-templates"];
    say({ t: "hello", v: 1, endpoint, inc: 1, oseq: { bulk: 1, hot: 0 }, ...nothing, types, credit: CREDIT });
  }

  function take(frame: Said): void {
    if (frame.t === "snap" || (frame.t === "rows" && frame.feed === "down.bulk")) {
      say({ t: "ack", feed: "down.bulk", to: frame.t === "snap" ? frame.h0 : frame.to });
      if (frame.t !== "rows" || !frame.mark) return;
      at.applied = frame.to as number;
    }
    if (frame.t === "welcome") tell("up.bulk", 1, "devices", device.id, device);
    if (frame.t === "ack" && frame.feed === "up.bulk") at.hasDevice = true;
    if (frame.t === "pong") at.pongs += 1;
    if (frame.t === "cmd") {
      const { cid } = frame.command as { cid: string };
      at.messages = { came: performance.now(), count: at.messages.count + 1 };
      for (const outcome of ["started", "done"]) tell("up.hot", ++at.hot, "outcome", cid, { outcome, at: Date.now() });
    }
  }

  /** One record that goes up. */
  function tell(feed: "up.bulk" | "up.hot", number: number, type: string, id: string, body: object): void {
    const uid = randomUUID();
    say({ t: "rows", feed, from: number - 1, to: number, tail: uid, rows: [["p", type, id, number, uid, body]] });
  }

  return new Promise((resolve, reject) => {
    const made: SimulatedAppliance = {
      ...{ applied: () => at.applied, pongs: () => at.pongs, messages: () => at.messages },
      ping: () => say({ t: "ping", t0: performance.now(), groups: [] }),
      close: () => socket.terminate(),
    };
    socket.on("error", reject);
    socket.on("close", (code) => reject(new Error(`an appliance's link was closed: ${code}`)));
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Said;
      if (frame.t === "err") reject(new Error(JSON.stringify(frame)));
      if (frame.t === "challenge") {
        const proof = sign("sha256", Buffer.from(buildChallenge(endpoint, String(frame.nonce))), key);
        say({ t: "proof", proof: proof.toString("base64") });
        hello();
      } else take(frame);
      if (at.applied > 0 && at.hasDevice) resolve(made);
    });
  });
}

/** A zone, as an appliance tells of it. */
function deviceOf({ endpoint, extension }: ApplianceEnrollment) {
  const now = Date.now();
  const name = `zone:${endpoint}`;
  const facts = { state: null, lastLevel: null, lastSeenAt: null, provenAt: null, provenBy: null, testedAt: null };
  return {
    ...{ id: randomUUID(), createdAt: now, updatedAt: now, extensionId: extension, endpointId: endpoint },
    ...{ deviceIdentifier: name, icopId: name, description: name, type: "speakers", attributes: {} },
    ...{ zoneId: null, defunct: false, isLicensed: true, provider: "multicast-zones", callManagerCluster: null },
    ...{ ...facts, testFault: null, failures: null },
  };
}

const CREDIT = { frames: 8, bytes: 1_000_000 };
