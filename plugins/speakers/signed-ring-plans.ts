import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Clock, PlannedRing, PluginContext, RingPlan } from "#plugin-api";
import { type SpeakerSettings, volumePercent } from "./speaker-rules.ts";

/** Signed ring plans, which agents follow while the appliance is unreachable. */
export interface SignedRingPlans {
  /** Public key for verification: the 32 bytes of an Ed25519 key in base64. @source RFC 8032 */
  readonly publicKey: string;
  /** Plan of a speaker with its tag; null for an unknown device. Rejects while the rings are being computed. */
  planFor(mac: string, settings: SpeakerSettings): Promise<SignedRingPlan | null>;
}

/** A signed plan. */
export interface SignedRingPlan {
  /** Same for same rings. */
  etag: string;
  document(): string;
}

const KEY = "plan-key";
const EPOCH = "plan-epoch";
/** Sequence numbers reserved per run. */
const MAX_PLANS_PER_RUN = 2 ** 20;

/**
 * Opens the signing key, creating it at the first start, and reserves sequence numbers above those of all earlier
 * plans.
 */
export async function openSignedRingPlans({
  state,
  clock,
  rings,
}: Pick<PluginContext, "state" | "rings"> & { clock: Clock }): Promise<SignedRingPlans> {
  const key = await openKey(state);
  // Based on the time, so that sequences keep increasing after an older state is restored.
  const epoch = Math.max(Number((await state.get(EPOCH)) ?? 0) + 1, Math.floor(clock.now() / 1_000));
  await state.set(EPOCH, epoch);
  const known = new Map<string, { etag: string; sequence: number }>();
  let planCount = 0;

  const sequenceOf = (mac: string, etag: string): number => {
    const last = known.get(mac);
    if (last?.etag === etag) return last.sequence;
    const sequence = epoch * MAX_PLANS_PER_RUN + Math.min(planCount++, MAX_PLANS_PER_RUN - 1);
    known.set(mac, { etag, sequence });
    return sequence;
  };

  return {
    publicKey: publicKeyBytes(key).toString("base64"),
    async planFor(mac, settings) {
      const deviceIdentifier = `agent:${mac}`;
      const planned = await rings.planned(deviceIdentifier);
      if (!planned) return null;
      const content = { deviceIdentifier, until: planned.until, rings: playableRings(planned, settings) };
      const etag = `"${createHash("sha256").update(JSON.stringify(content)).digest("base64url")}"`;
      const sequence = sequenceOf(mac, etag);
      return { etag, document: () => signDocument({ ...content, sequence, madeAt: clock.now() }, key) };
    },
  };
}

/** Rings of accepted speakers only. */
function playableRings({ attributes, rings }: RingPlan, settings: SpeakerSettings): object[] {
  return attributes.IsConfigured === "false" ? [] : rings.map((ring) => planRing(ring, settings));
}

function planRing({ volume, ...ring }: PlannedRing, settings: SpeakerSettings): object {
  return { ...ring, volume: volumePercent(volume, settings), delayMs: settings.delayMs };
}

function signDocument(plan: object, key: KeyObject): string {
  const payload = Buffer.from(JSON.stringify({ ...plan, kind: "ring-plan" }));
  return JSON.stringify({
    payload: payload.toString("base64"),
    signature: sign(null, payload, key).toString("base64"),
  });
}

async function openKey(state: PluginContext["state"]): Promise<KeyObject> {
  const kept = await state.get(KEY);
  if (typeof kept === "string")
    return createPrivateKey({ key: Buffer.from(kept, "base64"), format: "der", type: "pkcs8" });
  const { privateKey } = generateKeyPairSync("ed25519");
  await state.set(KEY, privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"));
  return privateKey;
}

/** The last 32 bytes of the DER encoding. @source RFC 8410 */
function publicKeyBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
}
