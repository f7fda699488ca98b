import type { DeliveryStatusRow } from "../../api-client/follow-deliveries.ts";
import { formatTable } from "../../lib/text-table.ts";
import { DELIVERY_LEVELS, type DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import { DEMO_CHANNELS } from "./channels.ts";
import type { SimulatorReport } from "./demo-results.ts";

/** Result of one channel. */
export interface ChannelResult {
  channel: string;
  /** Deliveries of the notification. */
  sent: number;
  /** Messages received by the simulated service, or listeners that received every packet. */
  received: number;
  /** The lowest delivery level of the channel's devices. */
  proven: DeliveryLevel | null;
  /** Time from the request until the last device reached that level, ms. */
  ms: number | null;
  /** True if all were received and the expected delivery level was reached. */
  ok: boolean;
}

/** Highest delivery level of simulated phones and zones. */
const SIMULATOR_PROOF_LEVELS = { "ip-phones": "playing", "multicast-zones": "sent" } as const;

const PROOF_LEVELS: ReadonlyMap<string | null, DeliveryLevel> = new Map<string | null, DeliveryLevel>([
  ...Object.entries(SIMULATOR_PROOF_LEVELS),
  ...DEMO_CHANNELS.map(({ plugin, proves }) => [plugin, proves] as const),
]);

/** True if a delivery has ended or reached the highest level of its channel: some keep waiting for an answer. */
export function isProven({ provider, level, endedAt }: DeliveryStatusRow): boolean {
  const proves = PROOF_LEVELS.get(provider);
  return endedAt !== null || (proves !== undefined && levelRank(level) >= levelRank(proves));
}

/** Results of all channels, from the deliveries and the simulator's report. `sentAt`: time of the request, epoch ms. */
export function channelResults(
  ledger: readonly DeliveryStatusRow[],
  report: SimulatorReport,
  subject: string,
  sentAt: number,
): ChannelResult[] {
  const exactListeners = (kind: "phones" | "zones" | "agents"): number =>
    report[kind].filter(({ exact }) => exact === true).length;
  const services = DEMO_CHANNELS.map((channel) => {
    const messages = report.receptions.filter((each) => each.service === channel.service);
    const count = messages.filter((each) => each.packets > 0 || each.words.includes(subject)).length;
    const received = channel.service === "agents" ? exactListeners("agents") : count;
    const lines = ledger.filter(({ provider }) => provider === channel.plugin);
    return channelResult(channel.name, lines, received, channel.proves, sentAt);
  });
  const linesBy = (plugin: string): DeliveryStatusRow[] => ledger.filter(({ provider }) => provider === plugin);
  return [
    channelResult(
      "IP phones",
      linesBy("ip-phones"),
      exactListeners("phones"),
      SIMULATOR_PROOF_LEVELS["ip-phones"],
      sentAt,
    ),
    channelResult(
      "Multicast zones",
      linesBy("multicast-zones"),
      exactListeners("zones"),
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
  const isLevelReached = proven !== null && levelRank(proven) >= levelRank(proves);
  return {
    channel,
    sent: lines.length,
    received,
    proven,
    ms: times.length > 0 && times.every(Number.isFinite) ? Math.round(Math.max(...times)) : null,
    ok: isLevelReached && lines.length > 0 && received >= lines.length,
  };
}

/** Rank of a delivery level; the three levels of failure are below all others. */
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

/** Table for people: one line per channel, then one per delivery with a reason. */
export function formatChannelTable(results: readonly ChannelResult[], ledger: readonly DeliveryStatusRow[]): string[] {
  const rows = results.map(({ channel, sent, received, proven, ms, ok }) => {
    return [channel, String(sent), String(received), proven ?? "-", ms === null ? "-" : `${ms} ms`, ok ? "" : "FAILED"];
  });
  const reasons = ledger.flatMap(({ name, deviceIdentifier, reason }) =>
    reason === null ? [] : [`${name || deviceIdentifier}: ${reason}`],
  );
  return [...formatTable([["Channel", "Sent", "Received", "Level", "After", ""], ...rows]), ...reasons];
}
