import { createHash, randomUUID } from "node:crypto";

/** A message as far as its repetitions are concerned. */
export interface Arrived {
  topic: string;
  payload: Uint8Array;
  /** The broker's number for it, used again for others; null where messages are not repeated (QoS 0). */
  messageId: number | null;
  /** The broker says that it may have sent it before. */
  dup: boolean;
}

/** Tells messages that a broker sends again from new ones that are the same. */
export interface Redeliveries {
  /** The key of a message's event; resolves when it is known even after a crash. */
  keyOf(message: Arrived): Promise<string>;
  /** The event is stored: its message is acknowledged next. */
  taken(key: string): Promise<void>;
}

/** Where the last keys are kept. */
interface State {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

/** A message that was seen; `open` until it is to be acknowledged. */
interface Seen {
  hash: string;
  key: string;
  open: boolean;
}

const KEPT = "recent";
/** More than a broker sends without an answer. own choice: the usual window is 20 */
const MOST_KEPT = 50;

/**
 * Makes the memory. A number and content that were seen before are a repetition if the broker says so, or if they were
 * not acknowledged, for then the number is not free for another (MQTT 3.1.1 §2.3.1). Else they are new: a contact that
 * closes twice says the same twice.
 */
export function createRedeliveries(state: State): Redeliveries {
  let recent: readonly Seen[] | null = null;
  const keep = async (seen: readonly Seen[]): Promise<void> => {
    recent = seen.slice(-MOST_KEPT);
    await state.set(KEPT, recent);
  };
  return {
    async keyOf({ topic, payload, messageId, dup }) {
      if (messageId === null) return randomUUID();
      recent ??= ((await state.get(KEPT)) ?? []) as Seen[];
      const hash = createHash("sha256").update(`${messageId}\n${topic}\n`).update(payload).digest("base64");
      const known = recent.findLast((seen) => seen.hash === hash && (dup || seen.open));
      if (known) return known.key;
      const key = randomUUID();
      await keep([...recent, { hash, key, open: true }]);
      return key;
    },
    async taken(key) {
      if (recent?.some((seen) => seen.key === key && seen.open))
        await keep(recent.map((seen) => (seen.key === key ? { ...seen, open: false } : seen)));
    },
  };
}
