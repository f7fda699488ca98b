import type { X509Certificate } from "node:crypto";
import { type ConfigOf, definePlugin, namedSecrets, type PluginContext } from "#plugin-api";
import { type Alert, readAlert } from "./alert.ts";
import config from "./config.ts";
import { areasHere, inputOf, type OwnArea, refusalOf } from "./filter.ts";
import { type Followed, readFollowed } from "./followed.ts";
import { followFeed } from "./poller.ts";
import { readCertificates, signedPart } from "./signature.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Alerts of authorities: what feeds tell becomes inputs, as far as it is signed, new, meant and for here. */
export default definePlugin({
  config,
  activate(ctx) {
    const { feeds, faults } = readFollowed(ctx.config.feeds);
    const trusted = certificatesOf(ctx.config.trustedCertificates, faults);
    const tokens = namedSecrets(ctx.config.tokens);
    if (trusted.length === 0 && feeds.some(({ signed }) => signed))
      faults.push("no trustedCertificates are set, so that nothing of a signed feed can be taken");
    const health = createHealth(feeds, faults, ctx.status);
    for (const feed of feeds) {
      followFeed({
        ...ctx,
        feed,
        token: tokens.get(feed.name) ?? null,
        read: (text) => readAlert(feed.signed ? signedPart(text, trusted, ctx.clock.now()) : text, ctx.config.language),
        take: (alert) => take(alert, feed, ctx),
        onState: (fault) => health(feed.name, fault),
      });
    }
    if (feeds.length === 0) ctx.status("degraded", [...faults, "no feed is followed"].join("; "));
  },
});

/** Makes an input of an alert that counts; one that does not is over with. */
async function take(alert: Alert, feed: Followed, ctx: Context): Promise<void> {
  const here = areasHere(alert, feed, await ownAreas(ctx));
  const refusal = refusalOf(alert, feed, here, ctx.clock.now());
  const named = { feed: feed.name, identifier: alert.identifier, event: alert.event };
  if (refusal !== null) ctx.log.info({ ...named, reason: refusal }, "an alert does not count");
  else await ctx.trigger(inputOf(alert, feed, here));
}

async function ownAreas({ resources }: Context): Promise<OwnArea[]> {
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

function certificatesOf(pem: string | null, faults: string[]): X509Certificate[] {
  try {
    return readCertificates(pem);
  } catch {
    faults.push("trustedCertificates can't be read");
    return [];
  }
}

/** Tells how all feeds are, by what each of them gave last. */
function createHealth(feeds: readonly Followed[], faults: readonly string[], status: Context["status"]) {
  const known = new Map<string, string | null>();
  return (name: string, fault: string | null): void => {
    known.set(name, fault);
    const bad = [...known].flatMap(([feed, words]) => (words === null ? [] : [`${feed}: ${words}`]));
    const words = [...faults, ...bad].join("; ").slice(0, 1_000);
    if (words === "") status("ok");
    else status(bad.length === feeds.length ? "down" : "degraded", words);
  };
}
