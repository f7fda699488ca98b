import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EngineNeeds } from "../../../src/broadcast/air.ts";
import { createPrecedence } from "../../../src/broadcast/precedence.ts";
import { createRunner } from "../../../src/broadcast/runner.ts";
import { advance, type NextStage, type Stage } from "../../../src/broadcast/stage.ts";
import notificationActivities from "../../../src/resources/broadcasts/notification-activities.ts";
import notifications from "../../../src/resources/broadcasts/notifications.ts";
import type { StageName } from "../../../src/resources/broadcasts/stages.ts";
import { type BroadcastFixture, openBroadcasts } from "./broadcast-fixture.ts";

let fixture: BroadcastFixture;
let group: string;
let ran: string[];
const FOLLOWING: Partial<Record<StageName, NextStage>> = { resolve: "deliver", deliver: "settle", settle: "settled" };

beforeEach(async () => {
  fixture = await openBroadcasts();
  group = await fixture.group("Nobody", []);
  ran = [];
});
afterEach(() => fixture.close());

const send = async (subject: string, more: object = {}) =>
  (await fixture.send({ subject, deviceGroupIds: [group], ...more })).id;
const stageOf = (id: string) => fixture.store.get(notifications, id)?.stage;
const failures = (id: string) =>
  fixture.store.find(notificationActivities, { notificationId: id, type: "broadcast-failed" });

/** Three stages that only go on; `fails` says whether the run of a stage throws. */
function runnerOf(fails: (subject: string, stage: StageName) => boolean = () => false) {
  const names = Object.keys(FOLLOWING) as StageName[];
  const stages = names.map(
    (name): Stage<EngineNeeds> => ({
      name,
      async run(id, needs) {
        const subject = needs.store.get(notifications, id)?.subject ?? "";
        ran.push(`${subject} ${name}`);
        if (fails(subject, name)) throw new RangeError("broken");
        await needs.store.write((tx) => advance(tx, id, FOLLOWING[name] ?? "settled"));
      },
    }),
  );
  const precedence = createPrecedence(fixture.needs.clock, fixture.needs.signal);
  return createRunner(stages, { ...fixture.needs, precedence } as EngineNeeds);
}

describe("the runner", () => {
  it("takes up what is not settled, emergencies first, and takes each through its stages once", async () => {
    const ids = [await send("routine"), await send("urgent", { priority: "critical" })];
    await send("preview", { draft: true });
    const runner = runnerOf();
    runner.takeUnfinished();
    for (const id of ids) runner.take(id);
    await runner.idle();
    expect(ran[0]).toBe("urgent resolve");
    expect([...ran].sort()).toEqual(
      ["routine", "urgent"].flatMap((subject) => ["deliver", "resolve", "settle"].map((name) => `${subject} ${name}`)),
    );
    expect(ids.map(stageOf)).toEqual(["settled", "settled"]);
  });

  it("lets emergencies pass that are not heard yet, for two seconds at most, but for what has its moment", async () => {
    let broken = true;
    const runner = runnerOf((subject, stage) => broken && subject === "urgent" && stage === "deliver");
    runner.take(await send("urgent", { priority: "critical" }));
    await fixture.clock.advance(100);
    runner.take(await send("routine"));
    await fixture.clock.advance(1_800);
    expect(ran).not.toContain("routine resolve");
    await fixture.clock.advance(300);
    expect(ran).toContain("routine resolve");
    expect(ran).not.toContain("urgent settle");
    broken = false;
    await fixture.clock.advance(60_000);
    await runner.idle();
    expect(ran).toContain("routine settle");
    expect(ran).toContain("urgent settle");
  });

  it("tries a stage again that fails, tells it once, and lets others pass", async () => {
    let broken = true;
    const runner = runnerOf((subject, stage) => subject === "stuck" && stage === "deliver" && broken);
    const [stuck, other] = [await send("stuck"), await send("other")];
    runner.take(stuck);
    runner.take(other);
    for (let passed = 0; passed < 4_000; passed += 500) await fixture.clock.advance(500);
    expect([stageOf(stuck), stageOf(other)]).toEqual(["deliver", "settled"]);
    expect(failures(stuck)).toMatchObject([{ details: { stage: "deliver", givenUp: false } }]);
    expect(JSON.stringify(failures(stuck))).not.toContain("broken");
    broken = false;
    await fixture.clock.advance(10_000);
    expect(stageOf(stuck)).toBe("settled");
  });

  it("gives up in the end what nobody needs any more", async () => {
    const id = await send("hopeless");
    runnerOf((_subject, stage) => stage === "deliver").take(id);
    for (let minute = 0; minute < 4; minute++) await fixture.clock.advance(60_000);
    expect(stageOf(id)).toBe("settled");
    expect(failures(id).at(-1)).toMatchObject({ details: { givenUp: true } });
  });

  it("leads what was ended before any device was asked straight to its end", async () => {
    const id = await send("aborted");
    await fixture.store.write((tx) => {
      tx.run("UPDATE notifications SET aborted_at = ? WHERE id = ?", fixture.clock.now(), id);
    });
    const runner = runnerOf();
    runner.take(id);
    await runner.idle();
    expect(ran).toEqual(["aborted settle"]);
  });
});
