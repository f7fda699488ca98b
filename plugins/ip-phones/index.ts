import { randomBytes } from "node:crypto";
import { definePlugin } from "#plugin-api";
import { createConcurrencyLimit } from "./concurrency-limit.ts";
import config from "./config.ts";
import { createPhoneDeliveries } from "./deliveries.ts";
import { createPageStore } from "./page-store.ts";
import { createPhoneClient } from "./phone-client.ts";
import { createPhoneTaskQueue } from "./phone-task-queue.ts";
import { createPictureStore } from "./picture-store.ts";
import { probePhone } from "./probe.ts";
import { createPushAuthentication } from "./push-authentication.ts";
import { createPushAuthorizationRelay } from "./push-authorization-relay.ts";
import { createPushCredentials } from "./push-credentials.ts";
import { createPusher } from "./pusher.ts";
import { createStreamEvents } from "./stream-events.ts";

/** Limits of concurrent phone requests. @source docs/decisions/0032-phone-push.md, Concurrency */
const CONCURRENCY = { min: 64, start: 512, max: 1_024 };
/** Additional requests for emergencies. */
const EXTRA_FOR_EMERGENCIES = 256;
/** Concurrent statistics queries, besides the pushes. */
const MAX_STATUS_QUERIES = 512;
const SWEEP_MS = 60_000;
/** Clusters, whose `nextAuthenticationUrl` authorizes pushes of other applications. */
const CLUSTERS = "callmgr-clusters";

/** Desk phones: text, images and multicast audio by push. Phones verify each push at this plugin's own port. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log } = ctx;
    const { pushUser, pushPassword: password } = ctx.config;
    const credentials = createPushCredentials(pushUser, password === null ? { key: randomBytes(32) } : { password });
    const relay = createPushAuthorizationRelay(ctx);
    const authentication = createPushAuthentication(credentials, relay);
    // Own pushes work even while the clusters are unknown.
    const loadClusters = async (): Promise<void> => {
      try {
        const clusters = await ctx.resources.list(CLUSTERS);
        relay.setUrls(
          clusters.flatMap(({ nextAuthenticationUrl: url }) => (typeof url === "string" && url !== "" ? [url] : [])),
        );
      } catch (error) {
        log.warn({ event: "phone.clusters_unavailable", error: String(error) }, "failed to list clusters");
      }
    };
    ctx.resources.watch(CLUSTERS, () => void loadClusters());
    await loadClusters();
    const pictures = createPictureStore({
      clock,
      onAvailability: (reason) => (reason === null ? ctx.status("ok") : ctx.status("degraded", reason)),
      onError: (message) => log.warn({ event: "phone.picture_failed" }, message),
    });
    const pages = createPageStore(() => ctx.urls.auth ?? "", randomBytes(32), pictures);
    const events = createStreamEvents(() => ctx.urls.auth ?? "");
    const authUrl = await ctx.listen(
      "auth",
      (request) => pages.respond(request) ?? events.respond(request) ?? authentication.respond(request),
    );
    const limit = createConcurrencyLimit(clock, CONCURRENCY);
    const requestPhone = createPhoneClient(clock, ctx.signal, limit, ctx.isTargetAllowed);
    const pusher = createPusher({
      clock,
      requestPhone,
      authentication,
      authUrl,
      authorizationFor: credentials.authorizationFor,
    });
    const tasks = createPhoneTaskQueue(
      clock,
      {
        maxConcurrent: limit.current,
        extraForEmergencies: EXTRA_FOR_EMERGENCIES,
        maxLowestPriority: MAX_STATUS_QUERIES,
      },
      (error) => log.error({ event: "phone.push_failed", error: String(error) }, "phone push failed"),
    );
    const deliveries = createPhoneDeliveries({
      clock,
      outcome: ctx.outcome,
      tasks,
      request: requestPhone,
      pusher,
      pages,
      events,
      log,
    });
    ctx.deliver((batch) => deliveries.start(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe((device) => probePhone(device, requestPhone));
    ctx.every(SWEEP_MS, () => deliveries.sweep());
    ctx.status("ok");
  },
});
