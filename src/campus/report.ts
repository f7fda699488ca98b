import type { AgentReport } from "./agents.ts";
import {
  countHeard,
  describeHeard,
  type Heard,
  type Listening,
  type Loss,
  NOTHING_HEARD,
  newHeardCache,
} from "./heard.ts";
import type { Phone, ShownPage } from "./phone.ts";
import type { Reception } from "./services/service.ts";
import { type CampusState, lossOf } from "./state.ts";

/** What one phone saw and heard; times in ms of the campus's clock, null for what never happened. */
export interface PhoneReport extends Heard {
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
  earlier: EarlierStream[];
}

/** A stream that a phone received before its newest one. */
export interface EarlierStream {
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
export interface ZoneReport extends Heard {
  deviceIdentifier: string;
}

/** Counts over all devices; `listeners` heard at least one packet. */
export interface ReportSummary {
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
export interface CampusReport {
  summary: ReportSummary;
  phones: PhoneReport[];
  zones: ZoneReport[];
  agents: AgentReport[];
  /** What came by mail, text message and the other services. */
  receptions: Reception[];
}

/** Works out the whole report from the records as they are now. */
export function makeReport(campus: CampusState): CampusReport {
  const cache = newHeardCache();
  const phones = campus.phones.map((phone): PhoneReport => {
    const listening = phone.mute ? null : phone.listening;
    const loss = lossOf(campus, phone.index);
    const heard = listening ? describeHeard(listening, loss, campus.programme, cache) : NOTHING_HEARD;
    return describePhone(phone, heard, phone.mute ? [] : phone.earlier.map((stay) => describeEarlier(stay, loss)));
  });
  const zones = campus.zones.map((zone, index): ZoneReport => {
    const loss = lossOf(campus, campus.phones.length + index);
    return { deviceIdentifier: zone.name, ...describeHeard(zone.listening, loss, campus.programme, cache) };
  });
  return {
    summary: summarise(campus, phones, zones),
    phones,
    zones,
    receptions: campus.services?.receptions() ?? [],
    agents: campus.agents.reports(campus.programme),
  };
}

function describeEarlier(stay: Listening, loss: Loss): EarlierStream {
  const { address, port } = stay.source;
  return { address, port, joinedAt: stay.joinedAt, leftAt: stay.leftAt, ...countHeard(stay, loss) };
}

function describePhone(phone: Phone, heard: Heard, earlier: EarlierStream[]): PhoneReport {
  return {
    deviceIdentifier: phone.name,
    joinedAt: phone.listening?.joinedAt ?? null,
    leftAt: phone.listening?.leftAt ?? null,
    ...heard,
    pushes: phone.pushes,
    starts: phone.starts,
    authCalls: phone.authCalls,
    pages: phone.pages,
    errors: phone.errors,
    earlier,
  };
}

function summarise(campus: CampusState, phones: PhoneReport[], zones: ZoneReport[]): ReportSummary {
  const heard: Heard[] = [...phones, ...zones];
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
    programmePackets: campus.programme?.frames ?? null,
  };
}
