import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { createLiveFeed, type LiveFeed } from "../console/live-feed.ts";
import { extensionIdOf } from "../extensions/extension-rows.ts";
import { createChangeFeed } from "../outbound/change-feed.ts";
import { createEventStream, type EventStream } from "../outbound/event-stream.ts";
import { createWebhooks, type Webhooks } from "../outbound/webhooks.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import type { ApplianceData } from "./appliance.ts";

/** What telling others is made of. */
export interface TellingNeeds {
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  policy: AddressPolicy;
  endpointId(): string;
}

/** All that tells others what changes. */
export interface Telling {
  live: LiveFeed;
  eventStream: EventStream;
  webhooks: Webhooks;
  /** Ends consoles and event streams. */
  stop(): void;
}

/** Makes the one look at the change feed that consoles and event streams share, and the webhooks, which follow the audit. */
export function createTelling({ data, clock, events, log, policy, endpointId }: TellingNeeds): Telling {
  const { store, access, catalogue } = data;
  const feed = createChangeFeed({
    ...{ reader: store, access, catalogue, clock, events, log },
    rowsOfPlugin: (plugin) => [
      { resource: extensions.name, id: extensionIdOf(plugin) },
      { resource: endpoints.name, id: endpointId() },
    ],
  });
  const live = createLiveFeed(feed);
  const eventStream = createEventStream(feed);
  const by = access.systemBy("outbound");
  const webhooks = createWebhooks({ ...{ store, access, catalogue, clock, events, log, policy, by } });
  return {
    live,
    eventStream,
    webhooks,
    stop() {
      eventStream.stop();
      live.stop();
      feed.stop();
    },
  };
}
