import { countOccurrences, type DeliveryStatusRow, deliveryCategory } from "../../api-client/follow-deliveries.ts";
import { formatTable } from "../../lib/text-table.ts";

/** What one simulated device received, from the simulator's report. */
interface SimulatedDeviceReport {
  deviceIdentifier: string;
  firstPacketAt: number | null;
  packets: number;
  exact: boolean | null;
}

/** The simulator's report of the message. */
export interface DemoReport {
  phones: SimulatedDeviceReport[];
  zones: SimulatedDeviceReport[];
  agents: SimulatedDeviceReport[];
  /** Messages received by email, text message and the other simulated services. */
  receptions: { service: string; to: string; words: string; packets: number; at: number }[];
}

/** Devices of the demo, from which the expected results follow. */
export interface DemoExpectation {
  phones: number;
  offline: number;
  zones: number;
}

/** Results of the demo: `phones` and `zones` count delivery levels, `listened` comes from the simulator's report. */
export interface DemoFigures {
  devices: number;
  phones: Record<string, number>;
  zones: Record<string, number>;
  listened: { listeners: number; exact: number };
  /** Time from the request to the first packet at a listener, 99th percentile, ms. Null without listeners. */
  firstPacketMsP99: number | null;
  seconds: number;
}

/** Computes the results. `sentAt`: time of the request, epoch ms. */
export function demoFigures(
  ledger: readonly DeliveryStatusRow[],
  report: DemoReport,
  sentAt: number,
  seconds: number,
): DemoFigures {
  const listeners = [...report.phones, ...report.zones].filter(({ packets }) => packets > 0);
  const levelsOf = (kind: "phones" | "zones"): Record<string, number> =>
    countOccurrences(ledger.filter((line) => deliveryCategory(line) === kind).map(({ level }) => level));
  return {
    devices: ledger.length,
    phones: levelsOf("phones"),
    zones: levelsOf("zones"),
    listened: { listeners: listeners.length, exact: listeners.filter(({ exact }) => exact === true).length },
    firstPacketMsP99: percentile99(listeners.map(({ firstPacketAt }) => (firstPacketAt ?? Number.NaN) - sentAt)),
    seconds: Math.round(seconds * 10) / 10,
  };
}

/** Differences from the expected results, as text; empty if there are none. */
export function demoDifferences(figures: DemoFigures, expected: DemoExpectation): string[] {
  const { phones, offline, zones } = expected;
  const online = phones - offline;
  const checks: [what: string, actual: unknown, expected: unknown][] = [
    ["devices", figures.devices, phones + zones],
    ["phones playing", figures.phones.playing ?? 0, online],
    ["phones failed", figures.phones.failed ?? 0, offline],
    ["zones sent", figures.zones.sent ?? 0, zones],
    ["listeners", figures.listened.listeners, online + zones],
    ["exact listeners", figures.listened.exact, online + zones],
  ];
  return checks
    .filter(([, actual, expectedValue]) => actual !== expectedValue)
    .map(([what, actual, expectedValue]) => `${what}: ${actual} instead of ${expectedValue}`);
}

/** Table for people, one line per device: delivery level, first packet, received audio and reason. Failures come last. */
export function formatDemoTable(ledger: readonly DeliveryStatusRow[], report: DemoReport, sentAt: number): string[] {
  const receivedBy = new Map([...report.phones, ...report.zones].map((each) => [each.deviceIdentifier, each]));
  const inOrder = [...ledger].sort(
    (a, b) =>
      Number(a.level === "failed") - Number(b.level === "failed") ||
      compare(deliveryCategory(a), deliveryCategory(b)) ||
      compare(a.name, b.name),
  );
  const rows = inOrder.map((line) => {
    const { firstPacketAt = null, exact = null } = receivedBy.get(line.deviceIdentifier) ?? {};
    const firstMs = firstPacketAt === null ? "-" : `${Math.round(firstPacketAt - sentAt)} ms`;
    const audio = exact === null ? "-" : exact ? "exact" : "not exact";
    return [line.name, line.deviceIdentifier, line.level, firstMs, audio, line.reason ?? ""];
  });
  const all = [["Device", "Identifier", "Level", "First packet", "Audio", "Reason"], ...rows];
  return formatTable(all);
}

/** What the figures say, in a line or two. `offline`: phones of the demo that are switched off on purpose. */
export function formatDemoSummary(
  { devices, phones, zones, firstPacketMsP99 }: DemoFigures,
  { offline }: Pick<DemoExpectation, "offline">,
): string[] {
  const failed = (phones.failed ?? 0) + (zones.failed ?? 0);
  const speed = firstPacketMsP99 === null ? "" : `, 99 % of them heard the first packet within ${firstPacketMsP99} ms`;
  return [
    `${devices - failed} of ${devices} devices reached${speed}.`,
    ...(failed === offline ? [switchedOff(failed)] : []),
  ];
}

function switchedOff(phones: number): string {
  return phones === 1
    ? "1 phone is switched off on purpose: the reason is above."
    : `${phones} phones are switched off on purpose: the reasons are above.`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function percentile99(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const index = Math.ceil(0.99 * sorted.length) - 1;
  return Math.round(sorted[index] ?? 0);
}
