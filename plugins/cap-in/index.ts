import type { X509Certificate } from "node:crypto";
import { type ConfigOf, definePlugin, type PluginContext, parseNamedSecrets } from "#plugin-api";
import { parseAlert, type ReceivedAlert } from "./alert.ts";
import {
  type AlertContent,
  type AreaOfInterest,
  type AssessedInfo,
  alertInput,
  alertRejection,
  assessInfos,
  contentOf,
  versionHash,
  worstFirst,
} from "./alert-filter.ts";
import { alertKey, supersededAlertKeys } from "./alert-references.ts";
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

/** Triggers an input for an alert that passes the filter, and for the end of one that did. */
async function handleAlert(alert: ReceivedAlert, feed: FeedConfig, ctx: Context): Promise<void> {
  const started = createStartedAlerts(feed.name, ctx.state);
  const assessed = assessInfos(alert, feed, await listAreasOfInterest(ctx), ctx.clock.now());
  const { isEnd, content, reason } = decide(alert, feed, assessed, await started.find(supersededAlertKeys(alert)));
  const named = { feed: feed.name, identifier: alert.identifier, alertEvent: alert.infos[0]?.event ?? "" };
  if (content === null) return ctx.log.info({ event: "cap.alert_ignored", ...named, reason }, "alert ignored");
  await ctx.trigger(alertInput(alert, feed, content, isEnd));
  if (!isEnd) await started.add(alertKey(alert), content);
}

interface Decision {
  /** Null to ignore the alert, for `reason`. */
  content: AlertContent | null;
  isEnd: boolean;
  reason: string;
}

/** `earlier`: the started alert that it refers to, if any. */
function decide(
  alert: ReceivedAlert,
  feed: FeedConfig,
  assessed: readonly AssessedInfo[],
  earlier: AlertContent | null,
): Decision {
  const rejection = alertRejection(alert, feed);
  if (rejection !== null) return { content: null, isEnd: false, reason: rejection };
  const passed = worstFirst(assessed.filter((each) => each.rejection === null));
  const isCancel = alert.msgType === "Cancel";
  if (passed.length > 0) return { content: contentOf(passed), isEnd: isCancel, reason: "" };
  // Without own areas it concerns the areas of the alert that it refers to.
  const refersOnly = alert.infos.length === 0 || isCancel;
  if (refersOnly && earlier) return { content: earlier, isEnd: isCancel, reason: "" };
  if (refersOnly && alert.infos.length === 0 && isCancel && !feed.onlyHere)
    return { content: contentOf([]), isEnd: true, reason: "" };
  const isOverHere = assessed.some(({ isEnded }) => isEnded);
  if (earlier && isOverHere) return { content: earlier, isEnd: true, reason: "" };
  return { content: null, isEnd: false, reason: assessed[0]?.rejection ?? "it says nothing about an alert known here" };
}

/** Remembered alerts: more than are in force at any time. */
const MAX_STARTED = 500;
const MAX_REMEMBERED_TEXT = 500;

/** Alerts that have triggered an input, with what was sent; kept across restarts. */
function createStartedAlerts(feed: string, state: Context["state"]) {
  const key = `started:${feed}`;
  const read = async (): Promise<[string, AlertContent][]> =>
    ((await state.get(key)) ?? []) as [string, AlertContent][];
  return {
    async find(keys: readonly string[]): Promise<AlertContent | null> {
      if (keys.length === 0) return null;
      const wanted = new Set(keys.map(versionHash));
      return (await read()).findLast(([hash]) => wanted.has(hash))?.[1] ?? null;
    },
    async add(alert: string, { values, areaOfInterestIds }: AlertContent): Promise<void> {
      const hash = versionHash(alert);
      const others = (await read()).filter(([each]) => each !== hash);
      const short = Object.entries(values).map(([name, text]) => [name, text.slice(0, MAX_REMEMBERED_TEXT)]);
      const content = { values: Object.fromEntries(short), areaOfInterestIds };
      await state.set(key, [...others, [hash, content]].slice(-MAX_STARTED));
    },
  };
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
