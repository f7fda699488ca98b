import { createHash, randomUUID } from "node:crypto";

/** The parts of a message that matter for deduplication. */
export interface MqttMessage {
  topic: string;
  payload: Uint8Array;
  /** Packet identifier, reused by the broker; null for QoS 0, which is never redelivered. */
  messageId: number | null;
  /** DUP flag: possibly a redelivery. */
  dup: boolean;
}

/** Distinguishes redelivered messages from new messages with the same content. */
export interface MessageDeduplicator {
  /** Event key of a message; resolves when the key is durable. */
  eventKeyFor(message: MqttMessage): Promise<string>;
  /** Marks the event as stored; its message is acknowledged next. */
  acknowledge(key: string): Promise<void>;
}

interface KeyValueState {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

/** A remembered message; `open` until acknowledged. */
interface SeenMessage {
  hash: string;
  key: string;
  open: boolean;
}

const STATE_KEY = "recent";
/** More than the broker's window of unacknowledged messages, which is usually 20. */
const MAX_REMEMBERED = 50;

/** True if a message was ever received. */
export async function hasReceived(state: Pick<KeyValueState, "get">): Promise<boolean> {
  return (await state.get(STATE_KEY)) !== undefined;
}

/**
 * Creates the deduplicator. A known packet identifier with the same content is a redelivery if DUP is set, or if the
 * earlier message is unacknowledged, since its identifier cannot be reused yet (MQTT 3.1.1 §2.3.1). Otherwise it is a
 * new event: a contact that closes twice sends the same message twice.
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
