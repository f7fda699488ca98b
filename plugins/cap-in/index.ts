import type { X509Certificate } from "node:crypto";
import { type ConfigOf, definePlugin, type PluginContext, parseNamedSecrets } from "#plugin-api";
import { parseAlert, type ReceivedAlert } from "./alert.ts";
import { type AreaOfInterest, alertInput, matchingAreas, rejectionReason } from "./alert-filter.ts";
import config from "./config.ts";
import { type FeedConfig, parseFeedConfigs } from "./feed-config.ts";
import { startFeedPoller } from "./feed-poller.ts";
import { parseCertificates, verifiedContent } from "./signature.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Alerts of authorities: polls CAP feeds, verifies and filters alerts, and triggers inputs. */
export default definePlugin({
  config,
  activate(ctx) {
    const { feeds, errors } = parseFeedConfigs(ctx.config.feeds);
    const trusted = parseTrustedCertificates(ctx.config.trustedCertificates, errors);
    const tokens = parseNamedSecrets(ctx.config.tokens);
    if (trusted.length === 0 && feeds.some(({ signed }) => signed))
      errors.push("trustedCertificates must be set for signed feeds");
    const health = createFeedHealth(feeds, errors, ctx.status);
    for (const feed of feeds) {
      startFeedPoller({
        ...ctx,
        feed,
        token: tokens.get(feed.name) ?? null,
        parseAlert: (text) =>
          parseAlert(feed.signed ? verifiedContent(text, trusted, ctx.clock.now()) : text, ctx.config.language),
        onAlert: (alert) => handleAlert(alert, feed, ctx),
        onState: (error) => health(feed.name, error),
      });
    }
    if (feeds.length === 0) ctx.status("unconfigured", [...errors, "no feeds are configured"].join("; "));
  },
});

/** Triggers an input for an alert that passes the filter. */
async function handleAlert(alert: ReceivedAlert, feed: FeedConfig, ctx: Context): Promise<void> {
  const here = matchingAreas(alert, feed, await listAreasOfInterest(ctx));
  const refusal = rejectionReason(alert, feed, here, ctx.clock.now());
  const named = { feed: feed.name, identifier: alert.identifier, alertEvent: alert.event };
  if (refusal !== null) ctx.log.info({ event: "cap.alert_ignored", ...named, reason: refusal }, "alert ignored");
  else await ctx.trigger(alertInput(alert, feed, here));
}

async function listAreasOfInterest({ resources }: Context): Promise<AreaOfInterest[]> {
  const rows = (await resources.list("areas-of-interest")) as unknown as AreaRow[] | undefined;
  return (rows ?? []).map(({ id, name, geometryValue }) => {
    const [longitude, latitude] = geometryValue.geometry.coordinates;
    return { id, name, longitude, latitude, radiusM: geometryValue.properties.radiusInM };
  });
}

/** Row of an area of interest. */
interface AreaRow {
  id: string;
  name: string;
  geometryValue: { geometry: { coordinates: [number, number] }; properties: { radiusInM: number } };
}

function parseTrustedCertificates(pem: string | null, errors: string[]): X509Certificate[] {
  try {
    return parseCertificates(pem);
  } catch {
    errors.push("trustedCertificates must be certificates in PEM");
    return [];
  }
}

/** Aggregates the health of all feeds from their latest poll results. */
function createFeedHealth(feeds: readonly FeedConfig[], configErrors: readonly string[], status: Context["status"]) {
  const known = new Map<string, string | null>();
  return (name: string, error: string | null): void => {
    known.set(name, error);
    const failed = [...known].flatMap(([feed, reason]) => (reason === null ? [] : [`${feed}: ${reason}`]));
    const message = [...configErrors, ...failed].join("; ").slice(0, 1_000);
    if (message === "") status("ok");
    else status(failed.length === feeds.length ? "down" : "degraded", message);
  };
}
