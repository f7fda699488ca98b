import { CallerError } from "../lib/errors.ts";
import { verifySignedDocument } from "../lib/signed-document.ts";

/** A ring to play offline; times are epoch ms of the appliance. */
export interface PlannedOfflineRing {
  ringId: string;
  at: number;
  /** Latest start. */
  notAfter: number;
  /** 0 is the highest priority. */
  priority: number;
  /** 0 to 100. */
  volume: number;
  delayMs: number;
  /** G.711 µ-law, whole packets. */
  sound: { sha256: string; bytes: number };
}

/** Rings of the next two weeks on one speaker, ordered by time. */
export interface OfflineRingPlan {
  deviceIdentifier: string;
  /** Increases with each changed plan. */
  sequence: number;
  /** Epoch ms of the appliance. */
  madeAt: number;
  /** End of the planned period. */
  until: number;
  rings: readonly PlannedOfflineRing[];
}

/** What a plan is verified against. */
export interface PlanVerificationContext {
  /** Public key of the appliance from registration: base64 of 32 bytes. */
  key: string;
  mac: string;
  /** Epoch ms of the appliance; null if unknown, which skips the expiry check. */
  now: number | null;
  /** Highest sequence so far; 0 for none. */
  sequence: number;
}

/** Verifies and parses a signed plan. Throws CallerError for an invalid plan. */
export function verifyRingPlan(text: string, { key, mac, now, sequence }: PlanVerificationContext): OfflineRingPlan {
  const plan = verifySignedDocument(text, [key], "ring-plan") as Partial<OfflineRingPlan> | null;
  if (
    typeof plan !== "object" ||
    plan === null ||
    !Array.isArray(plan.rings) ||
    !plan.rings.every(isPlannedOfflineRing)
  )
    throw invalidPlanError("Invalid ring plan.");
  if (plan.deviceIdentifier !== `agent:${mac}`) throw invalidPlanError("The ring plan belongs to another speaker.");
  if (!isNumber(plan.sequence) || !isNumber(plan.madeAt) || !isNumber(plan.until))
    throw invalidPlanError("Invalid ring plan.");
  if (plan.sequence < sequence) throw invalidPlanError("The ring plan is older than the current one.");
  if (now !== null && plan.until <= now)
    throw invalidPlanError(`The ring plan expired on ${new Date(plan.until).toISOString()}.`);
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
