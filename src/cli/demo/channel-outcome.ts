import { DELIVERY_LEVELS, type DeliveryLevel } from "../../resources/broadcasts/delivery-levels.ts";
import { CHANNELS } from "./channels.ts";
import type { LedgerLine } from "./follow.ts";
import type { CampusAccount } from "./outcome.ts";
import { linesOf } from "./table.ts";

/** What came of one channel. */
export interface ChannelResult {
  channel: string;
  /** Deliveries in the ledger. */
  sent: number;
  /** What the far end says it got: messages, or listeners that heard every packet. */
  received: number;
  /** The least that is proven of any of them. */
  proven: DeliveryLevel | null;
  /** Until that was proven of the last, ms after the request. */
  ms: number | null;
  /** Whether all were received, and as much is proven as the channel can. */
  ok: boolean;
}

/** Judges every channel by the ledger and by what its far end got. `sentAt` is the moment of the request, epoch ms. */
export function channelResults(
  ledger: readonly LedgerLine[],
  account: CampusAccount,
  subject: string,
  sentAt: number,
): ChannelResult[] {
  const services = CHANNELS.map((channel) => {
    const got = account.receptions.filter((each) => each.service === channel.service);
    const received = got.filter(({ words, packets }) => packets > 0 || words.includes(subject)).length;
    const lines = ledger.filter(({ provider }) => provider === channel.plugin);
    return resultOf(channel.name, lines, received, channel.proves, sentAt);
  });
  const heardBy = (kind: "phones" | "zones"): number => account[kind].filter(({ exact }) => exact === true).length;
  const linesBy = (plugin: string): LedgerLine[] => ledger.filter(({ provider }) => provider === plugin);
  return [
    resultOf("IP phones", linesBy("ip-phones"), heardBy("phones"), "playing", sentAt),
    resultOf("Multicast zones", linesBy("multicast-zones"), heardBy("zones"), "sent", sentAt),
    ...services,
  ];
}

function resultOf(
  channel: string,
  lines: readonly LedgerLine[],
  received: number,
  proves: DeliveryLevel,
  sentAt: number,
): ChannelResult {
  const proven = lines.map(({ level }) => level).sort((a, b) => rank(a) - rank(b))[0] ?? null;
  const times = lines.map((line) => Date.parse(momentOf(line) ?? "") - sentAt);
  const enough = proven !== null && rank(proven) >= rank(proves);
  return {
    channel,
    sent: lines.length,
    received,
    proven,
    ms: times.length > 0 && times.every(Number.isFinite) ? Math.round(Math.max(...times)) : null,
    ok: enough && lines.length > 0 && received >= lines.length,
  };
}

/** Levels that prove something rise; the three ends without proof are below all of them. */
function rank(level: DeliveryLevel): number {
  const place = DELIVERY_LEVELS.indexOf(level);
  return place >= DELIVERY_LEVELS.indexOf("failed") ? -1 : place;
}

function momentOf({ level, sentAt, acceptedAt, playingAt, provenAt }: LedgerLine): string | null {
  const moments: Partial<Record<DeliveryLevel, string | null>> = {
    sent: sentAt,
    accepted: acceptedAt,
    playing: playingAt,
    heard: provenAt,
    confirmed: provenAt,
  };
  return moments[level] ?? null;
}

/** For people: a line for each channel, then one for each delivery that has a reason. */
export function channelTable(results: readonly ChannelResult[], ledger: readonly LedgerLine[]): string[] {
  const rows = results.map(({ channel, sent, received, proven, ms, ok }) => {
    return [channel, String(sent), String(received), proven ?? "-", ms === null ? "-" : `${ms} ms`, ok ? "" : "SHORT"];
  });
  const reasons = ledger.flatMap(({ name, deviceIdentifier, reason }) =>
    reason === null ? [] : [`${name || deviceIdentifier}: ${reason}`],
  );
  return [...linesOf([["Channel", "Sent", "Received", "Proven", "After", ""], ...rows]), ...reasons];
}
