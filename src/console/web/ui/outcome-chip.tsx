import {
  type DeliveryEvidence,
  deviceOutcome,
  OUTCOME_TONES,
} from "../../../resources/notifications/device-outcomes.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Chip } from "./status-chip.tsx";

/** Outcome of a delivery as colour, icon and text. */
export function OutcomeChip({ delivery }: { delivery: DeliveryEvidence }) {
  const { name } = useTranslation();
  const outcome = deviceOutcome(delivery);
  return <Chip tone={OUTCOME_TONES[outcome]}>{name("outcome", outcome)}</Chip>;
}
