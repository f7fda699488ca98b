import { describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createLogTail, createTailedLog } from "../../../src/plugin-host/log-tail.ts";
import { createRedact } from "../../../src/plugin-host/redaction.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const same = <T>(value: T): T => value;

describe("the tail of a log", () => {
  it("keeps the last 500 lines and gives the newest after a number, oldest first", () => {
    const tail = createLogTail(createFakeClock());
    for (let n = 1; n <= 510; n++) tail.add("info", {}, `line ${n}`);
    expect(tail.read(1_000, 0)).toHaveLength(500);
    expect(tail.read(2, 0).map(({ message }) => message)).toEqual(["line 509", "line 510"]);
    expect(tail.read(10, 508).map(({ seq }) => seq)).toEqual([509, 510]);
    expect(tail.read(10, 510)).toEqual([]);
    expect(tail.read(1, 9_999).map(({ seq }) => seq)).toEqual([510]);
  });

  it("holds when, how bad, what and with what", () => {
    const clock = createFakeClock();
    const tail = createLogTail(clock);
    const log = createTailedLog(silentLog, tail, same);
    log.warn({ phone: "SEP1", err: new RangeError("no answer") }, "push failed");
    log.debug({}, "quiet");
    expect(tail.read(10, 0)).toEqual([
      ...[{ seq: 1, at: clock.now(), level: "warn", message: "push failed" }].map((line) => ({
        ...line,
        details: '{"phone":"SEP1","err":"no answer"}',
      })),
      { seq: 2, at: clock.now(), level: "debug", message: "quiet", details: null },
    ]);
  });

  it("strikes secrets out, by their values and by their names", () => {
    const tail = createLogTail(createFakeClock());
    const log = createTailedLog(silentLog, tail, createRedact(["hunter22"]));
    log.info({ url: "http://a/?p=hunter22", password: "other", deep: { token: "t" } }, "used hunter22");
    const [line] = tail.read(1, 0);
    expect(JSON.stringify(line)).not.toMatch(/hunter22|other|"t"/);
    expect(line?.message).toBe("used [redacted]");
  });

  it("cuts off what is long, and says the names of what is no JSON", () => {
    const tail = createLogTail(createFakeClock());
    const circle: Record<string, unknown> = { a: 1 };
    circle.self = circle;
    tail.add("info", circle, "x".repeat(5_000));
    tail.add("info", { text: "y".repeat(5_000) }, "long");
    const [first, second] = tail.read(2, 0);
    expect([first?.message.length, first?.details]).toEqual([1_000, "{a, self}"]);
    expect(second?.details).toHaveLength(2_000);
  });
});
