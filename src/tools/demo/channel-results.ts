import type { DeliveryStatusRow } from "../../api-client/follow-deliveries.ts";
import { formatTable } from "../../lib/text-table.ts";
import { DELIVERY_LEVELS, type DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import { DEMO_CHANNELS } from "./channels.ts";
import type { SimulatorReport } from "./demo-results.ts";

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
const SIMULATOR_PROOF_LEVELS = { "ip-phones": "playing", "multicast-zones": "sent" } as const;

const PROOF_LEVELS: ReadonlyMap<string | null, DeliveryLevel> = new Map<string | null, DeliveryLevel>([
  ...Object.entries(SIMULATOR_PROOF_LEVELS),
  ...DEMO_CHANNELS.map(({ plugin, proves }) => [plugin, proves] as const),
]);

/** Whether a delivery has ended, or is proven as far as its channel can: some go on waiting for an answer. */
export function isProven({ provider, level, endedAt }: DeliveryStatusRow): boolean {
  const proves = PROOF_LEVELS.get(provider);
  return endedAt !== null || (proves !== undefined && levelRank(level) >= levelRank(proves));
}

/** Judges every channel by the ledger and by what its far end got. `sentAt` is the moment of the request, epoch ms. */
export function channelResults(
  ledger: readonly DeliveryStatusRow[],
  account: SimulatorReport,
  subject: string,
  sentAt: number,
): ChannelResult[] {
  const heardBy = (kind: "phones" | "zones" | "agents"): number =>
    account[kind].filter(({ exact }) => exact === true).length;
  const services = DEMO_CHANNELS.map((channel) => {
    const got = account.receptions.filter((each) => each.service === channel.service);
    const words = got.filter((each) => each.packets > 0 || each.words.includes(subject)).length;
    const received = channel.service === "agents" ? heardBy("agents") : words;
    const lines = ledger.filter(({ provider }) => provider === channel.plugin);
    return channelResult(channel.name, lines, received, channel.proves, sentAt);
  });
  const linesBy = (plugin: string): DeliveryStatusRow[] => ledger.filter(({ provider }) => provider === plugin);
  return [
    channelResult("IP phones", linesBy("ip-phones"), heardBy("phones"), SIMULATOR_PROOF_LEVELS["ip-phones"], sentAt),
    channelResult(
      "Multicast zones",
      linesBy("multicast-zones"),
      heardBy("zones"),
      SIMULATOR_PROOF_LEVELS["multicast-zones"],
      sentAt,
    ),
    ...services,
  ];
}

function channelResult(
  channel: string,
  lines: readonly DeliveryStatusRow[],
  received: number,
  proves: DeliveryLevel,
  sentAt: number,
): ChannelResult {
  const proven = lines.map(({ level }) => level).sort((a, b) => levelRank(a) - levelRank(b))[0] ?? null;
  const times = lines.map((line) => Date.parse(proofTime(line) ?? "") - sentAt);
  const enough = proven !== null && levelRank(proven) >= levelRank(proves);
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
function levelRank(level: DeliveryLevel): number {
  const place = DELIVERY_LEVELS.indexOf(level);
  return place >= DELIVERY_LEVELS.indexOf("failed") ? -1 : place;
}

function proofTime({ level, sentAt, acceptedAt, playingAt, provenAt }: DeliveryStatusRow): string | null {
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
export function formatChannelTable(results: readonly ChannelResult[], ledger: readonly DeliveryStatusRow[]): string[] {
  const rows = results.map(({ channel, sent, received, proven, ms, ok }) => {
    return [channel, String(sent), String(received), proven ?? "-", ms === null ? "-" : `${ms} ms`, ok ? "" : "SHORT"];
  });
  const reasons = ledger.flatMap(({ name, deviceIdentifier, reason }) =>
    reason === null ? [] : [`${name || deviceIdentifier}: ${reason}`],
  );
  return [...formatTable([["Channel", "Sent", "Received", "Proven", "After", ""], ...rows]), ...reasons];
}
