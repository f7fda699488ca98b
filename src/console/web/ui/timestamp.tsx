import { useConsole, useNow } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

const HOUR_MS = 3_600_000;

/** A time as text, in full with its zone on hover; a dash for none. */
export function Timestamp({ at }: { at: string | null }) {
  const { clock } = useConsole();
  const { dates } = useTranslation();
  if (!at) return <span>–</span>;
  const ms = Date.parse(at);
  // The words of what is long ago stay the same: hundreds of rows need no clock of their own.
  const isNear = Math.abs(clock.now() - ms) < HOUR_MS;
  return (
    <time dateTime={at} title={dates.full(ms)}>
      {isNear ? <NearMoment at={ms} /> : dates.short(ms, clock.now())}
    </time>
  );
}

function NearMoment({ at }: { at: number }) {
  const { dates } = useTranslation();
  return dates.short(at, useNow());
}
