import { expect, it } from "vitest";
import { createHubControlHandler, type HubControlHandlerDeps } from "../../../src/cloud-link/hub-control-handler.ts";
import { createFailover, type Failover } from "../../../src/failover/failover.ts";
import { type PeerHeartbeat, parseHeartbeat } from "../../../src/failover/heartbeat.ts";
import type { HubControlMessage } from "../../../src/sync/protocol/control-messages.ts";
import type { LinkedSite } from "../../../src/sync/transport/acceptor.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const GROUP = { id: "group", members: ["east", "west"], timeoutMs: 3_000 };

function talkOf(needs: Partial<HubControlHandlerDeps>): ReturnType<typeof createHubControlHandler> {
  const never = (): never => {
    throw new Error("nobody asks for that");
  };
  return createHubControlHandler({
    ...{
      groups: { all: () => [GROUP] },
      enrolment: { renew: never },
      sendControl: never,
      head: never,
      request: never,
      logIn: never,
      inventory: never,
      handOver: never,
    },
    ...{ onFault: never, ...needs },
  });
}

const linked = (endpoint: string, said: HubControlMessage[] = []): LinkedSite =>
  ({ endpoint, keyHash: "", sendControl: (talk: HubControlMessage) => void said.push(talk) }) as unknown as LinkedSite;

it("relays heartbeats between appliances that do not hear each other, so the last live one is active", async () => {
  const clock = createFakeClock(Date.now());
  const all = new Map<string, Failover>();
  const sendControl = (endpoint: string, talk: HubControlMessage): void =>
    void (talk.t === "beat" && all.get(endpoint)?.receive(parseHeartbeat(talk.beat) as PeerHeartbeat));
  const hub = talkOf({ sendControl });
  for (const ownId of GROUP.members) {
    const by = linked(ownId);
    const failover = createFailover({
      ...{ ownId, version: "1.2.3", boot: ownId, clock, groups: () => [GROUP], lease: () => null },
      ...{ hasCloud: () => true, hasNetwork: () => true, hasBegun: () => false },
      send: (beat) => hub(by, { t: "beat", beat: JSON.stringify(beat) }),
      onPeerSound() {},
      onDuplicate() {},
      onTakeover() {},
    });
    all.set(ownId, failover);
    failover.start();
  }
  const acting = (): string[] => GROUP.members.filter((each) => all.get(each)?.isActive(GROUP.id));
  await clock.advance(3_000);
  expect([acting(), all.get("west")?.isReachable("east")]).toEqual([["east"], true]);
  // Nobody speaks for another.
  const beats: HubControlMessage[] = [];
  talkOf({ sendControl: (_, talk) => void beats.push(talk) })(linked("west"), {
    t: "beat",
    beat: JSON.stringify(all.get("east")?.buildHeartbeat()),
  });
  expect(beats).toEqual([]);
  all.get("east")?.stop();
  all.delete("east");
  await clock.advance(6_000);
  expect([all.get("west")?.isActive(GROUP.id), all.get("west")?.isReachable("east")]).toEqual([true, false]);
  all.get("west")?.stop();
});

it("limits concurrent requests per connection", async () => {
  const answers: (() => void)[] = [];
  const request: HubControlHandlerDeps["request"] = () =>
    new Promise((resolve) => answers.push(() => resolve({ status: 204 })));
  const hub = talkOf({ request, head: async () => 7 });
  const [mine, theirs]: [HubControlMessage[], HubControlMessage[]] = [[], []];
  const [one, other] = [linked("east", mine), linked("west", theirs)];
  const ask = (by: LinkedSite, ref: string): void => hub(by, { t: "ask", ref, of: { kind: "request" } as never });
  for (let nth = 1; nth <= 33; nth += 1) ask(one, `q${nth}`);
  ask(other, "theirs");
  expect([mine, theirs]).toEqual([[{ t: "answer", ref: "q33", refused: "Too many concurrent requests." }], []]);
  for (const answer of answers.splice(0)) answer();
  await new Promise(setImmediate);
  expect(mine.at(-1)).toEqual({ t: "answer", ref: "q32", given: { status: 204, head: 7 } });
  ask(one, "q34");
  expect([answers.length, mine.length]).toEqual([1, 33]);
});
