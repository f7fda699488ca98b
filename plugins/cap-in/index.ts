import type { X509Certificate } from "node:crypto";
import { type ConfigOf, definePlugin, type PluginContext, parseNamedSecrets } from "#plugin-api";
import { parseAlert, type ReceivedAlert } from "./alert.ts";
import { type AreaOfInterest, alertInput, matchingAreas, rejectionReason } from "./alert-filter.ts";
import config from "./config.ts";
import { type FeedConfig, parseFeedConfigs } from "./feed-config.ts";
import { startFeedPoller } from "./feed-poller.ts";
import { parseCertificates, verifiedContent } from "./signature.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Alerts of authorities: what feeds tell becomes inputs, as far as it is signed, new, meant and for here. */
export default definePlugin({
  config,
  activate(ctx) {
    const { feeds, errors } = parseFeedConfigs(ctx.config.feeds);
    const trusted = parseTrustedCertificates(ctx.config.trustedCertificates, errors);
    const tokens = parseNamedSecrets(ctx.config.tokens);
    if (trusted.length === 0 && feeds.some(({ signed }) => signed))
      errors.push("no trustedCertificates are set, so that nothing of a signed feed can be taken");
    const health = createFeedHealth(feeds, errors, ctx.status);
    for (const feed of feeds) {
      startFeedPoller({
        ...ctx,
        feed,
        token: tokens.get(feed.name) ?? null,
        parseAlert: (text) =>
          parseAlert(feed.signed ? verifiedContent(text, trusted, ctx.clock.now()) : text, ctx.config.language),
        onAlert: (alert) => handleAlert(alert, feed, ctx),
        onState: (fault) => health(feed.name, fault),
      });
    }
    if (feeds.length === 0) ctx.status("degraded", [...errors, "no feed is followed"].join("; "));
  },
});

/** Makes an input of an alert that counts; one that does not is over with. */
async function handleAlert(alert: ReceivedAlert, feed: FeedConfig, ctx: Context): Promise<void> {
  const here = matchingAreas(alert, feed, await listAreasOfInterest(ctx));
  const refusal = rejectionReason(alert, feed, here, ctx.clock.now());
  const named = { feed: feed.name, identifier: alert.identifier, event: alert.event };
  if (refusal !== null) ctx.log.info({ ...named, reason: refusal }, "an alert does not count");
  else await ctx.trigger(alertInput(alert, feed, here));
}

async function listAreasOfInterest({ resources }: Context): Promise<AreaOfInterest[]> {
  const rows = (await resources.list("areas-of-interest")) as unknown as AreaRow[] | undefined;
  return (rows ?? []).map(({ id, name, geometryValue }) => {
    const [longitude, latitude] = geometryValue.geometry.coordinates;
    return { id, name, longitude, latitude, radiusM: geometryValue.properties.radiusInM };
  });
}

/** What the appliance tells of an area of interest. */
interface AreaRow {
  id: string;
  name: string;
  geometryValue: { geometry: { coordinates: [number, number] }; properties: { radiusInM: number } };
}

function parseTrustedCertificates(pem: string | null, faults: string[]): X509Certificate[] {
  try {
    return parseCertificates(pem);
  } catch {
    faults.push("trustedCertificates can't be read");
    return [];
  }
}

/** Tells how all feeds are, by what each of them gave last. */
function createFeedHealth(feeds: readonly FeedConfig[], faults: readonly string[], status: Context["status"]) {
  const known = new Map<string, string | null>();
  return (name: string, fault: string | null): void => {
    known.set(name, fault);
    const bad = [...known].flatMap(([feed, words]) => (words === null ? [] : [`${feed}: ${words}`]));
    const words = [...faults, ...bad].join("; ").slice(0, 1_000);
    if (words === "") status("ok");
    else status(bad.length === feeds.length ? "down" : "degraded", words);
  };
}
