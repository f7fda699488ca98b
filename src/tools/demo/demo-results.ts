import { countOccurrences, type DeliveryStatusRow, deliveryCategory } from "../../api-client/follow-deliveries.ts";
import { formatTable } from "../../lib/text-table.ts";

/** What one device of the campus heard, by its own account. */
interface SimulatedDeviceReport {
  deviceIdentifier: string;
  firstPacketAt: number | null;
  packets: number;
  exact: boolean | null;
}

/** The campus's account of the broadcast. */
export interface SimulatorReport {
  phones: SimulatedDeviceReport[];
  zones: SimulatedDeviceReport[];
  agents: SimulatedDeviceReport[];
  /** What came by mail, text message and the campus's other services. */
  receptions: { service: string; to: string; words: string; packets: number; at: number }[];
}

/** What the demo is made of, and so what is to be expected. */
export interface DemoExpectation {
  phones: number;
  offline: number;
  zones: number;
}

/** The demo in figures: `phones` and `zones` count ledger levels only, `listened` is the campus's own account. */
export interface DemoFigures {
  devices: number;
  phones: Record<string, number>;
  zones: Record<string, number>;
  listened: { listeners: number; exact: number };
  /** From the request to the first packet at a listener, ms; 99 of 100 listeners are not above it. Null without any. */
  firstPacketMsP99: number | null;
  seconds: number;
}

/** Works out the figures. `sentAt` is the moment of the request on the clock of the machine, epoch ms. */
export function demoFigures(
  ledger: readonly DeliveryStatusRow[],
  account: SimulatorReport,
  sentAt: number,
  seconds: number,
): DemoFigures {
  const listeners = [...account.phones, ...account.zones].filter(({ packets }) => packets > 0);
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

/** What differs from what must come out, in words; empty when all is as it should be. */
export function demoDifferences(figures: DemoFigures, expected: DemoExpectation): string[] {
  const { phones, offline, zones } = expected;
  const online = phones - offline;
  const wanted: [what: string, is: unknown, should: unknown][] = [
    ["devices", figures.devices, phones + zones],
    ["phones playing", figures.phones.playing ?? 0, online],
    ["phones failed", figures.phones.failed ?? 0, offline],
    ["zones sent", figures.zones.sent ?? 0, zones],
    ["listeners", figures.listened.listeners, online + zones],
    ["exact listeners", figures.listened.exact, online + zones],
  ];
  return wanted.filter(([, is, should]) => is !== should).map(([what, is, should]) => `${what}: ${is}, not ${should}`);
}

/** One line per device: what is proven, what it heard, and the reason in words; for people. */
export function formatDemoTable(
  ledger: readonly DeliveryStatusRow[],
  account: SimulatorReport,
  sentAt: number,
): string[] {
  const heard = new Map([...account.phones, ...account.zones].map((each) => [each.deviceIdentifier, each]));
  const inOrder = [...ledger].sort(
    (a, b) => compare(deliveryCategory(a), deliveryCategory(b)) || compare(a.name, b.name),
  );
  const rows = inOrder.map((line) => {
    const { firstPacketAt = null, exact = null } = heard.get(line.deviceIdentifier) ?? {};
    const firstMs = firstPacketAt === null ? "-" : `${Math.round(firstPacketAt - sentAt)} ms`;
    const verdict = exact === null ? "-" : exact ? "exact" : "not exact";
    return [line.name, line.deviceIdentifier, line.level, firstMs, verdict, line.reason ?? ""];
  });
  const all = [["Device", "Identifier", "Proven", "First packet", "Heard", "Reason"], ...rows];
  return formatTable(all);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function percentile99(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const place = Math.ceil(0.99 * sorted.length) - 1;
  return Math.round(sorted[place] ?? 0);
}
