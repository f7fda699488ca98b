import type { Clock } from "#plugin-api";
import type { MessagePart } from "./smpp-connection.ts";

/** Joins the parts of long inbound messages. */
export interface InboundParts {
  /**
   * Adds a part; resolves with false if it must be sent again. Parts are acknowledged as they arrive, since a provider
   * may wait for each; the last one is acknowledged once the whole message is stored.
   */
  add(message: { from: string; to: string; text: string; part: MessagePart }): Promise<boolean>;
}

/** Provider's parts arrive within seconds; a part that is missing for that long is lost. */
const MAX_WAIT_MS = 300_000;
const MAX_MESSAGES = 500;
/** Ten parts hold 1,530 characters, more than any response or keyword. */
const MAX_PARTS = 10;
const MISSING = "…";

interface OpenMessage {
  from: string;
  total: number;
  texts: Map<number, string>;
  since: number;
}

/** `store` resolves with false if a whole message could not be stored. Incomplete messages are stored with a gap. */
export function createInboundParts(
  clock: Clock,
  signal: AbortSignal,
  store: (message: { from: string; text: string }) => Promise<boolean>,
): InboundParts {
  const open = new Map<string, OpenMessage>();

  const textOf = ({ texts, total }: OpenMessage): string =>
    Array.from({ length: total }, (_, at) => texts.get(at + 1) ?? MISSING).join("");

  const flush = (key: string, message: OpenMessage): void => {
    open.delete(key);
    void store({ from: message.from, text: textOf(message) });
  };

  const flushOld = (): void => {
    const now = clock.monotonicMs();
    for (const [key, message] of open) {
      if (open.size <= MAX_MESSAGES && now - message.since < MAX_WAIT_MS) break;
      flush(key, message);
    }
  };
  const flushing = clock.every(MAX_WAIT_MS / 10, flushOld);
  signal.addEventListener("abort", flushing.cancel, { once: true });

  return {
    async add({ from, to, text, part: { reference, total, number } }) {
      if (total > MAX_PARTS) return store({ from, text });
      const key = `${from}|${to}|${reference}|${total}`;
      const message = open.get(key) ?? { from, total, texts: new Map(), since: clock.monotonicMs() };
      open.set(key, message);
      flushOld();
      message.texts.set(number, text);
      if (message.texts.size < total) return true;
      const isStored = await store({ from, text: textOf(message) });
      if (isStored) open.delete(key);
      return isStored;
    },
  };
}
