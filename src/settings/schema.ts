import { isAbsolute } from "node:path";
import { z } from "zod";
import { ageRecipientKind } from "../lib/age-recipients.ts";
import { isInterfaceName } from "../lib/network-route.ts";
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
    listen: listen.default("127.0.0.1:8080").describe("Listen address HOST:PORT of the API; `--listen` overrides it."),
    log: z
      .strictObject({
        level: z
          .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
          .default("info")
          .describe("Minimum log level."),
      })
      .prefault({}),
    site: z
      .strictObject({
        country: z
          .string()
          .regex(/^[A-Z]{2}$/, "must be a country code of two capital letters, such as DE")
          .nullable()
          .default(null)
          .describe(
            "Country of the site (ISO 3166, such as DE), for telephone numbers without a country code; null = such numbers are used as they are.",
          ),
      })
      .prefault({}),
    api: z
      .strictObject({
        methodOverride: z
          .boolean()
          .default(false)
          .describe(
            "Allows `GET …?_method=DELETE` to perform that method. Off by default, because links could then change data (CSRF).",
          ),
        publicUrl: publicUrl
          .nullable()
          .default(null)
          .describe(
            "Public URL of the appliance, used in links in messages, for identity providers and for directories; null = the address of `listen`.",
          ),
        hosts: z
          .array(z.string().refine(isHostOrAddress, "must be a host name or an IP address, without port"))
          .max(100)
          .default([])
          .describe(
            "Additional host names and addresses accepted in the Host header. The appliance's own addresses, localhost, its host names and the host of `listen` are always accepted; all others are refused.",
          ),
        trustedProxies: z
          .array(z.string().refine(isAddressOrNetwork, "must be an IP address or a network such as 10.0.0.0/8"))
          .max(100)
          .default([])
          .describe(
            "Proxies whose Forwarded or X-Forwarded-For header names the client, as addresses and networks. Without them everybody behind a proxy has its address, and shares its limits.",
          ),
        origins: z
          .array(
            z.url({ protocol: /^https?$/ }).refine(isOrigin, "must be an origin, such as https://intranet.example.org"),
          )
          .max(100)
          .default([])
          .describe(
            "Allowed CORS origins: pages of these sites may use the API with their own token. None by default.",
          ),
        requestsPerMinute: z
          .strictObject({
            token: z.int().min(0).max(100_000_000).default(60_000).describe("Limit per token; 0 = unlimited."),
            address: z
              .int()
              .min(0)
              .max(100_000_000)
              .default(60_000)
              .describe("Limit per IP address for requests without a valid token; 0 = unlimited."),
          })
          .prefault({})
          .describe(
            "Rate limits in requests per minute, with a burst of two minutes. Requests above the limit get 429 with Retry-After. Console sessions are not limited.",
          ),
        concurrentRequests: z
          .strictObject({
            user: z.int().min(1).max(10_000).default(32).describe("Limit per user or directory."),
            address: z
              .int()
              .min(1)
              .max(10_000)
              .default(8)
              .describe("Limit per IP address for requests without a valid token or session."),
          })
          .prefault({})
          .describe(
            "Requests served at the same time. Further ones wait their turn; when too many wait, they get 429 with Retry-After. Requests that send emergencies come first.",
          ),
      })
      .prefault({}),
    auth: z
      .strictObject({
        passwordMinLength: z
          .int()
          .min(8)
          .max(64)
          .default(12)
          .describe("Minimum length of new passwords in characters. Existing shorter passwords remain valid."),
        tokenLifetimeDays: z
          .int()
          .min(1)
          .max(3_650)
          .nullable()
          .default(365)
          .describe("Lifetime in days of new tokens whose creation does not name an expiry; null = no expiry."),
        confirmationMinutes: z
          .int()
          .min(1)
          .max(720)
          .nullable()
          .default(15)
          .describe(
            "How long after a log-in or a confirmation a console session may change whom the appliance trusts, such as rights, identity providers and the link to the cloud; null = as long as the session. Sending messages never needs a confirmation.",
          ),
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
          .describe(
            "Contact for reports of vulnerabilities, served at /.well-known/security.txt (RFC 9116): a mailto:, https: or tel: address; null = no such file.",
          ),
        languages: z
          .array(z.string().regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, "must be a language tag, such as en or de"))
          .max(20)
          .default(["en"])
          .describe("Languages in which the contact reads reports."),
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
          .describe(
            "Own, loopback, link-local and multicast addresses that user-supplied URLs may reach (exceptions to the SSRF protection).",
          ),
        multicastInterface: z
          .string()
          .refine(isInterfaceName, "must be the name or an IPv4 address of a network interface of this machine")
          .nullable()
          .default(null)
          .describe(
            "Network interface for multicast audio: its name, which survives a change of its address, or its IPv4 address; null = as the system's routes lead, or without a route for multicast the first external interface.",
          ),
      })
      .prefault({}),
    audio: z
      .strictObject({
        multicastRange: multicastRange
          .default("239.192.16.0/24")
          .describe("Multicast groups for bells, pages and routine messages to phones."),
        emergencyRange: multicastRange
          .default("239.192.17.0/24")
          .describe("Multicast groups reserved for emergencies; must not overlap multicastRange."),
        ttl: z.int().min(1).max(255).default(16).describe("Time to live of multicast packets (number of router hops)."),
        livePageSeconds: z.int().min(10).max(900).default(300).describe("Maximum duration of a live page in seconds."),
      })
      .prefault({}),
    readiness: z
      .strictObject({
        testedWithinDays: z
          .int()
          .min(1)
          .max(3_650)
          .default(90)
          .describe(
            "An emergency that was neither sent nor drilled for this number of days is reported as not tested.",
          ),
        reducedByPercent: z
          .int()
          .min(1)
          .max(100)
          .default(20)
          .describe(
            "Loss of reach, compared with the best of the last seven days, from which an emergency is reported as reduced.",
          ),
      })
      .prefault({})
      .describe("When emergencies are reported as not ready."),
    broadcasts: z
      .strictObject({
        secondPerson: z
          .boolean()
          .default(false)
          .describe(
            "Requires two-person approval for live emergencies and all-calls sent by a user. Drills, panic buttons, bells and messages started by machines need no approval.",
          ),
        secondPersonMinutes: z
          .int()
          .min(1)
          .max(60)
          .default(2)
          .describe("Minutes to wait for the approval; afterwards the message is not sent."),
      })
      .prefault({}),
    bells: z
      .strictObject({
        gap: z
          .enum(["ring-at-end", "skip"])
          .default("ring-at-end")
          .describe(
            "Bells in the hour skipped at the start of daylight saving time (DST): ring at the end of the gap, or skip.",
          ),
        fold: z
          .enum(["first", "second"])
          .default("first")
          .describe(
            "Bells in the hour repeated at the end of daylight saving time (DST): ring the first or the second time.",
          ),
      })
      .prefault({}),
    timeZones: z
      .strictObject({
        folder: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .default("/usr/share/zoneinfo")
          .describe(
            "Folder of the machine's time zone database (TZif files). The newest of this one, the one installed by `carillon tz install` and the one inside Node is used.",
          ),
      })
      .prefault({}),
    tls: z
      .strictObject({
        listen: listen
          .nullable()
          .default(null)
          .describe(
            "Listen address HOST:PORT of the API with TLS, such as 0.0.0.0:8443; `listen` then only redirects to it. null = no TLS.",
          ),
      })
      .prefault({})
      .describe(
        "The appliance uses a certificate of the built-in certificate authority (CA) until another one is installed with `carillon tls install`.",
      ),
    failover: z
      .strictObject({
        listen: listen
          .nullable()
          .default(null)
          .describe(
            "Listen address HOST:PORT for heartbeats of peer appliances on the local network; null = this appliance does not take part in failover.",
          ),
        peers: z
          .array(listen)
          .max(20)
          .default([])
          .describe("HOST:PORT of the peer appliances; peers are identified by their certificates."),
      })
      .prefault({})
      .describe("Failover between appliances of one organisation; each must be enrolled with the cloud."),
    cloud: z
      .strictObject({
        address: publicUrl
          .nullable()
          .default(null)
          .describe("Base URL of the cloud; null = the URL used at enrolment."),
        proxy: publicUrl
          .nullable()
          .default(null)
          .describe(
            "HTTP proxy for connections to the cloud (CONNECT); null = HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment, which may include credentials.",
          ),
        authority: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe("CA certificate file (PEM) of the cloud; null = a public CA or the CA of the organisation."),
        heartbeatSeconds: z
          .int()
          .min(5)
          .max(60)
          .default(20)
          .describe(
            "Heartbeat interval of the cloud link in seconds; the link reconnects after 2¼ intervals without a heartbeat.",
          ),
      })
      .prefault({})
      .describe("Connection to the cloud, for an enrolled appliance."),
    hub: z
      .strictObject({
        database: database
          .nullable()
          .default(null)
          .describe(
            "PostgreSQL database shared by the nodes of a cloud, postgres://USER@HOST:PORT/DATABASE; null = single node without PostgreSQL. The password comes from PGPASSWORD or PGPASSFILE; CARILLON_DATABASE in the environment replaces the whole setting.",
          ),
        organisation: z
          .string()
          .min(1)
          .max(100)
          .default("default")
          .describe("Name of the organisation (tenant) in the shared database."),
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
          .describe("File to which new audit entries are appended as JSON lines; it may be rotated. null = none."),
        syslog: listen
          .nullable()
          .default(null)
          .describe(
            "HOST:PORT of a syslog server that gets new audit entries over TLS (RFC 5424, RFC 5425; the usual port is 6514); null = none.",
          ),
        authority: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe("CA certificate file (PEM) of the syslog server; null = a public CA."),
      })
      .prefault({})
      .describe("Copies of the audit log elsewhere."),
    heartbeat: z
      .strictObject({
        url: publicUrl
          .nullable()
          .default(null)
          .describe("External URL called with GET while the health is not RED, for dead-man monitoring; null = off."),
        everySeconds: z.int().min(5).max(3_600).default(30).describe("Interval in seconds."),
      })
      .prefault({}),
    trust: z
      .strictObject({
        licences: z.array(signingKey).max(20).default([]).describe("Public keys of trusted licence signers."),
        upgrades: z.array(signingKey).max(20).default([]).describe("Public keys of trusted upgrade signers."),
      })
      .prefault({})
      .describe("Ed25519 public keys, base64 of 32 bytes."),
    backups: z
      .strictObject({
        schedule: cron
          .nullable()
          .default("30 2 * * *")
          .describe(
            "Schedule of backups as a cron expression in local time; each backup is verified by unpacking and comparing it. null = manual backups only. backupSchedule in the config of the endpoint overrides it.",
          ),
        folder: z
          .string()
          .max(4_096)
          .refine(isAbsolute, "must be absolute")
          .nullable()
          .default(null)
          .describe(
            "Absolute path of the backup folder, preferably on another disk; null = `backups` in the data directory.",
          ),
        keepDays: z
          .int()
          .min(1)
          .max(3_650)
          .default(7)
          .describe("Retention of scheduled backups: number of days of which the first and the last one are kept."),
        keepWeeks: z
          .int()
          .min(0)
          .max(520)
          .default(4)
          .describe("Retention of scheduled backups: number of weeks of which the last one is kept."),
        recipients: z
          .array(backupRecipient)
          .max(20)
          .refine(
            (keys) => new Set(keys.map(ageRecipientKind)).size < 2,
            "must all begin with age1pq1, or none of them",
          )
          .default([])
          .describe(
            "Public keys (age1…) to which all backups are encrypted; any one of the matching identities restores them. Made by `carillon backup key create`. [] = not encrypted.",
          ),
      })
      .prefault({}),
    retention: z
      .strictObject({
        schedule: cron
          .nullable()
          .default("15 4 * * *")
          .describe(
            "Schedule of the removal of old history as a cron expression in local time; null = only by `carillon retention run` or from the console.",
          ),
        messages: historyDays
          .default(90)
          .describe(
            "Days that the details of routine messages are kept: deliveries, recipients and activity log; their sums stay. 0 or never = for ever.",
          ),
        bells: historyDays.default(90).describe("The same for bells and scheduled messages."),
        emergencies: historyDays.default(3_650).describe("The same for emergency messages outside incidents."),
        incidents: historyDays
          .default(3_650)
          .describe(
            "The same for messages of incidents and scenarios. A legal hold on an incident keeps all of its messages.",
          ),
        answers: historyDays
          .default(1_095)
          .describe("Days that the answers of single people are kept, in messages of any kind; their counts stay."),
        positions: historyDays
          .default(30)
          .describe("Days that positions of tracked people are kept, in messages of any kind."),
      })
      .prefault({}),
    callManagers: z
      .strictObject({
        full: cron
          .nullable()
          .default("30 2 * * *")
          .describe(
            "Schedule for reading all phones of the clusters, as a cron expression in local time; null = on request only.",
          ),
        delta: cron
          .nullable()
          .default("*/15 * * * *")
          .describe("Schedule for reading changes in the cluster databases and registrations; null = on request only."),
        partial: cron
          .nullable()
          .default("*/2 * * * *")
          .describe("Schedule for reading registrations only; null = on request only."),
        snmpPort: z.int().min(1).max(65_535).default(161).describe("SNMP UDP port of the nodes."),
        allowDes: z
          .boolean()
          .default(false)
          .describe(
            "Allows SNMP privacy with DES for nodes that support neither AES-128 nor AES-256. Off by default, because DES is insecure.",
          ),
        authorities: z
          .string()
          .min(1)
          .nullable()
          .default(null)
          .describe("File with additional CA certificates (PEM) for the clusters."),
      })
      .prefault({})
      .describe("Reading phones from call managers."),
    quietTests: z
      .strictObject({
        schedule: cron
          .nullable()
          .default("30 3 * * *")
          .describe(
            "Schedule of silent connectivity tests of all devices, as a cron expression in local time; null = on request only.",
          ),
        provenWithinHours: z
          .int()
          .min(1)
          .max(8_760)
          .nullable()
          .default(48)
          .describe("Hours after which a device without a verified path turns the health YELLOW; null = never."),
      })
      .prefault({}),
    scenarios: z
      .strictObject({
        syntheticSiteQuestion: z
          .boolean()
          .default(true)
          .describe(
            "Adds a site question to scenarios with a location and accepts its answer, for clients that do not support locations.",
          ),
      })
      .prefault({}),
    plugins: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/), plugin)
      .prefault({})
      .describe("Settings by plugin name."),
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
