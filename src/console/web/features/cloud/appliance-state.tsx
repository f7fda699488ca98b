import type { ApplianceRow } from "../../api/link-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";

const LINK_TONES = { linked: "good", away: "warn", never: "", revoked: "bad" } as const;
const HEALTH_TONES = { GREEN: "good", YELLOW: "warn", RED: "bad" } as const;

/** Link state of an appliance. */
export function LinkChip({ link }: { link: ApplianceRow["link"] }) {
  const { name } = useTranslation();
  return <Chip tone={LINK_TONES[link]}>{name("appliance-link", link)}</Chip>;
}

/** Last reported health of an appliance; nothing without a report. */
export function HealthChip({ health }: { health: ApplianceRow["health"] }) {
  const { name } = useTranslation();
  return health && <Chip tone={HEALTH_TONES[health.status]}>{name("health", health.status)}</Chip>;
}
