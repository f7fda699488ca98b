import type { ProviderRow } from "../access/identity-providers.ts";
import type { OAuth } from "../access/oauth.ts";
import type { Access } from "../access/principal.ts";
import type { Scim } from "../access/scim/scim.ts";
import type { SignIn } from "../access/sign-in.ts";
import type { Alarms } from "../alarms/alarms.ts";
import type { Areas } from "../areas/areas.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { BellTimes } from "../bells/timetables.ts";
import type { AnswerLinks } from "../broadcast/answer-links.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { Campaigns } from "../broadcast/campaigns.ts";
import type { DeclineLinks } from "../broadcast/opt-outs.ts";
import type { SchemaOf } from "../broadcast/profile-settings.ts";
import type { Speech } from "../broadcast/speech.ts";
import type { PhoneCache } from "../call-manager/phone-cache.ts";
import type { Activations } from "../devices/activation-groups.ts";
import type { Memberships } from "../devices/memberships.ts";
import type { FailoverStatus } from "../health/failover-status.ts";
import type { HealthReport } from "../health/health.ts";
import type { Metrics } from "../health/metrics.ts";
import type { QuietTests } from "../health/quiet-tests.ts";
import type { HealthSeries } from "../health/series.ts";
import type { DirectorySync } from "../identity/directory-sync.ts";
import type { ProviderLogIn } from "../identity/log-in.ts";
import type { ProviderCheck } from "../identity/provider.ts";
import type { Providers } from "../identity/providers.ts";
import type { BulkUploads } from "../loaders/bulk-uploads.ts";
import type { Loaders } from "../loaders/load-definitions.ts";
import type { BackupsReport } from "../operations/backups.ts";
import type { CertificateDesk } from "../operations/certificate-desk.ts";
import type { Licence } from "../operations/licence.ts";
import type { Runs } from "../operations/runs.ts";
import type { SettingsReport } from "../operations/settings-report.ts";
import type { EventStream } from "../outbound/event-stream.ts";
import type { ConfigFields, PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import type { HandedBack, HandedOn } from "../replication/link/site-link.ts";
import type { LinkDesk } from "../replication/view/link-desk.ts";
import type { Scenarios } from "../scenarios/scenarios.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Settings } from "../settings/schema.ts";
import type { By, Store } from "../store/store.ts";

/** The set-up of a new appliance in the browser. */
export interface FirstRun {
  /** True while the appliance has no administrator. */
  needed(): boolean;
  /**
   * Makes the administrator and begins a session, whose cookie's value is returned. Throws CallerError `unauthorized` for
   * a wrong code, TooManyRequests after too many of them, ConflictError when there is an administrator.
   */
  setUp(
    given: { code: string; email: string; password: string; name: string | null },
    address: string | null,
  ): Promise<string>;
}

/** Log-in by other identity providers than the built-in one. */
export interface IdentityDesk extends Pick<Providers, "doors" | "passwords"> {
  logIn: ProviderLogIn;
  /** Tries everything that a log-in by it needs. */
  test(row: ProviderRow): Promise<ProviderCheck[]>;
  /** Brings users in line with their directory. Throws UpstreamError, CallerError. */
  sync: DirectorySync["run"];
}

/** What the API is made of. */
export interface ApiNeeds {
  catalogue: Catalogue;
  store: Store;
  access: Access;
  clock: Clock;
  log: Log;
  settings: Settings;
  broadcaster: Broadcaster;
  plugins: {
    /** A request under /x/<plugin>; null when no such plugin is switched on. Throws UpstreamError while one does not run. */
    route(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
    /** Fields of the plugins' configurations, by extension id. */
    configFields(): Readonly<Record<string, ConfigFields>>;
    profileSchema: SchemaOf;
    /** Starts the plugin behind an extension anew. Throws ConflictError when there is none or it must not run. */
    restart(extensionId: string, by: By): Promise<void>;
    /** At most `limit` of the newest lines after number `after` of its log, oldest first; null without a plugin. */
    log(extensionId: string, limit: number, after: number): readonly (object & { seq: number; at: number })[] | null;
  };
  /** Which devices groups have. */
  memberships: Memberships;
  /** Which appliance activates which devices. */
  activations: Activations;
  quietTests: Pick<QuietTests, "test">;
  answerLinks: AnswerLinks;
  declineLinks: DeclineLinks;
  campaigns: Campaigns;
  bulkUploads: BulkUploads;
  loaders: Loaders;
  phoneCache: Pick<PhoneCache, "state" | "update" | "test">;
  areas: Areas;
  alarms: Pick<Alarms, "setByHand">;
  /** What the appliance's licence covers. */
  licence: Pick<Licence, "state" | "isValid" | "install" | "remove">;
  /** What keeps the appliance in order. */
  upkeep: { settings(): Promise<SettingsReport>; backups(): Promise<BackupsReport>; certificate: CertificateDesk };
  /** How the appliance is. */
  watch: {
    version: string;
    health(): Pick<HealthReport, "status" | "since">;
    metrics: Pick<Metrics, "text" | "contentType">;
    series: Pick<HealthSeries, "samples">;
    runs: Pick<Runs, "last">;
  };
  /** What the local times of bells mean here. */
  bells: BellTimes;
  /** Where the appliance is reached. */
  baseUrl(): string;
  speech: Pick<Speech, "preview" | "check" | "previewOf">;
  eventStream: EventStream;
  /** What this appliance knows of an endpoint. */
  failover(endpointId: string): FailoverStatus;
  /** Links to other daemons of the organisation. */
  link: LinkDesk;
  /** Has the cloud do what only it may; null when it can't be reached. */
  handOn(request: HandedOn): Promise<HandedBack | null>;
  /** Where URLs that users name may lead. */
  policy: AddressPolicy;
  scenarios: Scenarios;
  signIn: SignIn;
  identity: IdentityDesk;
  oauth: OAuth;
  scim: Scim;
  firstRun: FirstRun;
  /** The console's built files, with a slash at its end; need not exist. */
  consoleFolder: URL;
}
