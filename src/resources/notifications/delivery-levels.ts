/**
 * How far a delivery is proven: six rising levels (heard and confirmed are equals), then the three ends without
 * proof.
 * @source docs/decisions/0020-delivery-states.md
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

/** A delivery level. */
export type DeliveryLevel = (typeof DELIVERY_LEVELS)[number];
