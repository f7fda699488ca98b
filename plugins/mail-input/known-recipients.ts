import type { PluginContext } from "#plugin-api";

type Context = Pick<PluginContext, "resources" | "log" | "clock">;

/** The recipients for which something is set up. */
export interface KnownRecipients {
  /** Whether a mail to this address can start something. True for all while that is not known. */
  includes(address: string): boolean;
  /** Counts a recipient that was refused; logs the count, once a minute at most. */
  countUnknown(): void;
}

const RESOURCE = "m2m-inputs";
/** The host lists no more rows than that, so that more may exist. */
const MAX_LISTED = 1_000;
const LOG_INTERVAL_MS = 60_000;

/**
 * Follows `/v1/m2m-inputs`, whose `source` is the local part of a recipient, in any case.
 * @source docs/decisions/0506-mail-that-starts-messages.md
 */
export async function followRecipients({ resources, log, clock }: Context): Promise<KnownRecipients> {
  let sources: ReadonlySet<string> | null = null;
  let isReading = false;
  let isStale = false;
  const read = async (): Promise<void> => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    try {
      while (isStale) {
        isStale = false;
        const rows = await resources.list(RESOURCE);
        sources = rows.length < MAX_LISTED ? new Set(rows.map(({ source }) => String(source).toLowerCase())) : null;
      }
    } catch (error) {
      sources = null;
      log.warn(
        { event: "mail.recipients_unreadable", err: error },
        "failed to read the mail recipients, accepting all",
      );
    } finally {
      isReading = false;
    }
  };
  resources.watch(RESOURCE, () => void read());
  await read();

  let unknown = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    includes: (address) => sources?.has(localPart(address)) ?? true,
    countUnknown() {
      unknown++;
      if (clock.monotonicMs() - loggedAt < LOG_INTERVAL_MS) return;
      loggedAt = clock.monotonicMs();
      log.warn({ event: "mail.recipient_unknown", refused: unknown }, "mail to unknown recipients refused");
    },
  };
}

/** In lower case. */
export function localPart(address: string): string {
  return address.slice(0, address.lastIndexOf("@")).toLowerCase();
}
