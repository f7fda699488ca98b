/** The languages there are words for. */
export const LANGUAGES = ["en", "de"] as const;

/** One of the languages. */
export type Language = (typeof LANGUAGES)[number];

/** Values for the `{name}` places of a message. */
export type Values = Readonly<Record<string, string | number>>;

/**
 * Fills the `{name}` places of a message, numbers in the manner of the language. In a message of two halves, `one|many`,
 * the value `n` chooses the half.
 */
export function formatMessage(message: string, values: Values, language: Language): string {
  const [one = "", many] = message.split("|");
  const chosen = many !== undefined && values.n !== 1 ? many : one;
  return chosen.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    return typeof value === "number" ? value.toLocaleString(language) : value;
  });
}

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

/** The words for moments in a language; making them anew for each row would cost more than drawing it. */
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
