/**
 * How far a delivery is proven: six rising levels (heard and confirmed are equals), then the three ends without proof.
 * @source interfaces.md, Ledger levels
 */
export const DELIVERY_LEVELS = [
  "planned",
  "sent",
  "accepted",
  "playing",
  "heard",
  "confirmed",
  "failed",
  "skipped",
  "expired",
] as const;

/** One of the levels. */
export type DeliveryLevel = (typeof DELIVERY_LEVELS)[number];
