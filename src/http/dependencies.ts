import type { IncomingMessage } from "node:http";
import type { Alarms } from "../alarms/alarms.ts";
import type { Areas } from "../areas/areas.ts";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { LoginService } from "../auth/login.ts";
import type { OAuthService } from "../auth/oauth.ts";
import type { PasswordReset } from "../auth/password-reset.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { CalendarReader } from "../bells/calendar-reader.ts";
import type { CalendarSubscriptions } from "../bells/calendar-subscriptions.ts";
import type { LocalTimeContext } from "../bells/timetables.ts";
import type { PhoneCache } from "../call-manager/phone-cache.ts";
import type { PhoneConfigurations } from "../call-manager/phone-configuration/phone-configurations.ts";
import type { LinkAdminService } from "../cloud-link/link-admin-service.ts";
import type { ForwardedRequest, ForwardedResponse } from "../cloud-link/site-link.ts";
import type { Activations } from "../devices/activation-groups.ts";
import type { GroupMemberships } from "../devices/group-memberships.ts";
import type { BulkUploadService } from "../importers/bulk-upload-service.ts";
import type { LoadService } from "../importers/load-service.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { SentenceReader } from "../lib/sentences/registry.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { ProfileSchemaLookup } from "../notifications/compose/profile-settings.ts";
import type { SpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { AnswerLinks } from "../notifications/responses/answer-links.ts";
import type { HistoryRetention } from "../notifications/retention/history-retention.ts";
import type { BackupsReport } from "../ops/backup/backup-scheduler.ts";
import type { DaemonRuns } from "../ops/daemon-runs.ts";
import type { FailoverStatus } from "../ops/health/failover-status.ts";
import type { HealthReport } from "../ops/health/health.ts";
import type { HealthSeries } from "../ops/health/health-series.ts";
import type { Metrics } from "../ops/health/metrics.ts";
import type { QuietTests } from "../ops/health/quiet-tests.ts";
import type { Licence } from "../ops/licence.ts";
import type { SettingsReport } from "../ops/settings-report.ts";
import type { CertificateService } from "../ops/tls/certificate-service.ts";
import type { AddressProofs } from "../people/address-proofs.ts";
import type { Campaigns } from "../people/campaigns.ts";
import type { DeclineLinks } from "../people/opt-outs.ts";
import type { ConfigFields, PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import type { EmergencyReadinessMonitor } from "../readiness/readiness.ts";
import type { Scenarios } from "../scenarios/scenarios.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { ScimServer } from "../scim/server.ts";
import type { Settings } from "../settings/schema.ts";
import type { DirectorySync } from "../sso/directory-sync.ts";
import type { ProviderCheck } from "../sso/provider.ts";
import type { IdentityProviders } from "../sso/providers.ts";
import type { RedirectLoginService } from "../sso/redirect-login.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { SourceDisagreement } from "../time-zones/disagreements.ts";
import type { ZoneData } from "../time-zones/zone-data.ts";
import type { EventStream } from "../webhooks/change-feed/event-stream.ts";
import type { PluginReportSource } from "./reports/plugin-reports.ts";

/** First-run setup in the browser. */
export interface FirstRun {
  /** True while no administrator exists. */
  needed(): boolean;
  /**
   * Creates the administrator and starts a session; returns the value of the session cookie. Throws CallerError
   * `unauthorized` for a wrong code, TooManyRequestsError after too many attempts, ConflictError if an administrator
   * exists.
   */
  setUp(
    given: { code: string; email: string; password: string; name: string | null },
    address: string | null,
  ): Promise<string>;
}

/** Login with external identity providers. */
export interface IdentityService extends Pick<IdentityProviders, "loginOptions" | "passwordLoginOptions"> {
  providerLogin: RedirectLoginService;
  /** Runs all checks required for a login with the provider. */
  test(row: IdentityProviderRow): Promise<ProviderCheck[]>;
  /** Synchronises users with their directory. Throws UpstreamError, CallerError. */
  sync: DirectorySync["run"];
}

/** Dependencies of the API. */
export interface ApiDeps {
  catalogue: Catalogue;
  store: Store;
  access: AccessControl;
  clock: Clock;
  log: Log;
  settings: Settings;
  /** Gets each request of a client with a valid token or session, before it is served. */
  onKnownClient(request: IncomingMessage): void;
  notificationService: NotificationService;
  plugins: PluginReportSource & {
    /**
     * Forwards a request below /x/<plugin>; null if the plugin is not enabled. Throws UpstreamError while it is not
     * running.
     */
    handleRequest(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
    /** Fields of the plugins' configurations, by extension id. */
    configFields(): Readonly<Record<string, ConfigFields>>;
    profileSchema: ProfileSchemaLookup;
    /** Reads sentences of the core and of the plugins. */
    sentences: SentenceReader;
    /** Restarts the plugin of an extension. Throws ConflictError if there is none or it must not run. */
    restart(extensionId: string, by: ActorContext): Promise<void>;
    /** At most `limit` of the newest log lines after sequence number `after`, oldest first; null without a plugin. */
    readLog(
      extensionId: string,
      limit: number,
      after: number,
    ): readonly (object & { seq: number; at: number })[] | null;
  };
  memberships: GroupMemberships;
  activations: Activations;
  silentTests: Pick<QuietTests, "testDevice">;
  answerLinks: AnswerLinks;
  declineLinks: DeclineLinks;
  campaigns: Campaigns;
  addressProofs: AddressProofs;
  bulkUploads: BulkUploadService;
  loaders: LoadService;
  phoneCache: Pick<PhoneCache, "state" | "update" | "test">;
  phoneConfigurations: Pick<PhoneConfigurations, "check" | "testServer">;
  areas: Areas;
  readiness: Pick<EmergencyReadinessMonitor, "list">;
  alarms: Pick<Alarms, "setManually">;
  licence: Pick<Licence, "state" | "isValid" | "install" | "remove">;
  maintenance: {
    settings(): Promise<SettingsReport>;
    backups(): Promise<BackupsReport>;
    retention: Pick<HistoryRetention, "report" | "begin">;
    certificate: CertificateService;
  };
  /** Monitoring data. */
  monitoring: {
    version: string;
    health(): Pick<HealthReport, "status" | "since">;
    metrics: Pick<Metrics, "render" | "contentType" | "addGauge">;
    series: Pick<HealthSeries, "samples">;
    runs: Pick<DaemonRuns, "newest">;
  };
  /** DST rules and default time zone of bells. */
  bells: LocalTimeContext;
  /** Time zone data that bells follow. */
  zoneData: Pick<ZoneData, "problems"> & { compareSources(): Promise<SourceDisagreement[]> };
  calendars: Pick<CalendarSubscriptions, "refresh" | "confirm">;
  calendarReader: Pick<CalendarReader, "read">;
  /** Public base URL of the appliance. */
  baseUrl(): string;
  speech: Pick<SpeechSynthesizer, "preview" | "check" | "previewOf">;
  eventStream: EventStream;
  failover(endpointId: string): FailoverStatus;
  /** Administration of the cloud link. */
  link: LinkAdminService;
  /** Forwards a request to the cloud for rows that only the cloud may change; null if the cloud is unreachable. */
  proxyToCloud(request: ForwardedRequest): Promise<ForwardedResponse | null>;
  /** Checks user-supplied URLs against the address policy. */
  ssrfGuard: SsrfGuard;
  scenarios: Scenarios;
  signIn: LoginService;
  identity: IdentityService;
  oauth: OAuthService;
  scim: ScimServer;
  passwordReset: Pick<PasswordReset, "isAvailable" | "request" | "sendTo" | "complete">;
  firstRun: FirstRun;
  /** Folder of the console files, with a trailing slash; need not exist. */
  consoleFolder: URL;
}
