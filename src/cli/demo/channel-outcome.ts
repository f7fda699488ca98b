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

/** As far as the channels can prove a delivery whose far ends are the campus's own phones and zones. */
const CAMPUS_PROVES = { "ip-phones": "playing", "multicast-zones": "sent" } as const;

const PROVES: ReadonlyMap<string | null, DeliveryLevel> = new Map<string | null, DeliveryLevel>([
  ...Object.entries(CAMPUS_PROVES),
  ...CHANNELS.map(({ plugin, proves }) => [plugin, proves] as const),
]);

/** Whether a delivery has ended, or is proven as far as its channel can: some go on waiting for an answer. */
export function isProven({ provider, level, endedAt }: LedgerLine): boolean {
  const proves = PROVES.get(provider);
  return endedAt !== null || (proves !== undefined && rank(level) >= rank(proves));
}

/** Judges every channel by the ledger and by what its far end got. `sentAt` is the moment of the request, epoch ms. */
export function channelResults(
  ledger: readonly LedgerLine[],
  account: CampusAccount,
  subject: string,
  sentAt: number,
): ChannelResult[] {
  const heardBy = (kind: "phones" | "zones" | "agents"): number =>
    account[kind].filter(({ exact }) => exact === true).length;
  const services = CHANNELS.map((channel) => {
    const got = account.receptions.filter((each) => each.service === channel.service);
    const words = got.filter((each) => each.packets > 0 || each.words.includes(subject)).length;
    const received = channel.service === "agents" ? heardBy("agents") : words;
    const lines = ledger.filter(({ provider }) => provider === channel.plugin);
    return resultOf(channel.name, lines, received, channel.proves, sentAt);
  });
  const linesBy = (plugin: string): LedgerLine[] => ledger.filter(({ provider }) => provider === plugin);
  return [
    resultOf("IP phones", linesBy("ip-phones"), heardBy("phones"), CAMPUS_PROVES["ip-phones"], sentAt),
    resultOf("Multicast zones", linesBy("multicast-zones"), heardBy("zones"), CAMPUS_PROVES["multicast-zones"], sentAt),
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
