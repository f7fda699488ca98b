import { connect, type IClientOptions } from "mqtt";
import type { Clock } from "#plugin-api";
import type { MqttMessage } from "./message-deduplication.ts";

/** How a broker is reached, and what is heard of it. */
export interface MqttConnectionDeps {
  url: string;
  username: string | null;
  password: string | null;
  clientId: string;
  /** PEM; null for the system's. */
  certificateAuthority: string | null;
  filters: readonly string[];
  clock: Clock;
  signal: AbortSignal;
  /** Takes a message; the broker keeps it until this resolves, and sends it again when it rejects. */
  onMessage(message: MqttMessage & { retain: boolean }): Promise<void>;
  /** The connection stands, with topics that the broker refuses, or does not, and why. */
  onState(state: "up" | "down", words: string): void;
}

/** What the library says of topics that were not all granted: the broker's answer, in their order. */
interface SubscribeError {
  packet?: { granted?: readonly number[] };
}

/** @source MQTT 3.1.1 §3.9.3 */
const REFUSED = 128;
const RECONNECT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_S = 30;

/** Connects until the signal aborts, again and again; a message is acknowledged once it was taken. */
export function openMqttConnection(needs: MqttConnectionDeps): void {
  const { clock, signal, filters, onMessage, onState } = needs;
  const client = connect(needs.url, clientOptions(needs));
  let fault: string | null = null;
  // The library acknowledges what this has called back for without an error, which it is told once a message was taken.
  client.handleMessage = ({ topic, payload, qos, messageId, dup, retain }, done) => {
    const isRepeated = qos > 0 && messageId !== undefined;
    const message = { topic, payload: Buffer.from(payload), messageId: isRepeated ? messageId : null, dup, retain };
    onMessage(message).then(
      () => done(),
      (error: unknown) => {
        if (!isRepeated) return done();
        // Only a new connection makes the broker send it again.
        clock.after(RECONNECT_MS, () => client.stream.destroy(), { background: true });
        done(error instanceof Error ? error : new Error(String(error)));
      },
    );
  };
  client.on("connect", () => {
    fault = null;
    if (filters.length === 0) return onState("up", "");
    client.subscribe([...filters], { qos: 1 }, (error) => {
      const refused = filters.filter(
        (_, at) => ((error as SubscribeError | null)?.packet?.granted?.[at] ?? 0) >= REFUSED,
      );
      if (error && refused.length === 0) onState("down", error.message);
      else onState("up", refused.length > 0 ? `the broker refuses ${refused.join(", ")}` : "");
    });
  });
  client.on("error", (error) => {
    fault = error.message;
    onState("down", fault);
  });
  client.on("close", () => onState("down", fault ?? "the connection was closed"));
  signal.addEventListener("abort", () => void client.end(true), { once: true });
}

/** @source MQTT 3.1.1 §3.1.2.4: without a clean session the broker keeps what comes while nobody is connected */
function clientOptions({ username, password, clientId, certificateAuthority }: MqttConnectionDeps): IClientOptions {
  return {
    clientId,
    clean: false,
    // Subscribed anew with each connection, so that topics that are refused are told.
    resubscribe: false,
    protocolVersion: 4,
    keepalive: KEEP_ALIVE_S,
    reconnectPeriod: RECONNECT_MS,
    reconnectOnConnackError: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    rejectUnauthorized: true,
    // A password alone is no MQTT 3.1.1 (§3.1.2.9).
    ...(username === null ? {} : { username, ...(password === null ? {} : { password }) }),
    ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
  };
}
