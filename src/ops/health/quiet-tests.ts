import type { Clock } from "../../lib/clock.ts";
import { ConflictError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ProbeResult } from "../../plugin-api/index.ts";
import type devices from "../../resources/devices/devices.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { Store } from "../../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";

/** A device as its plugin is asked about it. */
interface TestedDevice {
  id: string;
  deviceIdentifier: string;
  attributes: Readonly<Record<string, string>>;
}

/** What quiet tests are made of. */
export interface QuietTestDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** Asks the plugin that serves a device. */
  probe(provider: string, device: TestedDevice): Promise<ProbeResult>;
  /** A device whose way was not proven for so long is told; null never tells. */
  provenWithinHours: number | null;
}

/** What one test found; times are epoch ms. */
export interface QuietTestResult {
  testedAt: number;
  provenAt: number | null;
  provenBy: RowOf<typeof devices>["provenBy"];
  fault: string | null;
}

/** Tests the ways to all devices without anybody hearing or seeing it. */
export interface QuietTests {
  /** Tests every device that is in use, one run at a time. */
  testAll(): Promise<void>;
  /** Tests one. Throws ConflictError where no plugin can. */
  testDevice(device: RowOf<typeof devices>): Promise<QuietTestResult>;
  /** Devices whose way was not proven for too long. */
  healthSource: HealthSource;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

interface DeviceLine {
  pk: number;
  id: string;
  device_identifier: string;
  attributes: string | null;
  provider: string;
}

/** Devices that are asked at once. own choice: a night has time */
const CONCURRENCY = 32;
const PAGE_SIZE = 100;
const HOUR_MS = 3_600_000;
/** How often the devices are looked through for what was not proven. */
const REASON_CACHE_MS = 60_000;
const PROVEN_BY = { answered: "quiet-test", looped: "loopback" } as const;

/** Makes them; nothing is tested before somebody asks. */
export function createQuietTests(needs: QuietTestDeps): QuietTests {
  const { store, clock, log } = needs;
  let running: Promise<void> | null = null;
  let stopped = false;
  let cachedReasons = { at: Number.NEGATIVE_INFINITY, reasons: [] as HealthReason[] };

  async function probeDevice(line: DeviceLine): Promise<{ line: DeviceLine; result: ProbeResult; at: number }> {
    const attributes = JSON.parse(line.attributes ?? "{}") as Record<string, string>;
    const device = { id: line.id, deviceIdentifier: line.device_identifier, attributes };
    const result = await needs.probe(line.provider, device);
    return { line, result, at: clock.now() };
  }

  async function testAll(): Promise<void> {
    for (let after = 0; !stopped; ) {
      const lines = store.all<DeviceLine>(
        `SELECT pk, id, device_identifier, attributes, provider FROM devices
         WHERE pk > ? AND defunct IS NOT 1 AND provider IS NOT NULL ORDER BY pk LIMIT ${PAGE_SIZE}`,
        after,
      );
      if (lines.length === 0) break;
      after = lines.at(-1)?.pk ?? after;
      const waiting = [...lines];
      const worker = async (): Promise<void> => {
        for (let line = waiting.shift(); line && !stopped; line = waiting.shift()) found.push(await probeDevice(line));
      };
      const found: Awaited<ReturnType<typeof probeDevice>>[] = [];
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      await recordResults(found);
    }
    cachedReasons = { ...cachedReasons, at: Number.NEGATIVE_INFINITY };
  }

  /** Facts, as those of the ledger: neither audited nor in the change feed. */
  async function recordResults(found: readonly Awaited<ReturnType<typeof probeDevice>>[]): Promise<void> {
    await store.write((tx) => {
      for (const { line, result, at } of found) {
        const { proof } = result;
        if (proof === "untested") continue;
        if (proof === null)
          tx.run("UPDATE main.devices SET tested_at = ?, test_fault = ? WHERE pk = ?", at, testFault(result), line.pk);
        else {
          const set = "tested_at = ?, test_fault = NULL, proven_at = ?, proven_by = ?";
          tx.run(`UPDATE main.devices SET ${set} WHERE pk = ?`, at, at, PROVEN_BY[proof], line.pk);
        }
      }
    });
  }

  return {
    testAll() {
      running ??= testAll()
        .catch((error: unknown) => log.error({ err: error }, "the ways to the devices were not tested"))
        .finally(() => {
          running = null;
        });
      return running;
    },
    async testDevice({ pk, id, deviceIdentifier, attributes, provider }) {
      const line = { pk, id, device_identifier: deviceIdentifier, attributes: JSON.stringify(attributes) };
      const tested = await probeDevice({ ...line, provider: provider ?? "" });
      const { proof } = tested.result;
      if (proof === "untested") throw new ConflictError("What serves the device can't test it quietly.");
      await recordResults([tested]);
      if (proof === null)
        return { testedAt: tested.at, provenAt: null, provenBy: null, fault: testFault(tested.result) };
      return { testedAt: tested.at, provenAt: tested.at, provenBy: PROVEN_BY[proof], fault: null };
    },
    healthSource() {
      if (clock.monotonicMs() - cachedReasons.at >= REASON_CACHE_MS)
        cachedReasons = { at: clock.monotonicMs(), reasons: unprovenReasons(needs) };
      return cachedReasons.reasons;
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

function testFault({ reason = "It gave no proof." }: ProbeResult): string {
  return reason.slice(0, 1_000);
}

/** One reason for all: a switch that is gone takes many devices with it. */
function unprovenReasons({ store, clock, provenWithinHours }: QuietTestDeps): HealthReason[] {
  if (provenWithinHours === null) return [];
  const found = store.one<{ n: number; name: string | null }>(
    `SELECT COUNT(*) AS n, MIN(description) AS name FROM devices
     WHERE defunct IS NOT 1 AND tested_at IS NOT NULL AND COALESCE(proven_at, created_at) < ?`,
    clock.now() - provenWithinHours * HOUR_MS,
  );
  if (!found || found.n === 0) return [];
  const what =
    found.n === 1 ? `The way to ${found.name} was` : `The ways to ${found.n} devices, such as ${found.name}, were`;
  const reason = `${what} not proven for ${provenWithinHours} h.`;
  return [{ level: "yellow", code: "devices:unproven", reason }];
}
