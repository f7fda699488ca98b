import { createLiveFeed, type LiveFeed } from "../console/live-feed.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import { extensionIdOf } from "../plugin-host/extension-rows.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import { createChangeFeed } from "../webhooks/change-feed/change-feed.ts";
import { createEventStream, type EventStream } from "../webhooks/change-feed/event-stream.ts";
import { createWebhookDispatcher, type WebhookDispatcher } from "../webhooks/webhook-dispatcher.ts";
import type { ApplianceData } from "./appliance-data.ts";

export interface ChangePublisherDeps {
  data: Pick<ApplianceData, "store" | "access" | "catalogue">;
  clock: Clock;
  events: Events;
  log: Log;
  ssrfGuard: SsrfGuard;
  endpointId(): string;
}

/** Publishes changes to consoles, event streams and webhooks. */
export interface ChangePublishers {
  liveFeed: LiveFeed;
  eventStream: EventStream;
  webhooks: WebhookDispatcher;
  /** Closes consoles and event streams. */
  stop(): void;
}

/** Consoles and event streams share one change feed; webhooks follow the audit log. */
export function createChangePublishers({
  data,
  clock,
  events,
  log,
  ssrfGuard,
  endpointId,
}: ChangePublisherDeps): ChangePublishers {
  const { store, access, catalogue } = data;
  const feed = createChangeFeed({
    ...{ reader: store, access, catalogue, clock, events, log },
    rowsOfPlugin: (plugin) => [
      { resource: extensions.name, id: extensionIdOf(plugin) },
      { resource: endpoints.name, id: endpointId() },
    ],
  });
  const liveFeed = createLiveFeed(feed, clock);
  const eventStream = createEventStream(feed);
  const by = access.systemContext("outbound");
  const webhooks = createWebhookDispatcher({ ...{ store, access, catalogue, clock, events, log, ssrfGuard, by } });
  return {
    liveFeed,
    eventStream,
    webhooks,
    stop() {
      eventStream.stop();
      liveFeed.stop();
      feed.stop();
    },
  };
}
