import { createHash, randomUUID } from "node:crypto";

/** A message as far as its repetitions are concerned. */
export interface MqttMessage {
  topic: string;
  payload: Uint8Array;
  /** The broker's number for it, used again for others; null where messages are not repeated (QoS 0). */
  messageId: number | null;
  /** The broker says that it may have sent it before. */
  dup: boolean;
}

/** Tells messages that a broker sends again from new ones that are the same. */
export interface MessageDeduplicator {
  /** The key of a message's event; resolves when it is known even after a crash. */
  eventKeyFor(message: MqttMessage): Promise<string>;
  /** The event is stored: its message is acknowledged next. */
  acknowledge(key: string): Promise<void>;
}

/** Where the last keys are kept. */
interface KeyValueState {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

/** A message that was seen; `open` until it is to be acknowledged. */
interface SeenMessage {
  hash: string;
  key: string;
  open: boolean;
}

const STATE_KEY = "recent";
/** More than a broker sends without an answer. own choice: the usual window is 20 */
const MAX_REMEMBERED = 50;

/**
 * Makes the memory. A number and content that were seen before are a repetition if the broker says so, or if they were
 * not acknowledged, for then the number is not free for another (MQTT 3.1.1 §2.3.1). Else they are new: a contact that
 * closes twice says the same twice.
 */
export function createMessageDeduplicator(state: KeyValueState): MessageDeduplicator {
  let recent: readonly SeenMessage[] | null = null;
  const keep = async (seen: readonly SeenMessage[]): Promise<void> => {
    recent = seen.slice(-MAX_REMEMBERED);
    await state.set(STATE_KEY, recent);
  };
  return {
    async eventKeyFor({ topic, payload, messageId, dup }) {
      if (messageId === null) return randomUUID();
      recent ??= ((await state.get(STATE_KEY)) ?? []) as SeenMessage[];
      const hash = createHash("sha256").update(`${messageId}\n${topic}\n`).update(payload).digest("base64");
      const known = recent.findLast((seen) => seen.hash === hash && (dup || seen.open));
      if (known) return known.key;
      const key = randomUUID();
      await keep([...recent, { hash, key, open: true }]);
      return key;
    },
    async acknowledge(key) {
      if (recent?.some((seen) => seen.key === key && seen.open))
        await keep(recent.map((seen) => (seen.key === key ? { ...seen, open: false } : seen)));
    },
  };
}
