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

/** What one phone saw and heard; times in ms of the campus's clock, null for what never happened. */
export interface PhoneReport extends ReceivedAudio {
  deviceIdentifier: string;
  joinedAt: number | null;
  leftAt: number | null;
  pushes: number;
  /** How often it was asked to play a stream, whatever came of it. */
  starts: number;
  authCalls: number;
  pages: ShownPage[];
  errors: string[];
  /** The streams before the one described, oldest first. */
  earlier: EarlierStreamReport[];
}

/** A stream that a phone received before its newest one. */
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

/** What the loudspeaker of one zone heard. */
export interface ZoneReport extends ReceivedAudio {
  deviceIdentifier: string;
}

/** Counts over all devices; `listeners` heard at least one packet. */
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
  /** The first and the last of all listeners' first packets. */
  firstPacketAt: number | null;
  lastFirstPacketAt: number | null;
  /** Frames of the programme that `exact` compares with; null when none is known. */
  programmePackets: number | null;
}

/** The campus's account of what really happened. @source interfaces.md, Campus */
export interface SimulatorReport {
  summary: SimulatorReportSummary;
  phones: PhoneReport[];
  zones: ZoneReport[];
  agents: SimulatedAgentReport[];
  /** What came by mail, text message and the other services. */
  receptions: ReceivedMessage[];
}

/** Works out the whole report from the records as they are now. */
export function createSimulatorReport(campus: SimulatorState): SimulatorReport {
  const cache = createAnalysisCache();
  const phones = campus.phones.map((phone): PhoneReport => {
    const listening = phone.mute ? null : phone.session;
    const loss = packetLossOf(campus, phone.index);
    const heard = listening ? analyzeReception(listening, loss, campus.expectedAudio, cache) : NOTHING_RECEIVED;
    return describePhone(
      phone,
      heard,
      phone.mute ? [] : phone.earlierSessions.map((stay) => describeEarlier(stay, loss)),
    );
  });
  const zones = campus.zones.map((zone, index): ZoneReport => {
    const loss = packetLossOf(campus, campus.phones.length + index);
    return { deviceIdentifier: zone.name, ...analyzeReception(zone.listening, loss, campus.expectedAudio, cache) };
  });
  return {
    summary: summarise(campus, phones, zones),
    phones,
    zones,
    receptions: campus.services?.receptions() ?? [],
    agents: campus.agents.reports(campus.expectedAudio),
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

function summarise(campus: SimulatorState, phones: PhoneReport[], zones: ZoneReport[]): SimulatorReportSummary {
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
    programmePackets: campus.expectedAudio?.frames ?? null,
  };
}
