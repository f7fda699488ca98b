import { isIPv4 } from "node:net";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { isCronExpression } from "./cron.ts";
import { isHostOrAddress, isMulticastRange, isTargetPattern, parseListenAddress } from "./network-addresses.ts";

const listen = z
  .string()
  .refine((text) => parseListenAddress(text) !== null, "must be HOST:PORT, such as 127.0.0.1:8080 or [::]:8080");

const multicastRange = z
  .string()
  .refine(isMulticastRange, "must be an IPv4 multicast network, such as 239.192.16.0/24");

const publicUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .refine((text) => URL.canParse(text) && new URL(text).username === "" && new URL(text).password === "", {
    error: "must not hold a user name or password",
  });

const cron = z.string().refine(isCronExpression, "must be a cron expression of five or six fields, such as 30 2 * * *");

const signingKey = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "must be base64 of 32 bytes");

/** A password would lie in the clear: it comes by the environment. */
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
    host: z.string().min(1).default("127.0.0.1").describe("Address the plugin's own port listens on."),
    port: z.int().min(0).max(65_535).default(0).describe("Port number; 0 lets the system choose."),
    publicUrl: publicUrl
      .nullable()
      .default(null)
      .describe("URL under which devices reach the port; made from host and port when null."),
  })
  .describe("An own port of a plugin, by the name in its manifest.");

const plugin = z
  .strictObject({
    listen: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/), pluginListen)
      .prefault({})
      .describe("Own ports."),
  })
  .describe("What the machine gives to a plugin; the plugin's own configuration lies in its extension.");

/**
 * The appliance's settings file: every setting has a default, an unknown name is refused. It holds no secrets; those
 * lie sealed in the database.
 */
export const settingsSchema = z
  .strictObject({
    listen: listen.default("127.0.0.1:8080").describe("HOST:PORT of the API; `--listen` wins over it."),
    log: z
      .strictObject({
        level: z
          .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
          .default("info")
          .describe("Least level that is written."),
      })
      .prefault({}),
    api: z
      .strictObject({
        methodOverride: z
          .boolean()
          .default(false)
          .describe("Lets `GET …?_method=DELETE` perform that method; off because links could then change data."),
        publicUrl: publicUrl
          .nullable()
          .default(null)
          .describe(
            "URL under which people reach the appliance, for links in messages, identity providers and directories; that of `listen` when null.",
          ),
        hosts: z
          .array(z.string().refine(isHostOrAddress, "must be a host name or an IP address, without port"))
          .max(100)
          .default([])
          .describe(
            "Further names and addresses by which clients call the appliance; its own addresses, localhost, the machine's names and what `listen` names are always taken, all else is refused.",
          ),
        origins: z
          .array(
            z.url({ protocol: /^https?$/ }).refine(isOrigin, "must be an origin, such as https://intranet.example.org"),
          )
          .max(100)
          .default([])
          .describe("Origins of other sites whose pages may use the API with a token of their own; none unless named."),
        requestsPerMinute: z
          .strictObject({
            token: z.int().min(0).max(100_000_000).default(60_000).describe("With one token; 0 = any number."),
            address: z
              .int()
              .min(0)
              .max(100_000_000)
              .default(60_000)
              .describe("From one address without a token, or with one that is not good; 0 = any number."),
          })
          .prefault({})
          .describe(
            "Requests that may be made on average; what is not used is kept for two minutes. Beyond it: 429 with Retry-After. Sessions of the console are not counted.",
          ),
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
          .describe("Own, loopback, link-local and multicast addresses that URLs given by users may lead to."),
        multicastInterface: z
          .string()
          .refine((text) => isIPv4(text), "must be an IPv4 address of this machine")
          .nullable()
          .default(null)
          .describe("Own IPv4 address on the network that multicast audio goes to; null = the first outside address."),
      })
      .prefault({}),
    audio: z
      .strictObject({
        multicastRange: multicastRange
          .default("239.192.16.0/24")
          .describe("Groups for bells, pages and routine messages to phones."),
        emergencyRange: multicastRange
          .default("239.192.17.0/24")
          .describe("Groups kept free for emergencies; must not overlap the other range."),
        ttl: z.int().min(1).max(255).default(16).describe("Routers that a multicast packet may pass."),
        livePageSeconds: z
          .int()
          .min(10)
          .max(900)
          .default(300)
          .describe("How long somebody may speak live before the page is ended."),
      })
      .prefault({}),
    broadcasts: z
      .strictObject({
        secondPerson: z
          .boolean()
          .default(false)
          .describe(
            "Live emergencies and all-calls that a person sends wait until another person approves them; drills, panic buttons and what machines or bells start never wait.",
          ),
        secondPersonMinutes: z.int().min(1).max(60).default(2).describe("How long they wait; then they are not sent."),
      })
      .prefault({}),
    bells: z
      .strictObject({
        gap: z
          .enum(["ring-at-end", "skip"])
          .default("ring-at-end")
          .describe(
            "Bells whose local time is left out when the clocks go forward: ring when they have, or not at all.",
          ),
        fold: z
          .enum(["first", "second"])
          .default("first")
          .describe("Which one of two equal local times rings when the clocks go back."),
      })
      .prefault({}),
    tls: z
      .strictObject({
        listen: listen
          .nullable()
          .default(null)
          .describe(
            "HOST:PORT of the API with TLS, such as 0.0.0.0:8443; `listen` then only sends people there. null = without TLS.",
          ),
      })
      .prefault({})
      .describe(
        "The certificate comes from an authority that the appliance makes for itself, until `carillon tls install` brings another one.",
      ),
    failover: z
      .strictObject({
        listen: listen
          .nullable()
          .default(null)
          .describe(
            "HOST:PORT at which the other appliances of the organisation tell this one that they live, on the local network; null = this one covers for nobody.",
          ),
        peers: z
          .array(listen)
          .max(20)
          .default([])
          .describe("HOST:PORT of the other appliances that listen; who they are, their certificates say."),
      })
      .prefault({})
      .describe(
        "Appliances of one organisation that cover for each other; each must have been enrolled with its cloud.",
      ),
    cloud: z
      .strictObject({
        address: publicUrl
          .nullable()
          .default(null)
          .describe("Base URL of the cloud that the appliance is linked to; null = that of the enrolment."),
        proxy: publicUrl
          .nullable()
          .default(null)
          .describe(
            "HTTP proxy on the way to the cloud, which is asked for a tunnel; null = that of HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment, which may also hold a name and password.",
          ),
        authority: z
          .string()
          .refine(isAbsolute, "must be an absolute path")
          .nullable()
          .default(null)
          .describe(
            "File (PEM) of the authority that signed the cloud's certificate; null = a public one, or the organisation's own.",
          ),
        heartbeatSeconds: z
          .int()
          .min(5)
          .max(60)
          .default(20)
          .describe(
            "How often both sides of the link say that they live; after 2¼ times that in silence it is made anew.",
          ),
      })
      .prefault({})
      .describe("The way to the cloud, for an appliance that is linked to one."),
    hub: z
      .strictObject({
        database: database
          .nullable()
          .default(null)
          .describe(
            "PostgreSQL in which the nodes of a cloud keep their organisation, postgres://USER@HOST:PORT/DATABASE; null = the node alone keeps it. The password comes by PGPASSWORD or PGPASSFILE, or all of it by CARILLON_DATABASE in the environment.",
          ),
        organisation: z
          .string()
          .min(1)
          .max(100)
          .default("default")
          .describe("Which of the organisations that share the database."),
      })
      .prefault({})
      .describe("Where a cloud keeps what it has, for `carillon hub`."),
    heartbeat: z
      .strictObject({
        url: publicUrl
          .nullable()
          .default(null)
          .describe(
            "Address outside that is called (GET) while the appliance is not red, so that somebody notices a dead one; null = none.",
          ),
        everySeconds: z.int().min(5).max(3_600).default(30).describe("How often."),
      })
      .prefault({}),
    trust: z
      .strictObject({
        licences: z
          .array(signingKey)
          .max(20)
          .default([])
          .describe("Public keys of those whose licence documents count."),
        upgrades: z
          .array(signingKey)
          .max(20)
          .default([])
          .describe("Public keys of those whose upgrades are installed."),
      })
      .prefault({})
      .describe("Ed25519 public keys, base64 of their 32 bytes."),
    backups: z
      .strictObject({
        schedule: cron
          .nullable()
          .default("30 2 * * *")
          .describe(
            "When a backup is taken and proven, as a cron expression in local time; null = never by itself. backupSchedule in the endpoint's config wins over it.",
          ),
        folder: z
          .string()
          .max(4_096)
          .refine(isAbsolute, "must be absolute")
          .nullable()
          .default(null)
          .describe("Absolute folder for backups, better on another disk; null = backups in the data directory."),
        keepDays: z.int().min(1).max(3_650).default(7).describe("Of so many days the newest backup is kept."),
        keepWeeks: z.int().min(0).max(520).default(4).describe("And of so many weeks."),
      })
      .prefault({}),
    callManagers: z
      .strictObject({
        full: cron
          .nullable()
          .default("30 2 * * *")
          .describe(
            "When all phones of the clusters are read anew, as a cron expression in local time; null = only when asked for.",
          ),
        delta: cron
          .nullable()
          .default("*/15 * * * *")
          .describe("When what changed in the clusters' databases is read, and who is registered."),
        partial: cron.nullable().default("*/2 * * * *").describe("When only who is registered is read."),
        snmpPort: z.int().min(1).max(65_535).default(161).describe("UDP port at which the nodes answer SNMP."),
        allowDes: z
          .boolean()
          .default(false)
          .describe("Tries DES with nodes that take neither AES-128 nor AES-256; off because DES is broken."),
        authorities: z
          .string()
          .min(1)
          .nullable()
          .default(null)
          .describe("File with further authorities (PEM) that may have signed the certificates of clusters."),
      })
      .prefault({})
      .describe("How the phones of call managers are read."),
    quietTests: z
      .strictObject({
        schedule: cron
          .nullable()
          .default("30 3 * * *")
          .describe(
            "When the ways to all devices are tested without anybody hearing it: minute, hour, day, month, weekday, in local time; null = never by itself.",
          ),
        provenWithinHours: z
          .int()
          .min(1)
          .max(8_760)
          .nullable()
          .default(48)
          .describe("A device whose way was not proven for so many hours makes the appliance YELLOW; null = never."),
      })
      .prefault({}),
    scenarios: z
      .strictObject({
        syntheticSiteQuestion: z
          .boolean()
          .default(true)
          .describe(
            "Reports a question for the site with scenarios that have a location, and takes its answer, for clients that know no locations yet.",
          ),
      })
      .prefault({}),
    plugins: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/), plugin)
      .prefault({})
      .describe("By plugin name."),
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
