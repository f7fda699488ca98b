import type { ShownPage, SimulatorPhone } from "./phone.ts";
import {
  analyzeReception,
  countReceivedPackets,
  createAnalysisCache,
  type ListeningSession,
  NOTHING_RECEIVED,
  type PacketLoss,
  type ReceivedAudio,
} from "./reception-analysis.ts";
import type { ReceivedMessage } from "./services/service.ts";
import type { SimulatedAgentReport } from "./simulated-agents.ts";
import { packetLossOf, type SimulatorState } from "./simulator-state.ts";

/** What one phone displayed and received; times in ms of the simulator's clock, null for what never happened. */
export interface PhoneReport extends ReceivedAudio {
  deviceIdentifier: string;
  joinedAt: number | null;
  leftAt: number | null;
  pushes: number;
  /** Number of commands to play a stream, successful or not. */
  starts: number;
  authCalls: number;
  pages: ShownPage[];
  errors: string[];
  /** Earlier streams, oldest first. */
  earlier: EarlierStreamReport[];
}

/** A stream before the newest one. */
export interface EarlierStreamReport {
  address: string;
  port: number;
  joinedAt: number;
  leftAt: number | null;
  packets: number;
  lost: number;
  ssrc: number | null;
  firstPacketAt: number | null;
}

/** What the speaker of one zone received. */
export interface ZoneReport extends ReceivedAudio {
  deviceIdentifier: string;
}

/** Totals of all devices; `listeners` received at least one packet. */
export interface SimulatorReportSummary {
  phones: number;
  zones: number;
  joined: number;
  listeners: number;
  exact: number;
  packets: number;
  lost: number;
  pushes: number;
  authCalls: number;
  pages: number;
  errors: number;
  /** Earliest and latest first packet of all listeners. */
  firstPacketAt: number | null;
  lastFirstPacketAt: number | null;
  /** Frames of the expected audio; null if it is not set. */
  programmePackets: number | null;
}

/** Report of what the simulated devices received. @source docs/decisions/0019-simulator.md */
export interface SimulatorReport {
  summary: SimulatorReportSummary;
  phones: PhoneReport[];
  zones: ZoneReport[];
  agents: SimulatedAgentReport[];
  /** Messages received by the simulated services. */
  receptions: ReceivedMessage[];
}

/** Computes the report from the current records. */
export function createSimulatorReport(simulator: SimulatorState): SimulatorReport {
  const cache = createAnalysisCache();
  const phones = simulator.phones.map((phone): PhoneReport => {
    const listening = phone.mute ? null : phone.session;
    const loss = packetLossOf(simulator, phone.index);
    const heard = listening ? analyzeReception(listening, loss, simulator.expectedAudio, cache) : NOTHING_RECEIVED;
    return describePhone(
      phone,
      heard,
      phone.mute ? [] : phone.earlierSessions.map((stay) => describeEarlier(stay, loss)),
    );
  });
  const zones = simulator.zones.map((zone, index): ZoneReport => {
    const loss = packetLossOf(simulator, simulator.phones.length + index);
    return { deviceIdentifier: zone.name, ...analyzeReception(zone.listening, loss, simulator.expectedAudio, cache) };
  });
  return {
    summary: summarise(simulator, phones, zones),
    phones,
    zones,
    receptions: simulator.services?.receptions() ?? [],
    agents: simulator.agents.reports(simulator.expectedAudio),
  };
}

function describeEarlier(stay: ListeningSession, loss: PacketLoss): EarlierStreamReport {
  const { address, port } = stay.source;
  return { address, port, joinedAt: stay.joinedAt, leftAt: stay.leftAt, ...countReceivedPackets(stay, loss) };
}

function describePhone(phone: SimulatorPhone, heard: ReceivedAudio, earlier: EarlierStreamReport[]): PhoneReport {
  return {
    deviceIdentifier: phone.name,
    joinedAt: phone.session?.joinedAt ?? null,
    leftAt: phone.session?.leftAt ?? null,
    ...heard,
    pushes: phone.pushes,
    starts: phone.starts,
    authCalls: phone.authCalls,
    pages: phone.pages,
    errors: phone.errors,
    earlier,
  };
}

function summarise(simulator: SimulatorState, phones: PhoneReport[], zones: ZoneReport[]): SimulatorReportSummary {
  const heard: ReceivedAudio[] = [...phones, ...zones];
  const listeners = heard.filter((one) => one.packets > 0);
  const firsts = listeners.map((one) => one.firstPacketAt ?? 0);
  const extreme = (pick: (a: number, b: number) => number): number | null =>
    firsts.length > 0 ? firsts.reduce((a, b) => pick(a, b)) : null;
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    phones: phones.length,
    zones: zones.length,
    joined: phones.filter((phone) => phone.joinedAt !== null).length,
    listeners: listeners.length,
    exact: heard.filter((one) => one.exact === true).length,
    packets: sum(heard.map((one) => one.packets)),
    lost: sum(heard.map((one) => one.lost)),
    pushes: sum(phones.map((phone) => phone.pushes)),
    authCalls: sum(phones.map((phone) => phone.authCalls)),
    pages: sum(phones.map((phone) => phone.pages.length)),
    errors: sum(phones.map((phone) => phone.errors.length)),
    firstPacketAt: extreme(Math.min),
    lastFirstPacketAt: extreme(Math.max),
    programmePackets: simulator.expectedAudio?.frames ?? null,
  };
}
