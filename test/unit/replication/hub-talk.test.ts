import { expect, it } from "vitest";
import { type Beat, readBeat } from "../../../src/replication/failover/beats.ts";
import { createFailover, type Failover } from "../../../src/replication/failover/failover.ts";
import type { Linked } from "../../../src/replication/link/acceptor.ts";
import { createHubTalk, type HubTalkNeeds } from "../../../src/replication/link/hub-talk.ts";
import type { HubTalk } from "../../../src/replication/talk.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const GROUP = { id: "group", members: ["east", "west"], timeoutMs: 3_000 };

function talkOf(needs: Partial<HubTalkNeeds>): ReturnType<typeof createHubTalk> {
  const never = (): never => {
    throw new Error("nobody asks for that");
  };
  return createHubTalk({
    ...{ groups: { all: () => [GROUP] }, enrolment: { renew: never }, say: never, head: never, request: never },
    ...{ onFault: never, ...needs },
  });
}

const linked = (endpoint: string, said: HubTalk[] = []): Linked =>
  ({ endpoint, keyHash: "", say: (talk: HubTalk) => void said.push(talk) }) as unknown as Linked;

it("appliances that don't hear each other on the local network hear each other through the cloud, and who is last acts", async () => {
  const clock = createFakeClock(Date.now());
  const all = new Map<string, Failover>();
  const say = (endpoint: string, talk: HubTalk): void =>
    void (talk.t === "beat" && all.get(endpoint)?.take(readBeat(talk.beat) as Beat));
  const hub = talkOf({ say });
  for (const ownId of GROUP.members) {
    const by = linked(ownId);
    const failover = createFailover({
      ...{ ownId, version: "1.2.3", boot: ownId, clock, groups: () => [GROUP], lease: () => null },
      ...{ hasCloud: () => true, hasNetwork: () => true, hasBegun: () => false },
      send: (beat) => hub(by, { t: "beat", beat: JSON.stringify(beat) }),
      heardElsewhere() {},
      doubled() {},
      tookOver() {},
    });
    all.set(ownId, failover);
    failover.start();
  }
  const acting = (): string[] => GROUP.members.filter((each) => all.get(each)?.isActive(GROUP.id));
  await clock.advance(3_000);
  expect([acting(), all.get("west")?.isReachable("east")]).toEqual([["east"], true]);
  // Nobody speaks for another.
  const beats: HubTalk[] = [];
  talkOf({ say: (_, talk) => void beats.push(talk) })(linked("west"), {
    t: "beat",
    beat: JSON.stringify(all.get("east")?.beat()),
  });
  expect(beats).toEqual([]);
  all.get("east")?.stop();
  all.delete("east");
  await clock.advance(6_000);
  expect([all.get("west")?.isActive(GROUP.id), all.get("west")?.isReachable("east")]).toEqual([true, false]);
  all.get("west")?.stop();
});

it("answers so many questions of a connection at a time and refuses more, of that connection alone", async () => {
  const answers: (() => void)[] = [];
  const request: HubTalkNeeds["request"] = () => new Promise((resolve) => answers.push(() => resolve({ status: 204 })));
  const hub = talkOf({ request, head: async () => 7 });
  const [mine, theirs]: [HubTalk[], HubTalk[]] = [[], []];
  const [one, other] = [linked("east", mine), linked("west", theirs)];
  const ask = (by: Linked, ref: string): void => hub(by, { t: "ask", ref, of: { kind: "request" } as never });
  for (let nth = 1; nth <= 33; nth += 1) ask(one, `q${nth}`);
  ask(other, "theirs");
  expect([mine, theirs]).toEqual([[{ t: "answer", ref: "q33", refused: "Too much is asked at once." }], []]);
  for (const answer of answers.splice(0)) answer();
  await new Promise(setImmediate);
  expect(mine.at(-1)).toEqual({ t: "answer", ref: "q32", given: { status: 204, head: 7 } });
  ask(one, "q34");
  expect([answers.length, mine.length]).toEqual([1, 33]);
});
