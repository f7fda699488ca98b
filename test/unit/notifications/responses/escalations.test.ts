import { afterEach, beforeEach, describe, expect, it } from "vitest";
import confirmationRequests from "../../../../src/resources/confirmations/confirmation-requests.ts";
import escalationRules from "../../../../src/resources/confirmations/escalation-rules.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { ActorContext } from "../../../../src/store/store.ts";
import { type AirFixture, openAir } from "../engine/engine-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let people: string[];
let boss: string;
let requestId: string;

beforeEach(async () => {
  fixture = await openBroadcasts();
  people = [await fixture.user("Ann"), await fixture.user("Ben"), await fixture.user("Cid")];
  boss = await fixture.user("Boss");
  requestId = (await fixture.create(confirmationRequests, { name: "Safe?", options: ["Yes", "No"] })).id;
  air = await openAir(fixture);
});
afterEach(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

const rule = async (more: object = {}): Promise<string> => {
  const input = { delay: 60, optionLabel: "Yes", comparison: "LT", comparisonValue: 2, subject: "Too few {{what}}" };
  const values = { ...input, confirmationRequestId: requestId, userIds: [boss], ...more };
  return (await fixture.create(escalationRules, values)).id;
};
const send = (more: Record<string, unknown> = {}) =>
  air.send({ subject: "Safe?", userIds: people, confirmationRequestId: requestId, ...more });
const answer = (id: string, userId: string | undefined, option: string) => {
  const by: ActorContext = { ...fixture.by, actor: { kind: "user", userId: userId ?? "", name: "u", address: null } };
  return air.notificationService.recordAnswer(id, userId ?? "", option, by);
};
const children = (parentNotificationId: string) => fixture.store.find(notifications, { parentNotificationId });
const told = (notificationId: string, type: "info" | "escalation-rule-skipped") =>
  fixture.store.find(notificationActivities, { notificationId, type }).map(({ details }) => details);
/** Rules are tested in transactions of their own, which take turns of the event loop. */
const pass = async (ms: number): Promise<void> => {
  await fixture.clock.advance(ms);
  for (let round = 0; round < 50; round++) await fixture.clock.advance(0);
};

describe("a rule", () => {
  it("fires once when it is due, with the settings of its message", async () => {
    const id = await rule();
    const sent = await send({ drill: true, priority: "critical", customVars: { what: "people" } });
    await answer(sent, people[0], "Yes");
    await pass(59_999);
    expect(children(sent)).toEqual([]);
    await pass(1);
    expect(children(sent)).toMatchObject([
      {
        subject: "Too few people",
        userIds: [boss],
        drill: true,
        priority: "critical",
        priorityLevel: 0,
        notificationSource: "confirmation-request-escalation-rule",
        escalationRuleId: id,
        confirmationRequestId: null,
      },
    ]);
    expect(told(sent, "info")).toMatchObject([{ count: 1, escalationRuleId: id }]);
    await answer(sent, people[1], "Yes");
    await pass(3_600_000);
    expect(children(sent)).toHaveLength(1);
  });

  it.each([
    ["GT", 1, false],
    ["GT", 0, true],
    ["LT", 1, false],
    ["EQ", 1, true],
    ["EQ", 0, false],
    ["NE", 1, false],
    ["NE", 2, true],
  ])("compares: 1 %s %i is %s", async (comparison, comparisonValue, fires) => {
    await rule({ comparison, comparisonValue });
    const sent = await send();
    await answer(sent, people[0], "No");
    await answer(sent, people[0], "Yes");
    await pass(60_000);
    expect(children(sent)).toHaveLength(fires ? 1 : 0);
  });

  it("is skipped with a reason without recipients, when it was deleted, and when the message was aborted", async () => {
    const nobody = await rule({ userIds: [] });
    const gone = await rule({ delay: 70 });
    const ended = await rule({ delay: 80 });
    const sent = await send();
    await pass(60_000);
    expect(told(sent, "escalation-rule-skipped")).toMatchObject([{ escalationRuleId: nobody }]);
    await fixture.store.remove(escalationRules, gone, fixture.by);
    await pass(10_000);
    await air.notificationService.abort(sent, fixture.by);
    await pass(10_000);
    const skipped = told(sent, "escalation-rule-skipped") as { escalationRuleId: string; message: string }[];
    expect(skipped.map(({ escalationRuleId }) => escalationRuleId)).toEqual([nobody, gone, ended]);
    expect(skipped.map(({ message }) => message)).toEqual([
      expect.stringContaining("must have recipients"),
      expect.stringContaining("deleted"),
      expect.stringContaining("ended"),
    ]);
    expect(children(sent)).toEqual([]);
  });

  it("fires after a restart, up to 10 minutes late", async () => {
    await rule({ delay: 60 });
    await rule({ delay: 700, subject: "Second" });
    const sent = await send();
    air.crash();
    await pass(659_999);
    expect(children(sent)).toEqual([]);
    await air.restart();
    await pass(0);
    expect(children(sent)).toMatchObject([{ subject: "Too few" }]);
    await pass(40_001);
    expect(children(sent)).toMatchObject([{}, { subject: "Second" }]);
  });

  it("is recorded as skipped when the restart comes later", async () => {
    const id = await rule();
    const sent = await send();
    air.crash();
    await pass(660_001);
    await air.restart();
    await pass(0);
    expect(children(sent)).toEqual([]);
    expect(told(sent, "escalation-rule-skipped")).toMatchObject([{ escalationRuleId: id }]);
  });

  it("fires once, wherever the process crashes", async () => {
    await rule();
    for (let commits = 1; commits < 6; commits++) {
      const sent = await send();
      await air.untilSettled(sent);
      air.crashAfter(commits);
      await pass(60_000);
      if (!air.crashed) air.crash();
      await air.restart();
      await pass(60_000);
      expect([commits, children(sent).length]).toEqual([commits, 1]);
    }
  });
});
