import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Aedes } from "aedes";
import { connectAsync } from "mqtt";

/** A real MQTT broker on loopback, with a client of its own to publish by. */
export interface TestBroker {
  readonly url: string;
  publish(topic: string, payload: string, options?: { qos?: 0 | 1; retain?: boolean }): Promise<void>;
  /** Resolves when that many subscriptions were made in all. */
  subscribed(count: number): Promise<void>;
  /** Filters that were asked for, also those that were refused. */
  readonly followed: readonly string[];
  /** Names of the clients that connected, without the publisher. */
  clients(): string[];
  /** Cuts the connection of the client with this name. */
  cut(clientId: string): void;
  close(): Promise<void>;
}

/** Who may connect, and what may be followed. */
export interface BrokerRules {
  password?: string;
  /** Topics that nobody may follow. */
  forbidden?: readonly string[];
}

/** Starts a broker on a free port. */
export async function openBroker({ password, forbidden = [] }: BrokerRules = {}): Promise<TestBroker> {
  const sockets = new Map<string, Socket>();
  const followed: string[] = [];
  let subscriptions = 0;
  let waiting: (() => void)[] = [];
  const broker = await Aedes.createBroker({
    authenticate: (client, _user, given, done) =>
      done(null, client.id === "publisher" || password === undefined || given?.toString() === password),
    authorizeSubscribe(_client, subscription, done) {
      followed.push(subscription.topic);
      const isForbidden = forbidden.includes(subscription.topic);
      // Shared subscriptions are unknown to it: with one client in the group all messages are that client's.
      subscription.topic = subscription.topic.replace(/^\$share\/[^/]+\//, "");
      done(null, isForbidden ? null : subscription);
    },
  });
  broker.on("client", (client) => sockets.set(client.id, client.conn as Socket));
  broker.on("subscribe", (made) => {
    subscriptions += made.length;
    for (const look of waiting) look();
  });
  const server: Server = createServer((socket) => void broker.handle(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const publisher = await connectAsync(url, { clientId: "publisher" });
  return {
    url,
    publish: async (topic, payload, options = {}) =>
      void (await publisher.publishAsync(topic, payload, { qos: 1, ...options })),
    subscribed: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (subscriptions < count) return;
          waiting = waiting.filter((each) => each !== look);
          resolve();
        };
        waiting.push(look);
        look();
      }),
    followed,
    clients: () => [...sockets.keys()].filter((id) => id !== "publisher"),
    cut: (clientId) => void sockets.get(clientId)?.destroy(),
    async close() {
      await publisher.endAsync(true);
      await new Promise<void>((resolve) => broker.close(() => resolve()));
      server.close();
    },
  };
}
