import { connect, type IClientOptions } from "mqtt";
import type { Clock } from "#plugin-api";
import type { MqttMessage } from "./message-deduplication.ts";
import { sentence } from "./sentences.ts";
import { withoutCovered } from "./topic-subscriptions.ts";

/** Connection settings and callbacks. */
export interface MqttConnectionDeps {
  url: string;
  username: string | null;
  password: string | null;
  clientId: string;
  /** PEM; null for the system's CAs. */
  certificateAuthority: string | null;
  filters: readonly string[];
  clock: Clock;
  signal: AbortSignal;
  /** Handles a message; the broker keeps it until this resolves and redelivers it if this rejects. */
  onMessage(message: MqttMessage & { retain: boolean }): Promise<void>;
  /** Connection state, with refused topics or the reason of a failure. */
  onState(state: "up" | "down", reason: string): void;
}

/** The library's error for refused subscriptions: return codes in topic order. */
interface SubscribeError {
  packet?: { granted?: readonly number[] };
}

/** Failure return code of SUBACK. @source MQTT 3.1.1 §3.9.3 */
const REFUSED = 128;
const RECONNECT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_S = 30;

/** Connects and reconnects until the signal aborts; acknowledges a message once it was handled. */
export function openMqttConnection(deps: MqttConnectionDeps): void {
  const { clock, signal, filters, onMessage, onState } = deps;
  const client = connect(deps.url, clientOptions(deps));
  let lastError: string | null = null;
  // The library acknowledges a message when `done` is called without an error.
  client.handleMessage = ({ topic, payload, qos, messageId, dup, retain }, done) => {
    const isRepeated = qos > 0 && messageId !== undefined;
    const message = { topic, payload: Buffer.from(payload), messageId: isRepeated ? messageId : null, dup, retain };
    onMessage(message).then(
      () => done(),
      (error: unknown) => {
        if (!isRepeated) return done();
        // Only a reconnect triggers redelivery.
        clock.after(RECONNECT_MS, () => client.stream.destroy(), { background: true });
        done(error instanceof Error ? error : new Error(String(error)));
      },
    );
  };
  /** Subscribes to all filters; where the broker refuses one, to those that it covers. */
  const subscribe = (refusedBefore: readonly string[], subscribed: readonly string[] = []): void => {
    const wanted = withoutCovered(filters.filter((filter) => !refusedBefore.includes(filter)));
    const next = wanted.filter((filter) => !subscribed.includes(filter));
    if (next.length === 0) {
      // The session may have them from before.
      const covered = filters.filter((filter) => !subscribed.includes(filter));
      if (covered.length > 0) client.unsubscribe(covered);
      const problem = sentence("topics-refused", { topics: refusedBefore.join(", ") });
      return void onState("up", refusedBefore.length > 0 ? problem : "");
    }
    client.subscribe(next, { qos: 1 }, (error) => {
      const granted = (error as SubscribeError | null)?.packet?.granted;
      const refused = next.filter((_, at) => (granted?.[at] ?? 0) >= REFUSED);
      if (error && refused.length === 0) onState("down", error.message);
      else subscribe([...refusedBefore, ...refused], [...subscribed, ...next]);
    });
  };
  client.on("connect", () => {
    lastError = null;
    subscribe([]);
  });
  client.on("error", (error) => {
    lastError = error.message;
    onState("down", lastError);
  });
  client.on("close", () => onState("down", lastError ?? sentence("connection-closed")));
  signal.addEventListener("abort", () => void client.end(true), { once: true });
}

/** Without a clean session the broker queues messages while the client is offline. @source MQTT 3.1.1 §3.1.2.4 */
function clientOptions({ username, password, clientId, certificateAuthority }: MqttConnectionDeps): IClientOptions {
  return {
    clientId,
    clean: false,
    // Subscribes on each connection, so that refused topics are reported.
    resubscribe: false,
    protocolVersion: 4,
    keepalive: KEEP_ALIVE_S,
    reconnectPeriod: RECONNECT_MS,
    reconnectOnConnackError: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    rejectUnauthorized: true,
    // A password requires a user name. @source MQTT 3.1.1 §3.1.2.9
    ...(username === null ? {} : { username, ...(password === null ? {} : { password }) }),
    ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
  };
}
