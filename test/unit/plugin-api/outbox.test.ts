import { describe, expect, it } from "vitest";
import { createOutbox, type SendResult } from "../../../src/plugin-api/outbox.ts";
import { itemOf } from "../../plugins/test-appliance.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function makeOutbox(concurrency: number) {
  const clock = createFakeClock();
  const handed: number[] = [];
  const outcomes: string[] = [];
  const states: string[] = [];
  const answers = new Map<number, (result: SendResult) => void>();
  const outbox = createOutbox({
    clock,
    concurrency,
    undeliverableReason: ({ device }) => (device.deviceIdentifier === "nobody" ? "nobody is there" : null),
    outcome: (id, level, { reason, passing } = {}) =>
      void outcomes.push(`${id} ${level}${reason ? ` ${reason}` : ""}${passing ? ", passing" : ""}`),
    status: (state) => void states.push(state),
    send({ deliveryId }) {
      handed.push(deliveryId);
      return new Promise((resolve) => void answers.set(deliveryId, resolve));
    },
  });
  const answer = async (id: number, result: SendResult): Promise<void> => {
    answers.get(id)?.(result);
    await clock.advance(0);
  };
  return { clock, outbox, handed, outcomes, states, answer };
}

const TAKEN: SendResult = { taken: true, level: "accepted" };
const DOWN: SendResult = { taken: false, reason: "no connection", retryable: true, down: true };

describe("an outbox", () => {
  it("respects concurrency and priority, and skips cancelled items", async () => {
    const { outbox, handed, answer } = makeOutbox(2);
    outbox.add([1, 2, 3, 4].map((id) => itemOf(id)));
    outbox.add([itemOf(5, { priority: 0 })]);
    outbox.drop([3]);
    expect(handed).toEqual([1, 2]);
    await answer(2, TAKEN);
    await answer(1, TAKEN);
    expect(handed).toEqual([1, 2, 5, 4]);
  });

  it("skips undeliverable items and items already taken", () => {
    const { outbox, handed, outcomes } = makeOutbox(2);
    const device = { id: "0190a1b2-0000-7000-8000-000000000002", deviceIdentifier: "nobody", attributes: {} };
    outbox.add([itemOf(1, { device }), itemOf(2, { reached: "accepted" }), itemOf(3)]);
    expect({ handed, outcomes }).toEqual({ handed: [3], outcomes: ["1 failed nobody is there"] });
  });

  it("fails queued items at once while the server is down, and retries after a pause", async () => {
    const { clock, outbox, handed, outcomes, states, answer } = makeOutbox(1);
    outbox.add([itemOf(1), itemOf(2)]);
    await answer(1, DOWN);
    outbox.add([itemOf(3)]);
    expect(handed).toEqual([1]);
    expect(outcomes).toEqual([1, 2, 3].map((id) => `${id} failed no connection, passing`));
    expect(outbox.isWell).toBe(false);
    await clock.advance(5_000);
    outbox.add([itemOf(4), itemOf(5)]);
    await answer(4, TAKEN);
    await answer(5, { taken: false, reason: "no such user", retryable: false, down: false });
    expect(outcomes.slice(3)).toEqual(["4 accepted", "5 failed no such user"]);
    expect(states).toEqual(["down", "ok"]);
  });
});
