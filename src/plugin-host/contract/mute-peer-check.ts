import type { Clock } from "../../lib/clock.ts";
import {
  DEFAULT_PROFILE,
  type DeliveryItem,
  type MutePeer,
  type OpenMutePeer,
  type OutcomeLevel,
} from "../../plugin-api/index.ts";
import type { InstalledPlugin } from "../installed-plugins.ts";
import { type ContractRun, startContractRun } from "./contract-run.ts";

export interface MutePeerCheckDeps {
  plugin: InstalledPlugin;
  /** Null if the plugin has no peer. */
  peer: OpenMutePeer | null;
  clock: Clock;
  /** Validates a configuration and fills in defaults. */
  toRun(given: Record<string, unknown>): Record<string, unknown>;
}

const TIMEOUT_MS = 10_000;
/** Time for the first outcome of a delivery that may get none. */
const ANSWER_TIMEOUT_MS = 1_000;
/** Time for an unproven outcome to arrive. */
const SETTLE_MS = 300;
/** Levels that the peer's acceptance does not prove. */
const UNPROVEN: Readonly<Record<MutePeer["proves"], readonly OutcomeLevel[]>> = {
  sent: ["accepted", "playing", "heard", "confirmed"],
  accepted: ["playing", "heard", "confirmed"],
};

/** Delivers one message to the peer and returns contract violations as sentences. */
export async function checkAgainstMutePeer({ plugin, peer: open, clock, toRun }: MutePeerCheckDeps): Promise<string[]> {
  const { manifest } = plugin;
  const delivers = manifest.claims.length > 0 || manifest.deviceType !== undefined;
  if (!open)
    return delivers
      ? ["peer.ts is missing: it must export a device on loopback that accepts everything and never responds."]
      : [];
  let run: ContractRun | null = null;
  const opened = await open({ urls: () => run?.urls() ?? {} });
  let isOpen = true;
  const peer: MutePeer = {
    ...opened,
    async close() {
      if (isOpen) await opened.close();
      isOpen = false;
    },
  };
  try {
    const started = await startContractRun({ plugin, config: toRun({ ...peer.config }), clock });
    if ("error" in started) return [`The plugin failed to start with the peer's configuration: ${started.error}.`];
    run = started.run;
    const errors = [...(await proofErrors(run, peer)), ...(await skipErrors(run, peer))];
    await run.stop();
    return errors;
  } catch (error) {
    return [`The peer failed: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    await peer.close();
  }
}

async function proofErrors(run: ContractRun, peer: MutePeer): Promise<string[]> {
  const { outcomes } = run;
  const isOver = (): boolean => outcomes.some(({ level }) => level === peer.proves || level === "failed");
  await peer.ready?.();
  run.deliver(testDeliveryFor(peer));
  if (!(await run.waitUntil(isOver, TIMEOUT_MS)))
    return [`The plugin did not report ${peer.proves} within ${TIMEOUT_MS / 1000} s.`];
  let asked = false;
  void peer.asked().then(() => {
    asked = true;
  });
  if (!(await run.waitUntil(() => asked, TIMEOUT_MS))) return ["The plugin never asked its peer for further proof."];
  run.cancelDelivery(1, "ended");
  await run.waitUntil(() => false, SETTLE_MS);
  const levels = outcomes.map(({ level }) => level);
  const reasons = outcomes.flatMap(({ details }) => details.reason ?? []);
  if (!levels.includes(peer.proves)) return [`The plugin reported ${levels.join(", ")}: ${reasons.join("; ")}`];
  return levels
    .filter((level) => UNPROVEN[peer.proves].includes(level))
    .map((level) => `The plugin reported ${level}, which a mute peer does not prove.`);
}

/**
 * Nothing here is left out on purpose: what a device cannot present, and what a device that is gone does not take, must
 * be reported as `failed` or `expired`, so that it counts as not reached.
 */
async function skipErrors(run: ContractRun, peer: MutePeer): Promise<string[]> {
  const tries: [deliveryId: number, what: string, item: Partial<DeliveryItem>][] = [
    [2, "a message without audio", { audio: null }],
    [3, "a retry after the audio", { audio: null, attempt: 2 }],
    [4, "a device that is gone", {}],
  ];
  const errors: string[] = [];
  for (const [deliveryId, what, item] of tries) {
    if (deliveryId === 4) await peer.close();
    run.deliver({ ...testDeliveryFor(peer), ...item, deliveryId });
    const reported = (): OutcomeLevel[] =>
      run.outcomes.flatMap((each) => (each.deliveryId === deliveryId ? [each.level] : []));
    await run.waitUntil(() => reported().length > 0, ANSWER_TIMEOUT_MS);
    run.cancelDelivery(deliveryId, "expired");
    await run.waitUntil(() => false, SETTLE_MS);
    if (reported().includes("skipped")) errors.push(`The plugin reported skipped for ${what}; it must report failed.`);
  }
  return errors;
}

function testDeliveryFor({ device }: MutePeer): DeliveryItem {
  return {
    deliveryId: 1,
    notificationId: "0190a1b2-0000-7000-8000-000000000001",
    device,
    priority: 5,
    class: "routine",
    notAfter: Number.MAX_SAFE_INTEGER,
    sentAt: 0,
    expiresAt: null,
    drill: false,
    text: { subject: "Test", body: "This is a test.", short: "Test" },
    imagePath: null,
    audio: { group: "239.255.77.1", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 77 },
    profile: DEFAULT_PROFILE,
    settings: {},
    attempt: 1,
  };
}
