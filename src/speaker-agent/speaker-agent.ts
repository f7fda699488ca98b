import { backoffMs } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { NetworkWatch } from "../lib/network-watch.ts";
import { abortable, pause } from "../lib/waits.ts";
import { type AgentEvent, createApplianceClient } from "./appliance-client.ts";
import { createApplianceClock } from "./appliance-clock.ts";
import { createAudioArbiter } from "./audio-arbiter.ts";
import type { OpenAudioOutput } from "./audio-output.ts";
import type { HostMachine } from "./host-machine.ts";
import { type OfflineRinger, startOfflineRinger } from "./offline-ringer.ts";
import { createPlanRefresher } from "./plan-refresher.ts";
import { openRingJournal } from "./ring-journal.ts";
import { deleteStoredPlan, openRingPlanStore, type RingPlanStore } from "./ring-plan-store.ts";
import type { OpenRoomMicrophone } from "./room-microphone.ts";
import { openRtpReceiver } from "./rtp-receiver.ts";
import type { AgentRegistration, StateFolder } from "./state-folder.ts";

export interface SpeakerAgentDeps {
  clock: Clock;
  /** Base URL of the appliance without a trailing slash. */
  server: string;
  /** Null to register without a join secret. */
  joinSecret: string | null;
  state: StateFolder;
  machine: HostMachine;
  /** Identity of the agent. */
  mac: string;
  name: string;
  model: string;
  version: string;
  /** RTP port; 0 lets the system choose. */
  port: number;
  bufferMs: number;
  open: OpenAudioOutput;
  listen: OpenRoomMicrophone | null;
  /** Watches this machine's network; null for agents that share their process with others. */
  watchNetwork: ((onChange: () => void) => Pick<NetworkWatch, "start" | "stop">) | null;
  /** Receives one line of text for people. */
  log(message: string): void;
}

/** Wait time of a long poll. */
const LONG_POLL_MS = 8_000;
const RETRY_MS = 1_000;
const MAX_BACKOFF_MS = 15_000;

/** Runs an agent until `signal` aborts. Rejects with CallerError if the appliance refuses it. */
export async function runSpeakerAgent(deps: SpeakerAgentDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  const appliance = createApplianceClient(deps.server, clock, signal);
  const applianceClock = createApplianceClock();
  const events: AgentEvent[] = [];
  const journal = await openRingJournal(deps.state);
  let wake = (): void => {};
  let offlineRinger: OfflineRinger | null = null;
  let planStore: RingPlanStore | null = null;
  let hasNewPlan = false;
  const arbiter = createAudioArbiter({
    ...deps,
    hasPlayedOffline: journal.hasPlayedOffline,
    onStreamStarted: (ssrc) => offlineRinger?.noteStreamStarted(ssrc),
    onEvent(event) {
      events.push({ ...event, at: event.at === null ? null : applianceClock.toApplianceTime(event.at) });
      wake();
    },
  });
  const receiver = await openRtpReceiver(deps.port, arbiter.handlePacket);
  const network = deps.watchNetwork?.(receiver.rejoin);
  network?.start();
  try {
    const registration = await registerAgent(deps, appliance, signal);
    if (!registration) return;
    const opened = await openRingPlanStore({ ...deps, appliance, registration });
    planStore = opened;
    const now = (): number | null => applianceClock.toApplianceTime(clock.monotonicMs()) ?? opened.estimatedNow();
    offlineRinger = startOfflineRinger({ clock, arbiter, planStore, journal, now, log });
    log(`agent:${registration.mac} listening on port ${receiver.port}`);
    const onChange = (): void => {
      hasNewPlan = true;
      wake();
    };
    const refreshPlan = createPlanRefresher({
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
    // Events are sent in parallel: they must not wait for the long poll.
    await Promise.all([pollCommands(registration, refreshPlan), sendEvents(registration)]);
  } finally {
    offlineRinger?.stop();
    arbiter.close();
    network?.stop();
    receiver.close();
  }

  async function pollCommands(registration: AgentRegistration, refreshPlan: () => void): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const askedAt = clock.monotonicMs();
      try {
        // The first poll, and the first one after an outage, must return at once to synchronize.
        const isFirst = applianceClock.uncertaintyMs === null || failures > 0;
        const waitMs = isFirst ? 0 : LONG_POLL_MS;
        const answer = await appliance.poll(registration, pollRequest(waitMs, []));
        const { receivedAt, sentAt, commands, settings } = answer;
        applianceClock.addExchange({ askedAt, receivedAt, sentAt, answeredAt: clock.monotonicMs() });
        if (failures > 0) log("reconnected to the appliance");
        failures = 0;
        offlineRinger?.noteContact();
        refreshPlan();
        arbiter.applySettings(settings);
        receiver.joinGroups(settings.zones);
        for (const command of commands) arbiter.handleCommand(command);
        // The appliance answered at once: it holds no more long polls at the moment.
        if (!isFirst && commands.length === 0 && clock.monotonicMs() - askedAt < RETRY_MS)
          await pause(clock, RETRY_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        // A refusal proves that the appliance is online, so the agent must not ring offline.
        if (error instanceof CallerError) offlineRinger?.noteContact();
        if (failures++ === 0) log(errorMessage(error));
        await pause(clock, backoffMs(failures, RETRY_MS, MAX_BACKOFF_MS), signal);
      }
    }
  }

  async function sendEvents(registration: AgentRegistration): Promise<void> {
    while (!signal.aborted) {
      if (events.length === 0 && !hasNewPlan) await nextEvent();
      const reported = events.splice(0);
      if (reported.length === 0 && !hasNewPlan) continue;
      hasNewPlan = false;
      try {
        const { commands } = await appliance.poll(registration, pollRequest(0, reported));
        for (const command of commands) arbiter.handleCommand(command);
        offlineRinger?.noteContact();
      } catch {
        // Late events are useless, so they are not resent.
        await pause(clock, RETRY_MS, signal);
      }
    }
  }

  function pollRequest(waitMs: number, events: AgentEvent[]): Parameters<typeof appliance.poll>[1] {
    const plan = planStore?.status ?? { until: null, inOrderAt: null };
    return { port: receiver.port, waitMs, events, plan, srtp: true, strangers: arbiter.takeStrangers() };
  }

  function nextEvent(): Promise<void> {
    const next = new Promise<void>((resolve) => {
      wake = resolve;
    });
    return abortable(next, signal).catch(() => undefined);
  }
}

/** The stored registration, else a new one; retries until the appliance responds. Null if aborted. */
async function registerAgent(
  { state, server, mac, name, model, version, listen, joinSecret, clock, log }: SpeakerAgentDeps,
  appliance: ReturnType<typeof createApplianceClient>,
  signal: AbortSignal,
): Promise<AgentRegistration | null> {
  const known = await state.readRegistration();
  // Registrations from before ring plans lack the key, which only a new registration provides.
  const isOurs = known?.server === server && known.mac === mac;
  if (isOurs && ((known.planKey ?? null) !== null || joinSecret === null)) return known;
  const introduction = { mac, name, model, version, capabilities: { selfTest: listen !== null, srtp: true } };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { token, configured, planKey = null } = await appliance.register(introduction, joinSecret);
      const registration = { server, mac, token, planKey };
      // Plan sequences belong to one key.
      if (planKey !== (known?.planKey ?? null)) await deleteStoredPlan(state);
      await state.writeRegistration(registration);
      log(configured ? "registered" : "registered; waiting to be accepted on the appliance");
      return registration;
    } catch (error) {
      if (error instanceof CallerError) {
        if (!isOurs) throw error;
        log(`registration for ring plans refused: ${error.message}`);
        return known;
      }
      if (failures === 0) log(errorMessage(error));
      await pause(clock, backoffMs(failures + 1, RETRY_MS, MAX_BACKOFF_MS), signal);
    }
  }
  return null;
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
