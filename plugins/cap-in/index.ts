import type { X509Certificate } from "node:crypto";
import { type ConfigOf, definePlugin, type PluginContext, parseNamedSecrets } from "#plugin-api";
import { parseAlert, type ReceivedAlert } from "./alert.ts";
import {
  type AlertContent,
  type AlertOutcome,
  AREA_NOT_UNDERSTOOD,
  type AreaOfInterest,
  type AssessedInfo,
  alertInput,
  alertRejection,
  assessInfos,
  contentOf,
  versionHash,
  worstFirst,
} from "./alert-filter.ts";
import { alertKey, supersededAlertKeys, timelessAlertKey } from "./alert-references.ts";
import config from "./config.ts";
import { type FeedConfig, isStream, parseFeedConfigs } from "./feed-config.ts";
import { startFeedPoller } from "./feed-poller.ts";
import { startFeedStream } from "./feed-stream.ts";
import { sentence } from "./sentences.ts";
import { parseCertificates, verifiedContent } from "./signature.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Alerts of authorities: polls CAP feeds, verifies and filters alerts, and triggers inputs. */
export default definePlugin({
  config,
  activate(ctx) {
    const { feeds, errors } = parseFeedConfigs(ctx.config.feeds);
    const trusted = parseTrustedCertificates(ctx.config.trustedCertificates, errors);
    const tokens = parseNamedSecrets(ctx.config.tokens);
    if (trusted.length === 0 && feeds.some(({ signed }) => signed)) errors.push(sentence("certificates-missing"));
    const health = createFeedHealth(feeds, errors, ctx.status);
    for (const feed of feeds) {
      const language = feed.language ?? ctx.config.language;
      const deps = {
        ...ctx,
        feed,
        parseAlert: (text: string) => parseAlert(contentToUse(text, feed, trusted, ctx, health.signature), language),
        onAlert: (alert: ReceivedAlert) => handleAlert(alert, feed, ctx),
        onState: (error: string | null) => health.state(feed.name, error),
      };
      if (isStream(feed)) startFeedStream({ ...deps, parseHeartbeat: (text) => parseAlert(text, language) });
      else startFeedPoller({ ...deps, token: tokens.get(feed.name) ?? null });
    }
    if (feeds.length === 0) ctx.status("unconfigured", [...errors, sentence("no-feeds")].join("; "));
  },
});

/** The part of a document that may be used. Throws RangeError for one whose signature is not good. */
function contentToUse(
  text: string,
  { name, signed }: FeedConfig,
  trusted: readonly X509Certificate[],
  { clock, log }: Context,
  report: (feed: string, problem: string | null) => void,
): string {
  if (signed === false) return text;
  try {
    const content = verifiedContent(text, trusted, clock.now());
    report(name, null);
    return content;
  } catch (error) {
    if (signed !== "warn" || !(error instanceof RangeError)) throw error;
    const reason = error.message;
    log.warn(
      { event: "cap.signature_not_good", feed: name, reason },
      "alert accepted although its signature is not good",
    );
    report(name, sentence("signature-not-good", { reason }));
    return text;
  }
}

/** Triggers an input for an alert that passes the filter, for the end of one that did, and for one that cannot be placed. */
async function handleAlert(alert: ReceivedAlert, feed: FeedConfig, ctx: Context): Promise<void> {
  const started = createStartedAlerts(feed.name, ctx.state);
  const assessed = assessInfos(alert, feed, await listAreasOfInterest(ctx), ctx.clock.now());
  const { outcome, content, reason } = decide(alert, feed, assessed, await started.find(supersededAlertKeys(alert)));
  const named = { feed: feed.name, identifier: alert.identifier, alertEvent: alert.infos[0]?.event ?? "" };
  if (outcome === "unplaced") {
    const severity = worstFirst(assessed)[0]?.info.severity ?? "";
    ctx.log.warn({ event: "cap.area_not_understood", ...named, severity }, "alert ignored: area not understood");
  }
  if (outcome === null) return ctx.log.info({ event: "cap.alert_ignored", ...named, reason }, "alert ignored");
  await ctx.trigger(alertInput(alert, feed, content, outcome));
  if (outcome === "alert") await started.add(alert, content);
}

interface Decision {
  /** Null to ignore the alert, for `reason`. */
  outcome: AlertOutcome | null;
  content: AlertContent;
  reason: string;
}

/** `earlier`: the started alert that it refers to, if any. */
function decide(
  alert: ReceivedAlert,
  feed: FeedConfig,
  assessed: readonly AssessedInfo[],
  earlier: AlertContent | null,
): Decision {
  const ignored = (reason: string): Decision => ({ outcome: null, content: contentOf([], feed), reason });
  const rejection = alertRejection(alert, feed);
  if (rejection !== null) return ignored(rejection);
  const passed = worstFirst(assessed.filter((each) => each.rejection === null));
  const isCancel = alert.msgType === "Cancel";
  const given = (outcome: AlertOutcome, content: AlertContent): Decision => ({ outcome, content, reason: "" });
  if (passed.length > 0) return given(isCancel ? "end" : "alert", contentOf(passed, feed));
  // Without own areas it concerns the areas of the alert that it refers to.
  const refersOnly = alert.infos.length === 0 || isCancel;
  if (refersOnly && earlier) return given(isCancel ? "end" : "alert", earlier);
  if (alert.infos.length === 0 && isCancel && !feed.onlyHere) return given("end", contentOf([], feed));
  const isOverHere = assessed.some(({ isEnded }) => isEnded);
  if (earlier && isOverHere) return given("end", earlier);
  const unplaced = worstFirst(assessed.filter((each) => each.rejection === AREA_NOT_UNDERSTOOD && !each.isEnded));
  if (unplaced.length > 0 && !isCancel)
    return given("unplaced", { ...contentOf(unplaced, feed), areaOfInterestIds: [] });
  return ignored(assessed[0]?.rejection ?? "it says nothing about an alert known here");
}

/** Remembered alerts: more than are in force at any time. */
const MAX_STARTED = 500;
const MAX_REMEMBERED_TEXT = 500;

/** Its key, what was sent, and its key in references without a time. */
type StartedAlert = [hash: string, content: AlertContent, timeless?: string];

/** Alerts that have triggered an input, with what was sent; kept across restarts. */
function createStartedAlerts(feed: string, state: Context["state"]) {
  const key = `started:${feed}`;
  const read = async (): Promise<StartedAlert[]> => ((await state.get(key)) ?? []) as StartedAlert[];
  return {
    async find(keys: readonly string[]): Promise<AlertContent | null> {
      if (keys.length === 0) return null;
      const wanted = new Set(keys.map(versionHash));
      const found = (await read()).findLast(([hash, , timeless = ""]) => wanted.has(hash) || wanted.has(timeless));
      return found?.[1] ?? null;
    },
    async add(alert: ReceivedAlert, { values, areaOfInterestIds }: AlertContent): Promise<void> {
      const hash = versionHash(alertKey(alert));
      const others = (await read()).filter(([each]) => each !== hash);
      const short = Object.entries(values).map(([name, text]) => [name, text.slice(0, MAX_REMEMBERED_TEXT)]);
      const content = { values: Object.fromEntries(short), areaOfInterestIds };
      const known: StartedAlert = [hash, content, versionHash(timelessAlertKey(alert))];
      await state.set(key, [...others, known].slice(-MAX_STARTED));
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
    errors.push(sentence("certificates-invalid"));
    return [];
  }
}

/** Aggregates the health of all feeds from their latest poll results and signatures. */
function createFeedHealth(feeds: readonly FeedConfig[], configErrors: readonly string[], status: Context["status"]) {
  const states = new Map<string, string | null>();
  const signatures = new Map<string, string | null>();
  const problemsOf = (known: ReadonlyMap<string, string | null>): string[] =>
    [...known].flatMap(([feed, reason]) => (reason === null ? [] : [`${feed}: ${reason}`]));
  return {
    state(name: string, error: string | null): void {
      states.set(name, error);
      const failed = problemsOf(states);
      const message = [...configErrors, ...failed, ...problemsOf(signatures)].join("; ").slice(0, 1_000);
      if (message === "") status("ok");
      else status(failed.length === feeds.length ? "down" : "degraded", message);
    },
    /** Shown with the state of the feed, which follows each poll. */
    signature: (name: string, problem: string | null): void => void signatures.set(name, problem),
  };
}
