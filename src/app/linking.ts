import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { invalidValue, requiredValue, UpstreamError } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { Providers } from "../broadcast/providers.ts";
import type { HealthSource } from "../health/health.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../replication/collections.ts";
import { IDENTITY_COLLECTIONS } from "../replication/identity/enrolment.ts";
import { GROUND_TABLES } from "../replication/link/grounding.ts";
import type { CloudWay } from "../replication/link/hub-address.ts";
import { createHubLink, type HubLink, type HubLinkNeeds } from "../replication/link/hub-link.ts";
import { PRESENCES } from "../replication/link/presence.ts";
import {
  createSiteLink,
  type LinkedCircle,
  type LinkReport,
  type SiteLink,
  type SiteLinkNeeds,
} from "../replication/link/site-link.ts";
import { TOLD_AT_END_TABLE } from "../replication/link/told-at-end.ts";
import { createSqliteWork, tablesOf } from "../replication/sqlite-work.ts";
import { createLinkDesk, type LinkDesk } from "../replication/view/link-desk.ts";
import type { Collection } from "../replication/work.ts";
import type { Settings } from "../settings/schema.ts";
import type { RoomTable } from "../store/store.ts";
import type { ApplianceData } from "./appliance.ts";
import type { Order } from "./orders.ts";
import { ownVersion } from "./version.ts";

/** Tables of the room `replication`. */
export const LINK_TABLES: readonly RoomTable[] = tablesOf([
  ...SITE_COLLECTIONS,
  ...HUB_COLLECTIONS,
  ...IDENTITY_COLLECTIONS,
  PRESENCES as unknown as Collection<never>,
]).concat(TOLD_AT_END_TABLE, ...GROUND_TABLES);

const RANDOM_STEPS = 2 ** 32;

/** What linking is made of. */
export interface LinkingNeeds {
  dataDir: string;
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  /** This daemon is the cloud of an organisation. */
  isHub?: boolean;
  endpointId(): string;
  /** Called once all runs. */
  broadcaster(): Broadcaster;
  settings: Pick<Settings, "cloud">;
  /** How the appliance is. Called once all runs. */
  health: SiteLinkNeeds["health"];
  circle(): LinkedCircle;
  /** Which appliances may activate devices, at a cloud. Called once all runs. */
  candidates: HubLinkNeeds["candidates"];
  /** Carries out, at a cloud, a request that came to an appliance. */
  request: HubLinkNeeds["request"];
  /** Starts the daemon anew. */
  onRestart?: () => void;
  /** Where a cloud's rows lie, if not here alone. */
  shared?: NonNullable<HubLinkNeeds["shared"]>;
}

/** This daemon's end of links: of one as an appliance, of many as a cloud. */
export interface Linking {
  source: HealthSource;
  /** The appliances' way in; null where there is none. */
  accept: HubLink["accept"] | null;
  report(): LinkReport;
  /** The channels that carry deliveries: the given ones, at a cloud also that to its appliances. */
  beside(providers: Providers): Providers;
  hub: HubLink | null;
  site: SiteLink | null;
  /** What people see of it and do about it. */
  desk: LinkDesk;
  /** The cloud is connected. */
  isConnected(): boolean;
  orders: Readonly<Record<string, Order>>;
  /** To be called before anything writes that goes up. */
  record(): void;
  start(): Promise<void>;
  stop(): void;
}

/** Makes it; nothing is connected before `start`. */
export function createLinking(needs: LinkingNeeds): Linking {
  const { data, clock } = needs;
  const common = { ...needs, store: data.store, catalogue: data.catalogue, recording: data.recording };
  const by = data.access.systemBy("replication");
  const restart = (): void => needs.onRestart?.();
  const { store, catalogue } = data;
  const ends = { store, catalogue, clock, work: createSqliteWork(store, catalogue, by), restart };
  const deskOf = (of: Pick<Linking, "site" | "hub">): LinkDesk =>
    createLinkDesk({ ...ends, ...of, endpointId: needs.endpointId });
  if (needs.isHub) {
    const hub = createHubLink({ ...common, by });
    return ofHub(hub, deskOf({ hub, site: null }));
  }
  const site = createSiteLink({
    ...common,
    by,
    version: ownVersion(),
    way: wayOf(needs.settings.cloud),
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
  });
  return {
    source: site.source,
    accept: null,
    report: site.report,
    beside: (providers) => providers,
    hub: null,
    site,
    desk: deskOf({ site, hub: null }),
    isConnected: site.isConnected,
    record: site.record,
    start: site.start,
    stop: site.stop,
    orders: {
      /** `{}` -> LinkReport. */
      "link.status": async () => site.report(),
      /** `{hub, code, mode?, authority?}` -> `{endpoint}`; the daemon starts anew then. */
      "link.enrol": async ({ hub, code, mode = "join", authority }) => {
        if (typeof hub !== "string") throw requiredValue("hub");
        if (typeof code !== "string") throw requiredValue("code");
        if (mode !== "adopt" && mode !== "join") throw invalidValue("mode", "It is adopt or join.");
        const made = await site.enrol({ hub, code, mode, authority: typeof authority === "string" ? authority : null });
        clock.soon(restart);
        return made;
      },
      /** `{}` -> null; the daemon starts anew then. */
      "link.leave": async () => {
        await site.leave();
        clock.soon(restart);
        return null;
      },
    },
  };
}

/** Throws UpstreamError when the file can't be read. */
function wayOf({ address, proxy, authority, heartbeatSeconds }: Settings["cloud"]): CloudWay {
  return { address, proxy, authority: authority && readAuthority(authority), beatMs: heartbeatSeconds * 1_000 };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UpstreamError("starting", `cloud.authority: ${path} can't be read.`, { path }, error);
  }
}

function ofHub(link: HubLink, desk: LinkDesk): Linking {
  const nothing = { hub: null, mode: "solo", link: null, applied: null, queued: 0, parked: 0, certificateUntil: null };
  return {
    source: () => [],
    accept: link.accept,
    report: () => nothing as LinkReport,
    beside: link.beside,
    hub: link,
    site: null,
    desk,
    isConnected: () => false,
    // All rows are looked at when it starts.
    record: () => undefined,
    start: link.start,
    stop: link.stop,
    orders: {
      /** `{endpoint?}` -> `{code, until}`. */
      "link.code": ({ endpoint }) => link.offer(typeof endpoint === "string" ? endpoint : null),
      /** `{endpoint}` -> null. */
      "link.revoke": async ({ endpoint }) => {
        if (typeof endpoint !== "string") throw requiredValue("endpoint");
        await link.revoke(endpoint);
        return null;
      },
      /** `{}` -> ids of the appliances whose link stands. */
      "link.status": async () => ({ connected: link.connected() }),
    },
  };
}
