import { useConsole, useNow } from "../console-context.tsx";
import { useWords } from "../i18n/use-translation.tsx";

const HOUR_MS = 3_600_000;

/** A moment in words, in full with its zone on hover; a dash for none. */
export function Moment({ at }: { at: string | null }) {
  const { clock } = useConsole();
  const { moments } = useWords();
  if (!at) return <span>–</span>;
  const ms = Date.parse(at);
  // The words of what is long ago stay the same: hundreds of rows need no clock of their own.
  const isNear = Math.abs(clock.now() - ms) < HOUR_MS;
  return (
    <time dateTime={at} title={moments.full(ms)}>
      {isNear ? <NearMoment at={ms} /> : moments.short(ms, clock.now())}
    </time>
  );
}

function NearMoment({ at }: { at: number }) {
  const { moments } = useWords();
  return moments.short(at, useNow());
}
