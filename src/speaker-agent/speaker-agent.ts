import { type Clock, sleep } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { type AgentEvent, createApplianceClient } from "./appliance-client.ts";
import { createApplianceClock } from "./appliance-clock.ts";
import { createAudioArbiter } from "./audio-arbiter.ts";
import type { OpenAudioOutput } from "./audio-output.ts";
import type { HostMachine } from "./host-machine.ts";
import { type OfflineRinger, startOfflineRinger } from "./offline-ringer.ts";
import { createPlanRefresher } from "./plan-refresher.ts";
import { openRingJournal } from "./ring-journal.ts";
import { deleteStoredPlan, openRingPlanStore, type RingPlanStore } from "./ring-plan-store.ts";
import type { RoomMicrophone } from "./room-microphone.ts";
import { openRtpReceiver } from "./rtp-receiver.ts";
import type { AgentRegistration, StateFolder } from "./state-folder.ts";

/** What an agent is made of. */
export interface SpeakerAgentDeps {
  clock: Clock;
  /** Where the appliance is reached, without a slash at its end. */
  server: string;
  /** Null for one that registers without. */
  joinSecret: string | null;
  state: StateFolder;
  machine: HostMachine;
  /** Who it is. */
  mac: string;
  name: string;
  model: string;
  version: string;
  /** Port for sound; 0 lets the system choose. */
  port: number;
  bufferMs: number;
  open: OpenAudioOutput;
  listen: ((onHeard: () => void) => RoomMicrophone) | null;
  /** Words for people, a line each. */
  log(words: string): void;
}

/** How long the appliance may hold a request. */
const LONG_POLL_MS = 8_000;
const RETRY_MS = 1_000;
const MAX_BACKOFF_MS = 15_000;

/** Runs an agent until `signal` aborts. Rejects with CallerError when the appliance does not want it. */
export async function runSpeakerAgent(needs: SpeakerAgentDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = needs;
  const appliance = createApplianceClient(needs.server, clock, signal);
  const applianceClock = createApplianceClock();
  const events: AgentEvent[] = [];
  const journal = await openRingJournal(needs.state);
  let wake = (): void => {};
  let offlineRinger: OfflineRinger | null = null;
  let planStore: RingPlanStore | null = null;
  let hasNewPlan = false;
  const arbiter = createAudioArbiter({
    ...needs,
    hasPlayedOffline: journal.hasPlayedOffline,
    onStreamStarted: (ssrc) => offlineRinger?.noteStreamStarted(ssrc),
    onEvent(event) {
      events.push({ ...event, at: event.at === null ? null : applianceClock.toApplianceTime(event.at) });
      wake();
    },
  });
  const receiver = await openRtpReceiver(needs.port, arbiter.handlePacket);
  try {
    const registration = await registerAgent(needs, appliance, signal);
    if (!registration) return;
    const opened = await openRingPlanStore({ ...needs, appliance, registration });
    planStore = opened;
    const now = (): number | null => applianceClock.toApplianceTime(clock.monotonicMs()) ?? opened.estimatedNow();
    offlineRinger = startOfflineRinger({ clock, arbiter, planStore, journal, now, log });
    log(`agent:${registration.mac} listens at port ${receiver.port}`);
    const onChange = (): void => {
      hasNewPlan = true;
      wake();
    };
    const upkeep = createPlanRefresher({
      clock,
      appliance,
      registration,
      planStore,
      journal,
      now,
      signal,
      onChange,
      log,
    });
    // Events must not wait for a request that the appliance holds: they go beside it.
    await Promise.all([pollCommands(registration, upkeep), sendEvents(registration)]);
  } finally {
    offlineRinger?.stop();
    arbiter.close();
    receiver.close();
  }

  async function pollCommands(membership: AgentRegistration, keepUp: () => void): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const askedAt = clock.monotonicMs();
      try {
        // The first answer, and that of an appliance which is back, says how things stand: nothing is waited for.
        const isFirst = applianceClock.uncertaintyMs === null || failures > 0;
        const waitMs = isFirst ? 0 : LONG_POLL_MS;
        const answer = await appliance.poll(membership, pollRequest(waitMs, []));
        const { receivedAt, sentAt, commands, settings } = answer;
        applianceClock.addExchange({ askedAt, receivedAt, sentAt, answeredAt: clock.monotonicMs() });
        if (failures > 0) log("the appliance is back");
        failures = 0;
        offlineRinger?.noteContact();
        keepUp();
        arbiter.applySettings(settings);
        receiver.joinGroups(settings.zones);
        for (const command of commands) arbiter.handleCommand(command);
        // It holds no more requests at the moment.
        if (!isFirst && commands.length === 0 && clock.monotonicMs() - askedAt < RETRY_MS)
          await pause(RETRY_MS, signal, clock);
      } catch (error) {
        if (signal.aborted) return;
        // It is there, and says no: it is not stood in for.
        if (error instanceof CallerError) offlineRinger?.noteContact();
        if (failures++ === 0) log(errorMessage(error));
        await pause(Math.min(MAX_BACKOFF_MS, RETRY_MS * 2 ** (failures - 1)), signal, clock);
      }
    }
  }

  async function sendEvents(membership: AgentRegistration): Promise<void> {
    while (!signal.aborted) {
      if (events.length === 0 && !hasNewPlan) await nextEvent();
      const told = events.splice(0);
      if (told.length === 0 && !hasNewPlan) continue;
      hasNewPlan = false;
      try {
        const { commands } = await appliance.poll(membership, pollRequest(0, told));
        for (const command of commands) arbiter.handleCommand(command);
        offlineRinger?.noteContact();
      } catch {
        // What is late by so much is of no use to anybody.
        await pause(RETRY_MS, signal, clock);
      }
    }
  }

  function pollRequest(waitMs: number, events: AgentEvent[]): Parameters<typeof appliance.poll>[1] {
    return { port: receiver.port, waitMs, events, plan: planStore?.status ?? { until: null, inOrderAt: null } };
  }

  function nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** The membership that is kept, else a new one; asks until the appliance answers. Null when it was called off. */
async function registerAgent(
  { state, server, mac, name, model, version, listen, joinSecret, clock, log }: SpeakerAgentDeps,
  appliance: ReturnType<typeof createApplianceClient>,
  signal: AbortSignal,
): Promise<AgentRegistration | null> {
  const known = await state.readRegistration();
  // Who registered before there were plans gets their key only by registering anew.
  const isOurs = known?.server === server && known.mac === mac;
  if (isOurs && ((known.planKey ?? null) !== null || joinSecret === null)) return known;
  const introduction = { mac, name, model, version, capabilities: { selfTest: listen !== null } };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { token, configured, planKey = null } = await appliance.register(introduction, joinSecret);
      const membership = { server, mac, token, planKey };
      // Numbers of plans are those of one key.
      if (planKey !== (known?.planKey ?? null)) await deleteStoredPlan(state);
      await state.writeRegistration(membership);
      log(configured ? "registered" : "registered; waits at the appliance to be set up");
      return membership;
    } catch (error) {
      if (error instanceof CallerError) {
        if (!isOurs) throw error;
        log(`no plans of rings without registering anew: ${error.message}`);
        return known;
      }
      if (failures === 0) log(errorMessage(error));
      await pause(Math.min(MAX_BACKOFF_MS, RETRY_MS * 2 ** failures), signal, clock);
    }
  }
  return null;
}

async function pause(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  await sleep(clock, ms, signal).catch(() => undefined);
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
