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

/** Phones at once. @source performance.md 7 */
const CONCURRENCY = { least: 64, start: 512, most: 1_024 };
/** More of them for emergencies. own choice */
const EXTRA_FOR_EMERGENCIES = 256;
/** Questions about sound at once, beside the pushes. */
const MAX_STATUS_QUERIES = 512;
const SWEEP_MS = 60_000;
/** Call managers, whose `nextAuthenticationUrl` decides about pushes of others. */
const CLUSTERS = "callmgr-clusters";

/** Desk phones: text, image and multicast sound by push; phones ask the own port whether they may obey. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log } = ctx;
    const password = ctx.config.pushPassword ?? randomBytes(24).toString("base64url");
    const credentials = createPushCredentials(ctx.config.pushUser, password);
    const foreign = createPushAuthorizationRelay(ctx);
    const authentication = createPushAuthentication(credentials, foreign);
    // Own pushes need no cluster, so that phones are reached even while these are not known.
    const learn = async (): Promise<void> => {
      try {
        const clusters = await ctx.resources.list(CLUSTERS);
        foreign.setUrls(
          clusters.flatMap(({ nextAuthenticationUrl: url }) => (typeof url === "string" && url !== "" ? [url] : [])),
        );
      } catch (error) {
        log.warn({ error: String(error) }, "clusters are not known");
      }
    };
    ctx.resources.watch(CLUSTERS, () => void learn());
    await learn();
    const pictures = createPictureStore({
      clock,
      onAvailability: (words) => (words === null ? ctx.status("ok") : ctx.status("degraded", words)),
      onError: (words) => log.warn({}, words),
    });
    const pages = createPageStore(() => ctx.urls.auth ?? "", randomBytes(32), pictures);
    const events = createStreamEvents(() => ctx.urls.auth ?? "");
    const authUrl = await ctx.listen(
      "auth",
      (request) => pages.respond(request) ?? events.respond(request) ?? authentication.respond(request),
    );
    const pace = createConcurrencyLimit(clock, CONCURRENCY);
    const ask = createPhoneClient(clock, ctx.signal, pace);
    const pusher = createPusher({ clock, ask, authentication, authUrl, authorization: credentials.authorization });
    const tasks = createPhoneTaskQueue(
      clock,
      {
        maxConcurrent: pace.current,
        extraForEmergencies: EXTRA_FOR_EMERGENCIES,
        maxLowestPriority: MAX_STATUS_QUERIES,
      },
      (error) => log.error({ error: String(error) }, "a push went wrong"),
    );
    const deliveries = createPhoneDeliveries({
      clock,
      outcome: ctx.outcome,
      tasks,
      request: ask,
      pusher,
      pages,
      events,
      log,
    });
    ctx.deliver((batch) => deliveries.start(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe((device) => probePhone(device, ask));
    ctx.every(SWEEP_MS, () => deliveries.sweep());
    ctx.status("ok");
  },
});
