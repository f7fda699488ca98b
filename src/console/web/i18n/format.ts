import type { Language } from "./languages.ts";

/** `0:07`, `12:40` or `1:02:03`; never negative. */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const tail = `${hours > 0 ? String(minutes).padStart(2, "0") : minutes}:${String(seconds % 60).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** Moments in words; times are epoch ms. */
export interface DateFormats {
  /** Under an hour relative ("5 minutes ago"), else date and time of day. */
  short(at: number, now: number): string;
  /** Date, time and zone in full, as a hover shows it. */
  full(at: number): string;
}

/** Date formats of a language; creating them for each row would cost more than rendering it. */
export function dateFormats(language: Language): DateFormats {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const short = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
  return {
    short(at, now) {
      const seconds = Math.round((now - at) / 1_000);
      if (Math.abs(seconds) < 60) return relative.format(-seconds, "second");
      if (Math.abs(seconds) < 3_600) return relative.format(-Math.round(seconds / 60), "minute");
      return short.format(at);
    },
    full: (at) => full.format(at),
  };
}
