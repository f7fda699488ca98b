import { describe, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createEndpointCommands, type EndpointCommandDeps } from "../../../src/ops/endpoint-commands.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

interface Order {
  id: string;
  type: string;
  state: string;
}

describe("orders to an appliance", () => {
  it("of a kind are carried out in turn, others beside them, and a restart after all that is under way", async () => {
    const rows: Order[] = [];
    const steps: string[] = [];
    const ends: (() => void)[] = [];
    const events = createEvents((error) => {
      throw error;
    });
    const store = {
      find: () => rows.filter(({ state }) => state === "pending"),
      update: async (_: unknown, id: string, change: Partial<Order>) =>
        Object.assign(rows.find((row) => row.id === id) as Order, change),
    };
    const slow = ({ id }: { id: string }) => {
      steps.push(id);
      return new Promise<object>((end) => ends.push(() => end({})));
    };
    const orders = createEndpointCommands({
      ...{ store, events, clock: createFakeClock(), log: silentLog, by: {}, endpointId: () => "own" },
      handlers: { backup: slow, "collect-logs": async ({ id }: { id: string }) => ({ is: steps.push(id) }) },
      checkRestartAllowed: async () => undefined,
      restart: () => steps.push("restart"),
    } as unknown as EndpointCommandDeps);
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    };
    await orders.start();
    for (const [id, type] of Object.entries({ one: "backup", two: "backup", logs: "collect-logs", again: "restart" })) {
      rows.push({ id, type, state: "pending" });
      events.emit("row.changed", { seq: 1, resource: "endpoint-activities", id, op: "create" });
    }
    await settle();
    expect(steps).toEqual(["one", "logs"]);
    ends.shift()?.();
    await settle();
    expect(steps).toEqual(["one", "logs", "two"]);
    ends.shift()?.();
    await settle();
    expect(steps).toEqual(["one", "logs", "two", "restart"]);
    await orders.stop();
  });
});
