import type { Clock } from "../../lib/clock.ts";
import { ConflictError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ProbeResult } from "../../plugin-api/index.ts";
import type devices from "../../resources/devices/devices.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { Store } from "../../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";

/** Device fields that a plugin needs for a probe. */
interface TestedDevice {
  id: string;
  deviceIdentifier: string;
  attributes: Readonly<Record<string, string>>;
}

/** A problem in the configuration of a device. */
export interface DeviceDiagnosis {
  reason: string;
  /** The device refuses deliveries. Otherwise only a device that never responded to one has failed. */
  refuses: boolean;
}

export interface QuietTestDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** Probes a device through its plugin. */
  probe(provider: string, device: TestedDevice): Promise<ProbeResult>;
  /** Why a phone will refuse what its probe does not show, such as pushes; null if nothing is known. Never throws. */
  diagnose?(deviceId: string): Promise<DeviceDiagnosis | null>;
  /** Devices not verified for this long are reported; null: never. */
  provenWithinHours: number | null;
  /** Calls `work` when all devices are to be tested; the returned function ends that. */
  atScheduledTimes?: (work: () => void) => () => void;
}

/** Result of one test; times are epoch ms. */
export interface QuietTestResult {
  testedAt: number;
  provenAt: number | null;
  provenBy: RowOf<typeof devices>["provenBy"];
  fault: string | null;
}

/** Silent connectivity tests: verify the path to all devices without anybody hearing or seeing it. */
export interface QuietTests {
  /** Tests all devices at the scheduled times from now on. */
  start(): void;
  /** Tests every device in use; one run at a time. */
  testAll(): Promise<void>;
  /** Tests one device. Throws ConflictError if its plugin does not support it. */
  testDevice(device: RowOf<typeof devices>): Promise<QuietTestResult>;
  /** Reports devices that were not verified for too long. */
  healthSource: HealthSource;
  /** Resolves when no test is running any more. */
  stop(): Promise<void>;
}

interface DeviceLine {
  pk: number;
  id: string;
  device_identifier: string;
  attributes: string | null;
  provider: string;
  last_seen_at: number | null;
}

/** Devices tested in parallel; tests run at night and are not urgent. */
const CONCURRENCY = 32;
const PAGE_SIZE = 100;
const HOUR_MS = 3_600_000;
/** Interval for searching devices that are not verified. */
const REASON_CACHE_MS = 60_000;
const PROVEN_BY = { answered: "quiet-test", looped: "loopback" } as const;

export function createQuietTests(deps: QuietTestDeps): QuietTests {
  const { store, clock, log } = deps;
  let running: Promise<void> | null = null;
  let stopped = false;
  let endSchedule = (): void => undefined;
  let cachedReasons = { at: Number.NEGATIVE_INFINITY, reasons: [] as HealthReason[] };

  async function probeDevice(line: DeviceLine): Promise<{ line: DeviceLine; result: ProbeResult; at: number }> {
    const attributes = JSON.parse(line.attributes ?? "{}") as Record<string, string>;
    const device = { id: line.id, deviceIdentifier: line.device_identifier, attributes };
    const result = withDiagnosis(await deps.probe(line.provider, device), line, await deps.diagnose?.(line.id));
    return { line, result, at: clock.now() };
  }

  async function testAll(): Promise<void> {
    for (let after = 0; !stopped; ) {
      const lines = store.all<DeviceLine>(
        `SELECT pk, id, device_identifier, attributes, provider, last_seen_at FROM devices
         WHERE pk > ? AND defunct IS NOT 1 AND provider IS NOT NULL ORDER BY pk LIMIT ${PAGE_SIZE}`,
        after,
      );
      if (lines.length === 0) break;
      after = lines.at(-1)?.pk ?? after;
      const queue = [...lines];
      const worker = async (): Promise<void> => {
        for (let line = queue.shift(); line && !stopped; line = queue.shift()) results.push(await probeDevice(line));
      };
      const results: Awaited<ReturnType<typeof probeDevice>>[] = [];
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      await recordResults(results);
    }
    cachedReasons = { ...cachedReasons, at: Number.NEGATIVE_INFINITY };
  }

  /** Test results are facts, like the ledger: neither audited nor in the change feed. */
  async function recordResults(results: readonly Awaited<ReturnType<typeof probeDevice>>[]): Promise<void> {
    await store.write((tx) => {
      for (const { line, result, at } of results) {
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

  function testAllOnce(): Promise<void> {
    running ??= testAll()
      .catch((error: unknown) =>
        log.error({ event: "silent_test.failed", err: error }, "silent connectivity test failed"),
      )
      .finally(() => {
        running = null;
      });
    return running;
  }

  return {
    start() {
      endSchedule = deps.atScheduledTimes?.(() => void testAllOnce()) ?? endSchedule;
    },
    testAll: testAllOnce,
    async testDevice({ pk, id, deviceIdentifier, attributes, provider, lastSeenAt }) {
      const line = { pk, id, device_identifier: deviceIdentifier, attributes: JSON.stringify(attributes) };
      const tested = await probeDevice({ ...line, provider: provider ?? "", last_seen_at: lastSeenAt });
      const { proof } = tested.result;
      if (proof === "untested")
        throw new ConflictError(sentence("error.the-device-s-plugin-does-not-support-silent-tests"));
      await recordResults([tested]);
      if (proof === null)
        return { testedAt: tested.at, provenAt: null, provenBy: null, fault: testFault(tested.result) };
      return { testedAt: tested.at, provenAt: tested.at, provenBy: PROVEN_BY[proof], fault: null };
    },
    healthSource() {
      if (clock.monotonicMs() - cachedReasons.at >= REASON_CACHE_MS)
        cachedReasons = { at: clock.monotonicMs(), reasons: unprovenReasons(deps) };
      return cachedReasons.reasons;
    },
    async stop() {
      stopped = true;
      endSchedule();
      await running;
    },
  };
}

/** A phone whose web page responds may still refuse every push; one that does not respond often has a reason. */
function withDiagnosis(
  result: ProbeResult,
  { last_seen_at: lastSeenAt }: DeviceLine,
  diagnosis: DeviceDiagnosis | null | undefined,
): ProbeResult {
  if (!diagnosis || result.proof === "untested") return result;
  const { reason: problem, refuses } = diagnosis;
  if (result.proof === null) {
    const response = result.reason ?? sentence("test.no-response");
    return { proof: null, reason: sentence("phone-configuration.test-failed", { problem, response }) };
  }
  return refuses || lastSeenAt === null ? { proof: null, reason: problem } : result;
}

function testFault({ reason = sentence("test.no-response") }: ProbeResult): string {
  return reason.slice(0, 1_000);
}

/** One reason for all devices: a failed switch affects many. */
function unprovenReasons({ store, clock, provenWithinHours }: QuietTestDeps): HealthReason[] {
  if (provenWithinHours === null) return [];
  const unverified = store.one<{ n: number; name: string | null }>(
    `SELECT COUNT(*) AS n, MIN(description) AS name FROM devices
     WHERE defunct IS NOT 1 AND tested_at IS NOT NULL AND COALESCE(proven_at, created_at) < ?`,
    clock.now() - provenWithinHours * HOUR_MS,
  );
  if (!unverified || unverified.n === 0) return [];
  const { n: count, name } = unverified;
  const reason = sentence("health.devices-unverified", { count, name: name ?? "", hours: provenWithinHours });
  return [{ level: "yellow", code: "devices:unproven", reason }];
}
