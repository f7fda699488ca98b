import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { BugError, CallerError } from "../../base/errors.ts";
import type { Events } from "../../base/events.ts";
import { newId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { Broadcaster } from "../../broadcast/broadcaster.ts";
import type { HealthReason } from "../../health/health.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { By, Recorder, Store } from "../../store/store.ts";
import { createBlobFolder } from "../blobs.ts";
import { LIMITS } from "../frames.ts";
import { enrol, forgetIdentity, identityFaults, type OwnIdentity, readIdentity } from "../identity/own-identity.ts";
import { prepareLink } from "../site/link-state.ts";
import { beginTelling } from "../site/own-state.ts";
import { createSite, type Site } from "../site/site.ts";
import { LINK, OUT, PARKED } from "../site/tables.ts";
import { createSqliteWork } from "../sqlite-work.ts";
import { get, scan } from "../work.ts";
import { createSiteRecorder } from "./capture.ts";
import { createPlayer } from "./command-player.ts";
import { createDialer, type Dialer, type LinkState } from "./dialer.ts";
import { askToEnrol, type Enrolled } from "./enrol-exchange.ts";
import { adoptRows, alignGround, type EnrolMode, stepAside } from "./ground.ts";
import { linkUrl } from "./hub-address.ts";
import { productTypes } from "./product-types.ts";
import { createToldAtEnd } from "./told-at-end.ts";

/** What the appliance's end of the link needs. */
export interface SiteLinkNeeds {
  dataDir: string;
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  /** The link as actor of what it writes. */
  by: By;
  endpointId(): string;
  /** Between 0 and 1. */
  random(): number;
  broadcaster(): Pick<Broadcaster, "abort" | "takeUp">;
  recording: { recorder: Recorder | null };
}

/** How the link is, as commands and the console show it; times are epoch ms. */
export interface LinkReport {
  /** Base URL of the cloud; null for an appliance that stands alone. */
  hub: string | null;
  mode: "solo" | "cloud";
  link: LinkState | null;
  /** Number of the cloud's feed up to which rows are applied; null without a link. */
  applied: number | null;
  /** Records that wait to go up. */
  queued: number;
  /** Rows of the cloud that were refused here. */
  parked: number;
  /** Epoch ms at which the appliance's certificate ends. */
  certificateUntil: number | null;
}

/** The appliance's end of the link. */
export interface SiteLink {
  start(): Promise<void>;
  report(): LinkReport;
  /** What of it is not as it should be. */
  source(): HealthReason[];
  /** Enrols the appliance; it must be started anew then. Throws CallerError, UpstreamError. */
  enrol(given: { hub: string; code: string; mode: EnrolMode; authority: string | null }): Promise<{ endpoint: string }>;
  /** Makes the appliance stand alone again. */
  leave(): Promise<void>;
  /** Ends the present connection; another one follows. */
  cut(): void;
  stop(): void;
}

/** own choice: rows that are applied in one transaction */
const SLICE_ROWS = 25;
const TROUBLE = { alarm: "onprem_delta_sync_error_event", code: "link" } as const;
/** A link that is down for so long is told. own choice: what a restart of the cloud takes, and more */
const TOLD_AFTER_MS = 120_000;
const FULL_SCAN = 10_000;

/** Makes it; an appliance that was never enrolled does nothing and costs nothing. */
export function createSiteLink(needs: SiteLinkNeeds): SiteLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = needs;
  const types = productTypes(catalogue);
  const work = createSqliteWork(store, catalogue, by);
  let identity: OwnIdentity | null = null;
  let site: Site | null = null;
  let dialer: Dialer | null = null;
  let unsubscribe = (): void => undefined;

  async function start(): Promise<void> {
    identity = readIdentity(dataDir);
    if (!identity) return;
    if (!work.peek(() => get(LINK, "link"))) {
      log.error("the appliance's enrolment was cut off; enrol it again");
      return;
    }
    const onFault = (error: unknown): void => log.error({ err: error }, "the link failed");
    const tellState = async (): Promise<void> => {
      await work.transact(beginTelling);
      site?.wake();
    };
    const player = createPlayer({ ...needs, tellState, onFault });
    const own = createSite({
      ...{ store: work, clock, types, newId, ...player },
      // A slice takes less than 20 ms with the behaviours of the rows.
      limits: { ...LIMITS, sliceRows: SLICE_ROWS },
      blobs: createBlobFolder(join(dataDir, "files")),
      about: { extensionId: ONPREM_EXTENSION_ID, endpointId: needs.endpointId() },
      endpoint: needs.endpointId(),
      groups: () => [],
      hasContact: () => false,
      onMark: (applied) => log.debug({ applied }, "equal to the cloud"),
      onMismatch(different, again) {
        log.warn({ different, again }, "rows differ from the cloud's and are fetched");
      },
      onLease: () => undefined,
      onTrouble: (reason) => events.emit("fault.changed", { ...TROUBLE, endpointId: needs.endpointId(), reason }),
      onFault,
    });
    site = own;
    await own.start();
    const told = createToldAtEnd({ store, clock, work, types, onFault, wake: own.wake });
    const endpoint = needs.endpointId();
    recording.recorder = createSiteRecorder({ work, clock, types, endpoint });
    const stopTelling = told.follow(events);
    const stopWaking = events.on("replication.recorded", own.wake);
    unsubscribe = () => {
      stopTelling();
      stopWaking();
    };
    dialer = createDialer({
      ...{ clock, log, random: needs.random, changed: () => undefined },
      address: () => addressOf(identity as OwnIdentity),
      site: own,
    });
    dialer.start();
  }

  async function take(enrolled: Enrolled, mode: EnrolMode): Promise<void> {
    await store.write((tx) => {
      const isNew = !work.within(tx, get(LINK, "link"));
      work.within(tx, prepareLink(needs.endpointId(), types.fingerprint));
      if (!isNew) return;
      const common = alignGround(tx, enrolled.ground);
      const all = { catalogue, types, work, now: clock.now() };
      if (mode === "adopt") adoptRows(tx, common, all);
      else stepAside(tx, common, all);
    });
  }

  return {
    start,
    report() {
      const state = identity && work.peek(() => get(LINK, "link"));
      const counts = state && work.peek(() => countWaiting(state.bulkAcked, state.hotAcked));
      return {
        hub: identity?.hub ?? null,
        mode: identity && dialer?.state().state === "connected" ? "cloud" : "solo",
        link: dialer?.state() ?? null,
        applied: state?.applied ?? null,
        queued: counts?.queued ?? 0,
        parked: counts?.parked ?? 0,
        certificateUntil: identity?.facts.validTo ?? null,
      };
    },
    source() {
      if (!identity) return [];
      const state = dialer?.state();
      if (!state)
        return [{ level: "red", code: "link", reason: "The enrolment was cut off. Enrol the appliance again." }];
      const faults: HealthReason[] = identityFaults(identity.facts, clock.now());
      const isLong = state.state === "refused" || clock.now() - state.since > TOLD_AFTER_MS;
      if (state.state === "connected" || !isLong) return faults;
      return [
        ...faults,
        { level: "yellow", code: "link", reason: `There is no link to the cloud. ${state.reason ?? ""}`.trim() },
      ];
    },
    async enrol({ hub, code, mode, authority }) {
      requireUrl(hub);
      let enrolled: Enrolled | null = null;
      const endpoint = needs.endpointId();
      await enrol(dataDir, { hub, code, endpoint }, async (asked) => {
        enrolled = await askToEnrol(hub, asked, authority);
        return enrolled;
      });
      if (!enrolled) throw new BugError("an appliance was enrolled without an answer");
      await take(enrolled, mode);
      return { endpoint };
    },
    async leave() {
      forgetIdentity(dataDir);
    },
    cut: () => dialer?.cut(),
    stop() {
      recording.recorder = null;
      unsubscribe();
      dialer?.stop();
      site?.stop();
    },
  };
}

function* countWaiting(bulk: number, hot: number) {
  const waiting = [
    ...(yield* scan(OUT, { where: ["bulk"], after: bulk, limit: FULL_SCAN })),
    ...(yield* scan(OUT, { where: ["hot"], after: hot, limit: FULL_SCAN })),
  ];
  const parked = yield* scan(PARKED, { limit: FULL_SCAN });
  return { queued: waiting.filter(({ op }) => op !== "hollow").length, parked: parked.length };
}

function addressOf({ hub, token, key, certificate, authority }: OwnIdentity) {
  return { url: linkUrl(hub), token, key, certificate, authority };
}

function requireUrl(hub: string): void {
  const url = URL.canParse(hub) ? new URL(hub) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return;
  throw new CallerError("invalid-value", "The cloud's address is an http or https URL.");
}
