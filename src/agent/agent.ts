import { type Clock, sleep } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import { type AgentEvent, createAppliance } from "./appliance.ts";
import { createApplianceClock } from "./appliance-clock.ts";
import { openEars } from "./ears.ts";
import { type LoneRinging, startLoneRinging } from "./lone-ringing.ts";
import type { Machine } from "./machine.ts";
import type { Microphone } from "./microphone.ts";
import { forgetPlan, openPlanKeeper, type PlanKeeper } from "./plan-keeper.ts";
import type { OpenOutput } from "./player.ts";
import { openRingBook } from "./ring-book.ts";
import { createStage } from "./stage.ts";
import type { Membership, StateFolder } from "./state-folder.ts";
import { createUpkeep } from "./upkeep.ts";

/** What an agent is made of. */
export interface AgentNeeds {
  clock: Clock;
  /** Where the appliance is reached, without a slash at its end. */
  server: string;
  /** Null for one that registers without. */
  joinSecret: string | null;
  state: StateFolder;
  machine: Machine;
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
  const applianceClock = createApplianceClock();
  const events: AgentEvent[] = [];
  const book = await openRingBook(needs.state);
  let wake = (): void => {};
  let lone: LoneRinging | null = null;
  let keeper: PlanKeeper | null = null;
  let hasNewPlan = false;
  const stage = createStage({
    ...needs,
    hasRung: book.playedAlone,
    onStream: (ssrc) => lone?.streamBegan(ssrc),
    tell(event) {
      events.push({ ...event, at: event.at === null ? null : applianceClock.at(event.at) });
      wake();
    },
  });
  const ears = await openEars(needs.port, stage.hear);
  try {
    const membership = await join(needs, appliance, signal);
    if (!membership) return;
    const opened = await openPlanKeeper({ ...needs, appliance, membership });
    keeper = opened;
    const now = (): number | null => applianceClock.at(clock.monotonicMs()) ?? opened.now();
    lone = startLoneRinging({ clock, stage, keeper, book, now, log });
    log(`agent:${membership.mac} listens at port ${ears.port}`);
    const onChange = (): void => {
      hasNewPlan = true;
      wake();
    };
    const upkeep = createUpkeep({ clock, appliance, membership, keeper, book, now, signal, onChange, log });
    // Events must not wait for a request that the appliance holds: they go beside it.
    await Promise.all([askForCommands(membership, upkeep), tellEvents(membership)]);
  } finally {
    lone?.stop();
    stage.close();
    ears.close();
  }

  async function askForCommands(membership: Membership, keepUp: () => void): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const askedAt = clock.monotonicMs();
      try {
        // The first answer, and that of an appliance which is back, says how things stand: nothing is waited for.
        const isFirst = applianceClock.doubtMs === null || failures > 0;
        const waitMs = isFirst ? 0 : WAIT_MS;
        const answer = await appliance.beat(membership, beatOf(waitMs, []));
        const { receivedAt, sentAt, commands, settings } = answer;
        applianceClock.learn({ askedAt, receivedAt, sentAt, answeredAt: clock.monotonicMs() });
        if (failures > 0) log("the appliance is back");
        failures = 0;
        lone?.heard();
        keepUp();
        stage.set(settings);
        ears.listenTo(settings.zones);
        for (const command of commands) stage.take(command);
        // It holds no more requests at the moment.
        if (!isFirst && commands.length === 0 && clock.monotonicMs() - askedAt < TRY_AGAIN_MS)
          await pause(TRY_AGAIN_MS, signal, clock);
      } catch (error) {
        if (signal.aborted) return;
        // It is there, and says no: it is not stood in for.
        if (error instanceof CallerError) lone?.heard();
        if (failures++ === 0) log(wordsOf(error));
        await pause(Math.min(LONGEST_PAUSE_MS, TRY_AGAIN_MS * 2 ** (failures - 1)), signal, clock);
      }
    }
  }

  async function tellEvents(membership: Membership): Promise<void> {
    while (!signal.aborted) {
      if (events.length === 0 && !hasNewPlan) await nextEvent();
      const told = events.splice(0);
      if (told.length === 0 && !hasNewPlan) continue;
      hasNewPlan = false;
      try {
        const { commands } = await appliance.beat(membership, beatOf(0, told));
        for (const command of commands) stage.take(command);
        lone?.heard();
      } catch {
        // What is late by so much is of no use to anybody.
        await pause(TRY_AGAIN_MS, signal, clock);
      }
    }
  }

  function beatOf(waitMs: number, events: AgentEvent[]): Parameters<typeof appliance.beat>[1] {
    return { port: ears.port, waitMs, events, plan: keeper?.held ?? { until: null, inOrderAt: null } };
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
  // Who registered before there were plans gets their key only by registering anew.
  const isOurs = known?.server === server && known.mac === mac;
  if (isOurs && ((known.planKey ?? null) !== null || joinSecret === null)) return known;
  const introduction = { mac, name, model, version, capabilities: { selfTest: listen !== null } };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { token, configured, planKey = null } = await appliance.register(introduction, joinSecret);
      const membership = { server, mac, token, planKey };
      // Numbers of plans are those of one key.
      if (planKey !== (known?.planKey ?? null)) await forgetPlan(state);
      await state.join(membership);
      log(configured ? "registered" : "registered; waits at the appliance to be set up");
      return membership;
    } catch (error) {
      if (error instanceof CallerError) {
        if (!isOurs) throw error;
        log(`no plans of rings without registering anew: ${error.message}`);
        return known;
      }
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
