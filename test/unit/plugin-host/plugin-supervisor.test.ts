import { describe, expect, it } from "vitest";
import type { PluginInstanceEvents } from "../../../src/plugin-host/plugin-instance.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "../../../src/plugin-host/plugin-protocol.ts";
import { PluginSupervisor } from "../../../src/plugin-host/plugin-supervisor.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** One run that a test plays the plugin of. */
interface Run extends PluginInstanceEvents {
  got: ToPlugin["kind"][];
  killed: boolean;
}

const INIT: PluginInit = {
  plugin: "p",
  config: {},
  ports: {},
  watches: [],
  allowedTargets: [],
  baseUrl: "http://127.0.0.1",
  multicastInterface: "127.0.0.1",
};

/** A supervisor over runs that answer pings, unless a test makes them mute. */
function open(init: () => PluginInit = () => INIT) {
  const clock = createFakeClock();
  const runs: Run[] = [];
  const states: string[] = [];
  const said: FromPlugin[] = [];
  const replies: ((message: ToPlugin) => void)[] = [];
  const behaviour = { mute: false, stops: true };
  const supervisor = new PluginSupervisor({
    clock,
    init,
    launchPlugin: (_init, events) => {
      const run: Run = { ...events, got: [], killed: false };
      runs.push(run);
      return {
        send(message) {
          run.got.push(message.kind);
          if (message.kind === "ping" && !behaviour.mute) run.onMessage({ kind: "pong" });
          if (message.kind === "shutdown" && behaviour.stops) run.onMessage({ kind: "stopped" });
        },
        async kill() {
          run.killed = true;
        },
      };
    },
    onMessage(message, reply) {
      said.push(message);
      replies.push(reply);
    },
    onState: (state, reason) => void states.push(reason === null ? state : `${state}: ${reason}`),
  });
  /** Starts it and lets its run number `at` become active. */
  const activate = async (at = 0): Promise<void> => {
    await clock.advance(0);
    runs[at]?.onMessage({ kind: "active" });
  };
  return { clock, runs, states, said, replies, behaviour, supervisor, activate };
}

describe("a supervised plugin", () => {
  it("is running when activate has returned", async () => {
    const { supervisor, activate, states, runs } = open();
    const started = supervisor.start();
    await activate();
    await started;
    expect(states).toEqual(["starting", "running"]);
    supervisor.send({ kind: "ping" });
    expect(runs[0]?.got).toEqual(["ping"]);
  });

  it("gets only replies before it is running", async () => {
    const { clock, supervisor, runs, replies } = open();
    void supervisor.start();
    await clock.advance(0);
    supervisor.send({ kind: "deliver", items: [] });
    runs[0]?.onMessage({ kind: "call", id: 1, method: "state.get", args: ["a"] });
    replies[0]?.({ kind: "reply", id: 1, value: null });
    expect(runs[0]?.got).toEqual(["reply"]);
  });

  it("gets no replies to calls of an earlier run", async () => {
    const { clock, supervisor, runs, replies } = open();
    void supervisor.start();
    await clock.advance(0);
    runs[0]?.onMessage({ kind: "call", id: 1, method: "state.get", args: ["a"] });
    runs[0]?.onEnd("gone");
    await clock.advance(1_000);
    replies[0]?.({ kind: "reply", id: 1, value: null });
    expect(runs.map(({ got }) => got)).toEqual([[], []]);
  });

  it("restarts after 1, 2, 4 and 8 s, and stops after the fifth failure", async () => {
    const { clock, supervisor, states, runs } = open();
    const started = supervisor.start();
    await clock.advance(0);
    runs[0]?.onEnd("ended");
    await started;
    for (const [at, delayMs] of [1_000, 2_000, 4_000, 8_000].entries()) {
      await clock.advance(delayMs - 1);
      expect(runs).toHaveLength(at + 1);
      await clock.advance(1);
      expect(runs).toHaveLength(at + 2);
      runs[at + 1]?.onMessage({ kind: "active" });
      runs[at + 1]?.onMessage({ kind: "fault", message: `number ${at + 2}`, stack: "" });
      expect(runs[at + 1]?.killed).toBe(true);
    }
    expect(states.at(-1)).toBe("stopped: uncaught exception: number 5");
    await clock.advance(3_600_000);
    expect(runs).toHaveLength(5);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([
    ["is not off while no five failures lie within 10 minutes", 150_000, "running"],
    ["is off with the fifth failure within 10 minutes", 149_000, "stopped"],
  ])("%s", async (_case, periodMs, state) => {
    const { clock, supervisor, runs, activate } = open();
    void supervisor.start();
    for (let at = 0; at < 5; at++) {
      await activate(at);
      if (at > 0) await clock.advance(periodMs - 8_000);
      runs[at]?.onEnd("ended");
      await clock.advance(8_000);
    }
    await activate(5);
    expect(supervisor.state).toBe(state);
  });

  it("counts as dead after 5 s without a message", async () => {
    const { clock, supervisor, runs, states, behaviour, activate } = open();
    void supervisor.start();
    await activate();
    await clock.advance(60_000);
    expect(supervisor.state).toBe("running");
    behaviour.mute = true;
    await clock.advance(4_000);
    runs[0]?.onMessage({ kind: "status", state: "ok", reason: null });
    await clock.advance(5_000);
    expect(supervisor.state).toBe("running");
    await clock.advance(1_000);
    expect(states.at(-1)).toBe("restarting: no response for 5 s");
    expect(runs[0]?.killed).toBe(true);
  });

  it("fails if it goes on talking, but answers no ping", async () => {
    const { clock, supervisor, states, runs, behaviour, activate } = open();
    void supervisor.start();
    await activate();
    behaviour.mute = true;
    for (let second = 1; second <= 31; second++) {
      expect(supervisor.state).toBe("running");
      runs[0]?.onMessage({ kind: "status", state: "ok", reason: null });
      await clock.advance(1_000);
    }
    expect(states.at(-1)).toBe("restarting: no response for 30 s");
    expect(runs[0]?.killed).toBe(true);
  });

  it("fails if it takes more than 10 s to start", async () => {
    const { clock, supervisor, states, runs } = open();
    const started = supervisor.start();
    await clock.advance(0);
    await clock.advance(9_999);
    expect(supervisor.state).toBe("starting");
    await clock.advance(1);
    await started;
    expect(states.at(-1)).toBe("restarting: start timed out after 10 s");
    expect(runs[0]?.killed).toBe(true);
  });

  it("fails if its start data cannot be created", async () => {
    const { supervisor, states } = open(() => {
      throw new RangeError("no key");
    });
    await supervisor.start();
    expect(states.at(-1)).toBe("restarting: failed to start: no key");
  });

  it("is ignored after it has failed", async () => {
    const { clock, supervisor, runs, said, activate } = open();
    void supervisor.start();
    await activate();
    runs[0]?.onEnd("ended");
    runs[0]?.onMessage({ kind: "outcomes", notes: [] });
    runs[0]?.onMessage({ kind: "active" });
    runs[0]?.onMessage({ kind: "fault", message: "again", stack: "" });
    expect(said).toEqual([]);
    await clock.advance(1_000);
    expect(runs).toHaveLength(2);
    expect(supervisor.state).toBe("restarting");
  });

  it("shuts down gracefully, and is gone when stop resolves", async () => {
    const { clock, supervisor, runs, said, behaviour, activate } = open();
    void supervisor.start();
    await activate();
    behaviour.stops = false;
    const stopped = supervisor.stop("no longer wanted");
    runs[0]?.onMessage({ kind: "outcomes", notes: [] });
    runs[0]?.onMessage({ kind: "fault", message: "while closing", stack: "" });
    runs[0]?.onMessage({ kind: "stopped" });
    await stopped;
    expect(runs[0]?.got).toEqual(["shutdown"]);
    expect(runs[0]?.killed).toBe(true);
    expect(said).toEqual([{ kind: "outcomes", notes: [] }]);
    expect(supervisor.state).toBe("disabled");
    expect(clock.pendingTimers()).toBe(0);
  });

  it("is terminated if it does not stop within 2 s", async () => {
    const { clock, supervisor, runs, behaviour, activate } = open();
    void supervisor.start();
    await activate();
    behaviour.stops = false;
    let gone = false;
    const stopped = supervisor.stop("no longer wanted").then(() => {
      gone = true;
    });
    await clock.advance(1_999);
    expect(gone).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(runs[0]?.killed).toBe(true);
  });

  it("is running after a restart, unless it was stopped in between", async () => {
    const { clock, supervisor, runs, states, activate, behaviour } = open();
    void supervisor.start();
    await activate();
    const back = supervisor.restart("new settings");
    await clock.advance(0);
    await activate(1);
    await back;
    expect(states).toEqual(["starting", "running", "restarting: new settings", "starting", "running"]);
    behaviour.stops = false;
    const never = supervisor.restart("newer settings");
    const stopped = supervisor.stop("no longer wanted");
    await clock.advance(1_999);
    expect(runs[1]?.killed).toBe(false);
    await clock.advance(1);
    await Promise.all([never, stopped]);
    expect(runs[1]?.killed).toBe(true);
    expect(runs).toHaveLength(2);
    expect(supervisor.state).toBe("disabled");
  });

  it("does not restart after a stop", async () => {
    const { clock, supervisor, runs } = open();
    const started = supervisor.start();
    await clock.advance(0);
    runs[0]?.onEnd("ended");
    await started;
    await supervisor.stop("no longer wanted");
    await clock.advance(60_000);
    expect(runs).toHaveLength(1);
  });

  it("clears its failures on a new start", async () => {
    const { clock, supervisor, runs } = open();
    void supervisor.start();
    for (let at = 0; at < 5; at++) {
      await clock.advance(20_000);
      runs.at(-1)?.onEnd("ended");
    }
    expect(supervisor.state).toBe("stopped");
    void supervisor.start();
    await clock.advance(0);
    runs.at(-1)?.onEnd("ended");
    expect(supervisor.state).toBe("restarting");
  });
});
