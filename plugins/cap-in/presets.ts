import type { Region } from "./geometry.ts";

/** How a known authority publishes its alerts. */
export interface FeedPreset {
  id: string;
  title: string;
  /** In order; the next one is asked while one fails. `{name}` stands for a value of the feed. */
  urls: readonly string[];
  /** Where a stream's missed alerts are read. */
  archives?: readonly string[];
  /** What the URLs take, with an example; `since` is filled in by the plugin. */
  values: Readonly<Record<string, string>>;
  format: string;
  language: string;
  everySeconds: number;
  /** Documents are signed. */
  signed: boolean;
  /** What the feed covers, to recognise coordinates in the wrong order. */
  region?: Region;
}

const CAP_LINKS = "Atom with links to CAP documents";

/** @source docs/decisions/0546-alert-feeds.md */
export const FEED_PRESETS: readonly FeedPreset[] = [
  {
    id: "us-ipaws",
    title: "United States: IPAWS all-hazards feed",
    urls: ["https://apps.fema.gov/IPAWSOPEN_EAS_SERVICE/rest/{channel}/recent/{since}"],
    values: { channel: "eas" },
    format: "list of CAP alerts (ns1:alerts)",
    language: "en",
    everySeconds: 60,
    signed: true,
  },
  {
    id: "us-nws",
    title: "United States: National Weather Service",
    urls: ["https://api.weather.gov/alerts/active.atom?area={area}"],
    values: { area: "CA" },
    format: CAP_LINKS,
    language: "en",
    everySeconds: 60,
    signed: false,
  },
  {
    id: "us-nws-json",
    title: "United States: National Weather Service, JSON index",
    urls: ["https://api.weather.gov/alerts/active?area={area}"],
    values: { area: "CA" },
    format: "GeoJSON or JSON-LD with links to CAP documents",
    language: "en",
    everySeconds: 60,
    signed: false,
  },
  {
    id: "ca-naad",
    title: "Canada: NAAD stream (Alert Ready)",
    urls: ["tcp://streaming1.naad-adna.pelmorex.com:8080", "tcp://streaming2.naad-adna.pelmorex.com:8080"],
    archives: ["http://capcp1.naad-adna.pelmorex.com", "http://capcp2.naad-adna.pelmorex.com"],
    values: {},
    format: "stream of CAP documents with heartbeats",
    language: "en-CA",
    everySeconds: 60,
    signed: false,
  },
  {
    id: "eu-meteoalarm",
    title: "Europe: MeteoAlarm, one country",
    urls: ["https://feeds.meteoalarm.org/feeds/meteoalarm-legacy-atom-{country}"],
    values: { country: "germany" },
    format: CAP_LINKS,
    language: "en",
    everySeconds: 120,
    signed: false,
  },
  {
    id: "de-mowas",
    title: "Germany: civil protection (MoWaS)",
    urls: ["https://warnung.bund.de/bbk.mowas/gefahrendurchsagen.json"],
    values: {},
    format: "list of CAP alerts in JSON",
    language: "de",
    everySeconds: 60,
    signed: false,
    region: [47, 5.5, 55.2, 15.2],
  },
  {
    id: "fi-fmi",
    title: "Finland: Meteorological Institute",
    urls: ["https://alerts.fmi.fi/cap/feed/atom_{locale}.xml"],
    values: { locale: "fi-FI" },
    format: "Atom with CAP documents inside",
    language: "fi",
    everySeconds: 120,
    signed: false,
    region: [58.5, 19, 70.5, 32],
  },
  {
    id: "hr-dhmz",
    title: "Croatia: Meteorological and Hydrological Service",
    urls: ["https://meteo.hr/upozorenja/cap_hr_today.xml"],
    values: {},
    format: "one CAP document with an info per region",
    language: "hr",
    everySeconds: 300,
    signed: false,
    region: [42, 13, 46.7, 19.6],
  },
  {
    id: "ie-met",
    title: "Ireland: Met Éireann",
    urls: ["https://www.met.ie/warningsxml/rss.xml"],
    values: {},
    format: "RSS with links to CAP documents",
    language: "en",
    everySeconds: 120,
    signed: false,
    region: [51, -11, 56, -5],
  },
  {
    id: "no-met",
    title: "Norway: Meteorological Institute",
    urls: ["https://api.met.no/weatherapi/metalerts/2.0/current.rss?lang={lang}"],
    values: { lang: "no" },
    format: "RSS with links to CAP documents",
    language: "no",
    everySeconds: 120,
    signed: false,
    region: [57, 4, 81, 33],
  },
];

/** Forms of the console begin with these feeds. */
export function presetExamples(): { title: string; value: object }[] {
  return FEED_PRESETS.map(({ id, title, values }) => ({
    title,
    value: { name: id, preset: id, ...(Object.keys(values).length > 0 ? { values } : {}), onlyHere: true },
  }));
}
