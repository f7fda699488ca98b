import { setTimeout as pause } from "node:timers/promises";
import type { OpenMutePeer, PeerDeps } from "../peer.ts";

const MAC = "02005E10F00D";
const JOIN_SECRET = "a mute agent is let in by this";

/** An agent that takes every message, and of which nobody ever hears whether it played. */
const openMutePeer: OpenMutePeer = async (needs) => {
  const stopping = new AbortController();
  let onKnown = (): void => {};
  const known = new Promise<void>((resolve) => {
    onKnown = resolve;
  });
  const agent = runAgent(needs, stopping.signal, onKnown);
  return {
    config: { joinSecret: JOIN_SECRET },
    device: { id: "0198f3a0-0000-7000-8000-00000000f00d", deviceIdentifier: `agent:${MAC}`, attributes: {} },
    proves: "accepted",
    ready: () => known,
    asked: async () => {},
    async close() {
      stopping.abort();
      await agent;
    },
  };
};

async function runAgent(needs: PeerDeps, signal: AbortSignal, onKnown: () => void): Promise<void> {
  let token: string | null = null;
  while (!signal.aborted) {
    if (token === null) token = ((await ask(needs, "/register", JOIN_SECRET, { mac: MAC })).token as string) ?? null;
    else {
      await beat(needs, token);
      onKnown();
    }
    await pause(20);
  }
}

async function beat(needs: PeerDeps, token: string): Promise<void> {
  const { commands = [] } = await ask(needs, `/agents/${MAC}/beat`, token, { port: 5_004, waitMs: 0 });
  const events = (commands as { kind: string; deliveryId: number }[])
    .filter(({ kind }) => kind === "play")
    .map(({ deliveryId }) => ({ kind: "accepted", deliveryId }));
  if (events.length > 0) await ask(needs, `/agents/${MAC}/beat`, token, { port: 5_004, waitMs: 0, events });
}

async function ask({ route }: PeerDeps, url: string, bearer: string, body: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${bearer}` };
  const request = { method: "POST", url, headers, body: Buffer.from(JSON.stringify(body)), remoteAddress: "127.0.0.1" };
  const answer = await route?.(request).catch(() => null);
  return answer && answer.status < 300 ? JSON.parse(Buffer.from(answer.body ?? "").toString("utf8")) : {};
}

export default openMutePeer;
