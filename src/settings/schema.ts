import { isAbsolute } from "node:path";
import { z } from "zod";
import { ageRecipientKind } from "../lib/age-recipients.ts";
import { isInterfaceName } from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { isCronExpression } from "./cron.ts";
import {
  isAddressOrNetwork,
  isHostOrAddress,
  isMulticastRange,
  isTargetPattern,
  parseListenAddress,
} from "./network-addresses.ts";

const listen = z
  .string()
  .refine((text) => parseListenAddress(text) !== null, "must be HOST:PORT, such as 127.0.0.1:8080 or [::]:8080");

const multicastRange = z
  .string()
  .refine(isMulticastRange, "must be an IPv4 multicast network, such as 239.192.16.0/24");

const publicUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .refine((text) => URL.canParse(text) && new URL(text).username === "" && new URL(text).password === "", {
    error: "must not contain a user name or password",
  });

const cron = z.string().refine(isCronExpression, "must be a cron expression of five or six fields, such as 30 2 * * *");

/** Days of history; `never` is removed. */
const historyDays = z.union([z.int().min(0).max(36_500), z.literal("never")]);
const signingKey = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "must be base64 of 32 bytes");

const backupRecipient = z
  .string()
  .refine((text) => ageRecipientKind(text) !== null, "must be a public key of age, such as age1… of 62 characters");

/** A password would be stored in plain text; it comes from the environment. */
const database = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol) && new URL(text).password === "",
    "must be postgres://USER@HOST:PORT/DATABASE without a password",
  );

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

const pluginListen = z
  .strictObject({
    host: z.string().min(1).default("127.0.0.1").describe("Address on which the plugin port listens."),
    port: z.int().min(0).max(65_535).default(0).describe("Port number; 0 lets the operating system choose."),
    publicUrl: publicUrl
      .nullable()
      .default(null)
      .describe("URL under which devices reach the port; null = built from host and port."),
  })
  .describe("A port of a plugin, by its name in the manifest.");

const plugin = z
  .strictObject({
    listen: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/), pluginListen)
      .prefault({})
      .describe("Ports of the plugin."),
  })
  .describe("Machine resources of a plugin. The configuration of the plugin is part of its extension.");

/**
 * The settings file: every setting has a default, unknown names are refused. It contains no secrets; those are
 * encrypted in the database.
 */
export const settingsSchema = z
  .strictObject({
    listen: listen.default("127.0.0.1:8080").describe(sentence("setting.listen")),
    log: z
      .strictObject({
        level: z
          .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
          .default("info")
          .describe(sentence("setting.log.level")),
      })
      .prefault({}),
    site: z
      .strictObject({
        country: z
          .string()
          .regex(/^[A-Z]{2}$/, "must be a country code of two capital letters, such as DE")
          .nullable()
          .default(null)
          .describe(sentence("setting.site.country")),
      })
      .prefault({}),
    phoneNumbers: z
      .strictObject({
        allowedPrefixes: z
          .array(z.string().regex(/^\+[1-9]\d{0,14}$/, "must be the beginning of an international number, such as +49"))
          .max(100)
          .nullable()
          .default(null)
          .describe(sentence("setting.phone-numbers.allowed-prefixes")),
      })
      .prefault({}),
    api: z
      .strictObject({
        methodOverride: z.boolean().default(false).describe(sentence("setting.api.method-override")),
        basicAuthentication: z.boolean().default(true).describe(sentence("setting.api.basic-authentication")),
        publicUrl: publicUrl.nullable().default(null).describe(sentence("setting.api.public-url")),
        hosts: z
          .array(z.string().refine(isHostOrAddress, "must be a host name or an IP address, without port"))
          .max(100)
          .default([])
          .describe(sentence("setting.api.hosts")),
        trustedProxies: z
          .array(z.string().refine(isAddressOrNetwork, "must be an IP address or a network such as 10.0.0.0/8"))
          .max(100)
          .default([])
          .describe(sentence("setting.api.trusted-proxies")),
        origins: z
          .array(
            z.url({ protocol: /^https?$/ }).refine(isOrigin, "must be an origin, such as https://intranet.example.org"),
          )
          .max(100)
          .default([])
          .describe(sentence("setting.api.origins")),
        requestsPerMinute: z
          .strictObject({
            token: z
              .int()
              .min(0)
              .max(100_000_000)
              .default(60_000)
              .describe(sentence("setting.api.requests-per-minute.token")),
            address: z
              .int()
              .min(0)
              .max(100_000_000)
              .default(60_000)
              .describe(sentence("setting.api.requests-per-minute.address")),
          })
          .prefault({})
          .describe(
            "Rate limits in requests per minute, with a burst of two minutes. Requests above the limit get 429 with Retry-After. Console sessions are not limited.",
          ),
        concurrentRequests: z
          .strictObject({
            user: z.int().min(1).max(10_000).default(32).describe(sentence("setting.api.concurrent-requests.user")),
            address: z
              .int()
              .min(1)
              .max(10_000)
              .default(8)
              .describe(sentence("setting.api.concurrent-requests.address")),
          })
          .prefault({})
          .describe(
            "Requests served at the same time. Further ones wait their turn; when too many wait, they get 429 with Retry-After. Requests that send emergencies come first.",
          ),
      })
      .prefault({}),
    auth: z
      .strictObject({
        passwordMinLength: z.int().min(8).max(64).default(12).describe(sentence("setting.auth.password-min-length")),
        tokenLifetimeDays: z
          .int()
          .min(1)
          .max(3_650)
          .nullable()
          .default(365)
          .describe(sentence("setting.auth.token-lifetime-days")),
        confirmationMinutes: z
          .int()
          .min(1)
          .max(720)
          .nullable()
          .default(15)
          .describe(sentence("setting.auth.confirmation-minutes")),
      })
      .prefault({})
      .describe("Passwords and tokens of users."),
    security: z
      .strictObject({
        contact: z
          .string()
          .max(500)
          .regex(
            /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s/]+\S*|tel:\+[\d-]+)$/,
            "must be a mailto:, https: or tel: address, such as mailto:security@example.org",
          )
          .nullable()
          .default(null)
          .describe(sentence("setting.security.contact")),
        languages: z
          .array(z.string().regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, "must be a language tag, such as en or de"))
          .max(20)
          .default(["en"])
          .describe(sentence("setting.security.languages")),
      })
      .prefault({}),
    network: z
      .strictObject({
        allowedTargets: z
          .array(
            z.string().refine(isTargetPattern, "must be an IP address, a network such as 10.0.0.0/8, or a host name"),
          )
          .max(1_000)
          .default([])
          .describe(sentence("setting.network.allowed-targets")),
        multicastInterface: z
          .string()
          .refine(isInterfaceName, "must be the name or an IPv4 address of a network interface of this machine")
          .nullable()
          .default(null)
          .describe(sentence("setting.network.multicast-interface")),
      })
      .prefault({}),
    audio: z
      .strictObject({
        multicastRange: multicastRange.default("239.192.16.0/24").describe(sentence("setting.audio.multicast-range")),
        emergencyRange: multicastRange.default("239.192.17.0/24").describe(sentence("setting.audio.emergency-range")),
        ttl: z.int().min(1).max(255).default(16).describe(sentence("setting.audio.ttl")),
        livePageSeconds: z.int().min(10).max(900).default(300).describe(sentence("setting.audio.live-page-seconds")),
      })
      .prefault({}),
    readiness: z
      .strictObject({
        testedWithinDays: z
          .int()
          .min(1)
          .max(3_650)
          .default(90)
          .describe(sentence("setting.readiness.tested-within-days")),
        reducedByPercent: z
          .int()
          .min(1)
          .max(100)
          .default(20)
          .describe(sentence("setting.readiness.reduced-by-percent")),
      })
      .prefault({})
      .describe("When emergencies are reported as not ready."),
    broadcasts: z
      .strictObject({
        secondPerson: z.boolean().default(false).describe(sentence("setting.broadcasts.second-person")),
        secondPersonMinutes: z
          .int()
          .min(1)
          .max(60)
          .default(2)
          .describe(sentence("setting.broadcasts.second-person-minutes")),
      })
      .prefault({}),
    bells: z
      .strictObject({
        gap: z.enum(["ring-at-end", "skip"]).default("ring-at-end").describe(sentence("setting.bells.gap")),
        fold: z.enum(["first", "second"]).default("first").describe(sentence("setting.bells.fold")),
      })
      .prefault({}),
    timeZones: z
      .strictObject({
        folder: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .default("/usr/share/zoneinfo")
          .describe(sentence("setting.time-zones.folder")),
      })
      .prefault({}),
    tls: z
      .strictObject({
        listen: z
          .union([z.literal("auto"), listen])
          .nullable()
          .default("auto")
          .describe(sentence("setting.tls.listen")),
      })
      .prefault({})
      .describe(
        "The appliance uses a certificate of the built-in certificate authority (CA) until another one is installed with `carillon tls install`.",
      ),
    failover: z
      .strictObject({
        listen: listen.nullable().default(null).describe(sentence("setting.failover.listen")),
        peers: z.array(listen).max(20).default([]).describe(sentence("setting.failover.peers")),
      })
      .prefault({})
      .describe("Failover between appliances of one organisation; each must be enrolled with the cloud."),
    cloud: z
      .strictObject({
        address: publicUrl.nullable().default(null).describe(sentence("setting.cloud.address")),
        proxy: publicUrl.nullable().default(null).describe(sentence("setting.cloud.proxy")),
        authority: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe(sentence("setting.cloud.authority")),
        heartbeatSeconds: z.int().min(5).max(60).default(20).describe(sentence("setting.cloud.heartbeat-seconds")),
      })
      .prefault({})
      .describe("Connection to the cloud, for an enrolled appliance."),
    hub: z
      .strictObject({
        database: database.nullable().default(null).describe(sentence("setting.hub.database")),
        organisation: z.string().min(1).max(100).default("default").describe(sentence("setting.hub.organisation")),
      })
      .prefault({})
      .describe("Storage of a cloud, for `carillon hub`."),
    audit: z
      .strictObject({
        file: z
          .string()
          .max(4_096)
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe(sentence("setting.audit.file")),
        syslog: listen.nullable().default(null).describe(sentence("setting.audit.syslog")),
        authority: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe(sentence("setting.audit.authority")),
      })
      .prefault({})
      .describe("Copies of the audit log elsewhere."),
    heartbeat: z
      .strictObject({
        url: publicUrl.nullable().default(null).describe(sentence("setting.heartbeat.url")),
        everySeconds: z.int().min(5).max(3_600).default(30).describe(sentence("setting.heartbeat.every-seconds")),
      })
      .prefault({}),
    trust: z
      .strictObject({
        licences: z.array(signingKey).max(20).default([]).describe(sentence("setting.trust.licences")),
        upgrades: z.array(signingKey).max(20).default([]).describe(sentence("setting.trust.upgrades")),
        plugins: z.array(signingKey).max(20).default([]).describe(sentence("setting.trust.plugins")),
        unsignedPlugins: z.boolean().default(true).describe(sentence("setting.trust.unsigned-plugins")),
      })
      .prefault({})
      .describe("Ed25519 public keys, base64 of 32 bytes."),
    backups: z
      .strictObject({
        schedule: cron.nullable().default("30 2 * * *").describe(sentence("setting.backups.schedule")),
        folder: z
          .string()
          .max(4_096)
          .refine(isAbsolute, "must be absolute")
          .nullable()
          .default(null)
          .describe(sentence("setting.backups.folder")),
        keepDays: z.int().min(1).max(3_650).default(7).describe(sentence("setting.backups.keep-days")),
        keepWeeks: z.int().min(0).max(520).default(4).describe(sentence("setting.backups.keep-weeks")),
        recipients: z
          .array(backupRecipient)
          .max(20)
          .refine(
            (keys) => new Set(keys.map(ageRecipientKind)).size < 2,
            "must all begin with age1pq1, or none of them",
          )
          .default([])
          .describe(sentence("setting.backups.recipients")),
      })
      .prefault({}),
    retention: z
      .strictObject({
        schedule: cron.nullable().default("15 4 * * *").describe(sentence("setting.retention.schedule")),
        messages: historyDays.default(90).describe(sentence("setting.retention.messages")),
        bells: historyDays.default(90).describe(sentence("setting.retention.bells")),
        emergencies: historyDays.default(3_650).describe(sentence("setting.retention.emergencies")),
        incidents: historyDays.default(3_650).describe(sentence("setting.retention.incidents")),
        answers: historyDays.default(1_095).describe(sentence("setting.retention.answers")),
        positions: historyDays.default(30).describe(sentence("setting.retention.positions")),
      })
      .prefault({}),
    callManagers: z
      .strictObject({
        full: cron.nullable().default("30 2 * * *").describe(sentence("setting.call-managers.full")),
        delta: cron.nullable().default("*/15 * * * *").describe(sentence("setting.call-managers.delta")),
        partial: cron.nullable().default("*/2 * * * *").describe(sentence("setting.call-managers.partial")),
        snmpPort: z.int().min(1).max(65_535).default(161).describe(sentence("setting.call-managers.snmp-port")),
        allowDes: z.boolean().default(false).describe(sentence("setting.call-managers.allow-des")),
        authorities: z.string().min(1).nullable().default(null).describe(sentence("setting.call-managers.authorities")),
      })
      .prefault({})
      .describe("Reading phones from call managers."),
    quietTests: z
      .strictObject({
        schedule: cron.nullable().default("30 3 * * *").describe(sentence("setting.quiet-tests.schedule")),
        provenWithinHours: z
          .int()
          .min(1)
          .max(8_760)
          .nullable()
          .default(48)
          .describe(sentence("setting.quiet-tests.proven-within-hours")),
      })
      .prefault({}),
    scenarios: z
      .strictObject({
        syntheticSiteQuestion: z
          .boolean()
          .default(true)
          .describe(sentence("setting.scenarios.synthetic-site-question")),
      })
      .prefault({}),
    plugins: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/), plugin)
      .prefault({})
      .describe(sentence("setting.plugins")),
  })
  .describe("Settings of a Carillon appliance.");

/** The settings with every default filled in. */
export type Settings = z.output<typeof settingsSchema>;

/** The settings of an appliance without a settings file. */
export function defaultSettings(): Settings {
  return settingsSchema.parse({});
}

/** The JSON Schema of the settings file, for editors and forms. */
export function settingsJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(settingsSchema, { io: "input", target: "draft-2020-12" }) as Record<string, unknown>;
}
