import { randomBytes } from "node:crypto";
import { definePlugin } from "#plugin-api";
import { createAuthentication } from "./authentication.ts";
import config from "./config.ts";
import { createCredentials } from "./credentials.ts";
import { createDeliveries } from "./deliveries.ts";
import { createForeignPushes } from "./foreign-pushes.ts";
import { createPace } from "./pace.ts";
import { createPages } from "./pages.ts";
import { createPhoneClient } from "./phone-exchange.ts";
import { createPhoneTurns } from "./phone-turns.ts";
import { createPictures } from "./pictures.ts";
import { probePhone } from "./probe.ts";
import { createPusher } from "./pusher.ts";
import { createStreamEvents } from "./stream-events.ts";

/** Phones at once. @source performance.md 7 */
const PACE = { least: 64, start: 512, most: 1_024 };
/** More of them for emergencies. own choice */
const URGENT = 256;
/** Questions about sound at once, beside the pushes. */
const QUESTIONS = 512;
const SWEEP_MS = 60_000;
/** Call managers, whose `nextAuthenticationUrl` decides about pushes of others. */
const CLUSTERS = "callmgr-clusters";

/** Desk phones: text, image and multicast sound by push; phones ask the own port whether they may obey. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log } = ctx;
    const password = ctx.config.pushPassword ?? randomBytes(24).toString("base64url");
    const credentials = createCredentials(ctx.config.pushUser, password);
    const foreign = createForeignPushes(ctx);
    const authentication = createAuthentication(credentials, foreign);
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
    const pictures = createPictures({
      clock,
      onLack: (words) => (words === null ? ctx.status("ok") : ctx.status("degraded", words)),
      onFault: (words) => log.warn({}, words),
    });
    const pages = createPages(() => ctx.urls.auth ?? "", randomBytes(32), pictures);
    const events = createStreamEvents(() => ctx.urls.auth ?? "");
    const authUrl = await ctx.listen(
      "auth",
      (request) => pages.respond(request) ?? events.respond(request) ?? authentication.respond(request),
    );
    const pace = createPace(clock, PACE);
    const ask = createPhoneClient(clock, ctx.signal, pace);
    const pusher = createPusher({ clock, ask, authentication, authUrl, authorization: credentials.header });
    const turns = createPhoneTurns(clock, { lanes: pace.limit, urgent: URGENT, lastLane: QUESTIONS }, (error) =>
      log.error({ error: String(error) }, "a push went wrong"),
    );
    const deliveries = createDeliveries({ clock, outcome: ctx.outcome, turns, ask, pusher, pages, events, log });
    ctx.deliver((batch) => deliveries.take(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe((device) => probePhone(device, ask));
    ctx.every(SWEEP_MS, () => deliveries.sweep());
    ctx.status("ok");
  },
});
