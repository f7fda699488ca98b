import { CallerError } from "../lib/errors.ts";
import { verifySignedDocument } from "../lib/signed-document.ts";

/** A ring that the speaker plays alone when the appliance is gone; times are epoch ms of the appliance. */
export interface PlannedOfflineRing {
  ringId: string;
  at: number;
  /** Later than this it does not sound. */
  notAfter: number;
  /** 0 the most urgent. */
  priority: number;
  /** 0 to 100. */
  volume: number;
  delayMs: number;
  /** G.711 µ-law, whole packets. */
  sound: { sha256: string; bytes: number };
}

/** The rings of the next two weeks on one speaker, in order of time. */
export interface OfflineRingPlan {
  deviceIdentifier: string;
  /** Grows with every other plan. */
  sequence: number;
  /** Epoch ms of the appliance. */
  madeAt: number;
  /** It says nothing of what comes after. */
  until: number;
  rings: readonly PlannedOfflineRing[];
}

/** What a plan is held against. */
export interface PlanVerificationContext {
  /** Public key of the appliance as it was told at registration: base64 of its 32 bytes. */
  key: string;
  mac: string;
  /** Epoch ms of the appliance; null where nobody knows, and whether it is over is not asked. */
  now: number | null;
  /** The greatest so far; 0 without one. */
  sequence: number;
}

/** Reads a signed plan. Throws CallerError in words for one that is not to be followed. */
export function verifyRingPlan(text: string, { key, mac, now, sequence }: PlanVerificationContext): OfflineRingPlan {
  const plan = verifySignedDocument(text, [key]) as Partial<OfflineRingPlan> | null;
  if (
    typeof plan !== "object" ||
    plan === null ||
    !Array.isArray(plan.rings) ||
    !plan.rings.every(isPlannedOfflineRing)
  )
    throw invalidPlanError("It is no plan.");
  if (plan.deviceIdentifier !== `agent:${mac}`) throw invalidPlanError("It is the plan of another speaker.");
  if (!isNumber(plan.sequence) || !isNumber(plan.madeAt) || !isNumber(plan.until))
    throw invalidPlanError("It is no plan.");
  if (plan.sequence < sequence) throw invalidPlanError("It is older than the plan before.");
  if (now !== null && plan.until <= now) throw invalidPlanError(`It ended on ${new Date(plan.until).toISOString()}.`);
  return plan as OfflineRingPlan;
}

function isPlannedOfflineRing(given: unknown): given is PlannedOfflineRing {
  const { ringId, at, notAfter, priority, volume, delayMs, sound } = (given ?? {}) as Record<string, unknown>;
  const { sha256, bytes } = (sound ?? {}) as Record<string, unknown>;
  const isNamed = typeof ringId === "string" && typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
  return isNamed && [at, notAfter, priority, volume, delayMs, bytes].every(isNumber);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function invalidPlanError(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
