import { type Clock, sleep } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import { type AgentEvent, createAppliance } from "./appliance.ts";
import { createApplianceClock } from "./appliance-clock.ts";
import { openEars } from "./ears.ts";
import type { Microphone } from "./microphone.ts";
import type { OpenOutput } from "./player.ts";
import { createStage } from "./stage.ts";
import type { Membership, StateFolder } from "./state-folder.ts";

/** What an agent is made of. */
export interface AgentNeeds {
  clock: Clock;
  /** Where the appliance is reached, without a slash at its end. */
  server: string;
  /** Null for one that registers without. */
  joinSecret: string | null;
  state: StateFolder;
  /** Who it is. */
  mac: string;
  name: string;
  model: string;
  version: string;
  /** Port for sound; 0 lets the system choose. */
  port: number;
  bufferMs: number;
  open: OpenOutput;
  listen: ((onHeard: () => void) => Microphone) | null;
  /** Words for people, a line each. */
  log(words: string): void;
}

/** How long the appliance may hold a request. */
const WAIT_MS = 8_000;
const TRY_AGAIN_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** Runs an agent until `signal` aborts. Rejects with CallerError when the appliance does not want it. */
export async function runAgent(needs: AgentNeeds, signal: AbortSignal): Promise<void> {
  const { clock, log } = needs;
  const appliance = createAppliance(needs.server, clock, signal);
  const applianceClock = createApplianceClock(clock);
  const events: AgentEvent[] = [];
  let wake = (): void => {};
  const stage = createStage({
    ...needs,
    tell(event) {
      events.push({ ...event, at: event.at === null ? null : applianceClock.at(event.at) });
      wake();
    },
  });
  const ears = await openEars(needs.port, stage.hear);
  try {
    const membership = await join(needs, appliance, signal);
    if (!membership) return;
    log(`agent:${membership.mac} listens at port ${ears.port}`);
    // Events must not wait for a request that the appliance holds: they go beside it.
    await Promise.all([askForCommands(membership), tellEvents(membership)]);
  } finally {
    stage.close();
    ears.close();
  }

  async function askForCommands(membership: Membership): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const askedAt = clock.now();
      try {
        const answer = await appliance.beat(membership, { port: ears.port, waitMs: WAIT_MS, events: [] });
        const { receivedAt, sentAt, commands, settings } = answer;
        applianceClock.learn({ askedAt, receivedAt, sentAt, answeredAt: clock.now() });
        if (failures > 0) log("the appliance is back");
        failures = 0;
        stage.set(settings);
        ears.listenTo(settings.zones);
        for (const command of commands) stage.take(command);
        // It holds no more requests at the moment.
        if (commands.length === 0 && clock.now() - askedAt < TRY_AGAIN_MS) await pause(TRY_AGAIN_MS, signal, clock);
      } catch (error) {
        if (signal.aborted) return;
        if (failures++ === 0) log(wordsOf(error));
        await pause(Math.min(LONGEST_PAUSE_MS, TRY_AGAIN_MS * 2 ** (failures - 1)), signal, clock);
      }
    }
  }

  async function tellEvents(membership: Membership): Promise<void> {
    while (!signal.aborted) {
      if (events.length === 0) await nextEvent();
      const told = events.splice(0);
      if (told.length === 0) continue;
      try {
        await appliance.beat(membership, { port: ears.port, waitMs: 0, events: told });
      } catch {
        // What is late by so much is of no use to anybody.
        await pause(TRY_AGAIN_MS, signal, clock);
      }
    }
  }

  function nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** The membership that is kept, else a new one; asks until the appliance answers. Null when it was called off. */
async function join(
  { state, server, mac, name, model, version, listen, joinSecret, clock, log }: AgentNeeds,
  appliance: ReturnType<typeof createAppliance>,
  signal: AbortSignal,
): Promise<Membership | null> {
  const known = await state.membership();
  if (known?.server === server && known.mac === mac) return known;
  const introduction = { mac, name, model, version, capabilities: { selfTest: listen !== null } };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { token, configured } = await appliance.register(introduction, joinSecret);
      const membership = { server, mac, token };
      await state.join(membership);
      log(configured ? "registered" : "registered; waits at the appliance to be set up");
      return membership;
    } catch (error) {
      if (error instanceof CallerError) throw error;
      if (failures === 0) log(wordsOf(error));
      await pause(Math.min(LONGEST_PAUSE_MS, TRY_AGAIN_MS * 2 ** failures), signal, clock);
    }
  }
  return null;
}

async function pause(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  await sleep(clock, ms, signal).catch(() => undefined);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
