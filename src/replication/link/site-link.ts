import { join } from "node:path";
import type { ResolvedAddress } from "../../base/address-policy.ts";
import type { Clock } from "../../base/clock.ts";
import { BugError, ConflictError } from "../../base/errors.ts";
import type { Events } from "../../base/events.ts";
import { newId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { Broadcaster } from "../../broadcast/broadcaster.ts";
import type { HealthReason } from "../../health/health.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import type { Catalogue } from "../../schema/catalogue.ts";
import type { By, Recorder, Store, Transaction } from "../../store/store.ts";
import { createBlobFolder } from "../blobs.ts";
import { SITE_COLLECTIONS } from "../collections.ts";
import { type Beat, readBeat } from "../failover/beats.ts";
import { type Lease, LIMITS } from "../frames.ts";
import { enrol, forgetIdentity, identityFaults, type OwnIdentity, readIdentity } from "../identity/own-identity.ts";
import { createRevokedKeys, type RevokedKeys } from "../identity/revoked-keys.ts";
import { prepareLink } from "../site/link-state.ts";
import { beginTelling } from "../site/own-state.ts";
import { createSite, type Site } from "../site/site.ts";
import { LINK } from "../site/tables.ts";
import { createSqliteWork } from "../sqlite-work.ts";
import { siteQueue } from "../view/site-queue.ts";
import { clear, get } from "../work.ts";
import { createSiteRecorder } from "./capture.ts";
import { createPlayer } from "./command-player.ts";
import { createDialer, type Dialer, type LinkState } from "./dialer.ts";
import { askToEnrol, type Enrolled } from "./enrol-exchange.ts";
import type { EnrolMode } from "./ground.ts";
import { createGrounding } from "./grounding.ts";
import { addressOf, type CloudWay, requireHubUrl } from "./hub-address.ts";
import { linkFaults } from "./link-faults.ts";
import { createMarkWaits } from "./mark-waits.ts";
import { productTypes } from "./product-types.ts";
import { createSiteTalk } from "./site-talk.ts";
import { createStatusTeller, type StatusTellerNeeds } from "./status-teller.ts";
import { createToldAtEnd, TOLD_AT_END_TABLE } from "./told-at-end.ts";

/** What the appliance's end of the link needs. */
export interface SiteLinkNeeds {
  dataDir: string;
  /** Version of this software. */
  version: string;
  health: StatusTellerNeeds["health"];
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
  /** What the machine's owner says of the way to the cloud. */
  way: CloudWay;
  /** Who covers for this appliance, and for whom it does. */
  circle(): LinkedCircle;
}

/** A request of the API that the cloud is to carry out. */
export interface HandedOn {
  userId: string;
  /** OAuth 2 scopes of the token; null leaves all the user's rights. */
  scopes: readonly string[] | null;
  method: "POST" | "PUT" | "DELETE";
  /** Path with query. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** What the cloud answered. */
export interface HandedBack {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** What covering for neighbours has to do with the link. */
export interface LinkedCircle {
  /** Groups whose lease this appliance asks for. */
  wanted(): string[];
  hasContact(): boolean;
  /** `until` is a monotonic moment. */
  leased(lease: Lease, until: number): void;
  heard(beat: Beat): void;
  /** Others are trusted than before, or this appliance has another certificate. */
  trustChanged(): void;
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

/** How an appliance is to be enrolled. */
export interface EnrolmentOrder {
  /** Base URL of the cloud. */
  hub: string;
  code: string;
  mode: EnrolMode;
  /** Authority that signed the cloud's certificate, PEM. */
  authority: string | null;
  found?: ResolvedAddress;
}

/** The appliance's end of the link. */
export interface SiteLink {
  /** Records what is written from now on; `start` sends it. */
  record(): void;
  start(): Promise<void>;
  report(): LinkReport;
  /** The cloud is connected; costs nothing. */
  isConnected(): boolean;
  /** What of it is not as it should be. */
  source(): HealthReason[];
  /**
   * Enrols the appliance; it must be started anew then. `found` is where the name in `hub` leads, when that was looked up
   * and judged. Throws CallerError, UpstreamError, and ConflictError when it is linked to another cloud.
   */
  enrol(given: EnrolmentOrder): Promise<{ endpoint: string }>;
  /** Makes the appliance stand alone again, and forgets the link with all that waits to go up; it must be started anew then. */
  leave(): Promise<void>;
  /** Who this appliance is to others; null for one that was never enrolled. */
  identity(): OwnIdentity | null;
  revoked: Pick<RevokedKeys, "has">;
  /**
   * Has the cloud carry out a request of the API in the name of a user; what it changed is here by then. Null when there is
   * no link. Throws UpstreamError: `upstream` in the cloud's words where it refuses, `outcome-unknown` when there is no answer.
   */
  handOn(request: HandedOn): Promise<HandedBack | null>;
  /** Tells neighbours something by the cloud. */
  tell(beat: Beat): void;
  /** A neighbour is heard with a message. */
  heardElsewhere(id: string): void;
  /** Ends the present connection; another one follows. */
  cut(): void;
  stop(): void;
}

/** own choice: rows that are written together, and how long others are in the same transaction: with their behaviours well below 20 ms */
const SLICE_ROWS = 20;
const SLICE_MS = 4;
/** own choice: the cloud takes a page in one transaction, and is to answer others within 20 ms */
const UP_ROWS = 50;
const TROUBLE = { alarm: "onprem_delta_sync_error_event", code: "link" } as const;
const CREDENTIAL = { alarm: "token_expiration", code: "link" } as const;
/** How often it is looked whether the certificate is to be renewed. own choice */
const RENEWAL_MS = 3600_000;
/** The cloud is given so long after a connection to be busy with rows first. own choice */
const SETTLED_MS = 5_000;

/** Makes it; an appliance that was never enrolled does nothing and costs nothing. */
export function createSiteLink(needs: SiteLinkNeeds): SiteLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = needs;
  const types = productTypes(catalogue);
  const work = createSqliteWork(store, catalogue, by);
  let identity: OwnIdentity | null = null;
  let site: Site | null = null;
  let dialer: Dialer | null = null;
  let unsubscribe = (): void => undefined;
  const revoked = createRevokedKeys(dataDir);
  const marks = createMarkWaits(clock);
  const grounding = createGrounding({ store, catalogue, clock, types, work });
  let handOn: SiteLink["handOn"] = async () => null;
  let credentialFault: string | null | undefined;
  let isGroundingBroken = false;

  /** Before anything is taken up that an earlier run left: what becomes of that goes up, too. */
  function record(): void {
    if (!readIdentity(dataDir) || !work.peek(() => get(LINK, "link"))) return;
    const { isOpen: isGrounding } = grounding;
    recording.recorder = createSiteRecorder({ work, clock, types, endpoint: needs.endpointId(), isGrounding });
  }

  async function start(): Promise<void> {
    identity = readIdentity(dataDir);
    if (!identity) return;
    if (!work.peek(() => get(LINK, "link"))) {
      log.error("the appliance's enrolment was cut off; enrol it again");
      return;
    }
    record();
    if (!grounding.isOpen()) return begin();
    log.info({}, "the appliance's rows are brought into the organisation");
    grounding.run().then(
      (isDone) => (isDone ? begin() : undefined),
      (error: unknown) => {
        isGroundingBroken = true;
        log.error({ err: error }, "the appliance's rows were not brought into the organisation");
      },
    );
  }

  async function begin(): Promise<void> {
    const onFault = (error: unknown): void => log.error({ err: error }, "the link failed");
    const tellState = async (): Promise<void> => {
      await work.transact(beginTelling);
      site?.wake();
    };
    const player = createPlayer({ ...needs, tellState, onFault, latest: () => site?.latest() ?? null });
    const own = createSite({
      ...{ store: work, clock, types, newId, ...player },
      limits: { ...LIMITS, pageRows: UP_ROWS, sliceRows: SLICE_ROWS, sliceMs: SLICE_MS },
      blobs: createBlobFolder(join(dataDir, "files")),
      about: { extensionId: ONPREM_EXTENSION_ID, endpointId: needs.endpointId() },
      endpoint: needs.endpointId(),
      groups: () => needs.circle().wanted(),
      hasContact: () => needs.circle().hasContact(),
      onMark(applied) {
        log.debug({ applied }, "equal to the cloud");
        marks.reached(applied);
      },
      onMismatch(different, again) {
        log.warn({ different, again }, "rows differ from the cloud's and are fetched");
      },
      onLease: (lease, until) => needs.circle().leased(lease, until),
      onTrouble: (reason) => events.emit("fault.changed", { ...TROUBLE, endpointId: needs.endpointId(), reason }),
      onFault,
    });
    site = own;
    await own.start();
    const told = createToldAtEnd({ store, clock, work, types, onFault, wake: own.wake });
    const stopTelling = told.follow(events);
    const stopWaking = events.on("replication.recorded", own.wake);
    const talk = createSiteTalk({
      ...{ dataDir, clock, log, revoked, identity: () => identity as OwnIdentity },
      say: (said) => dialer?.say(said) === true,
      beat(text) {
        const beat = readBeat(text);
        if (beat) needs.circle().heard(beat);
      },
      trustChanged: () => needs.circle().trustChanged(),
      renewed(next) {
        identity = next;
        needs.circle().trustChanged();
        // The next connection shows the new key, by which the cloud forgets the old one.
        dialer?.cut();
      },
    });
    handOn = async ({ body, ...request }) => {
      if (dialer?.state().state !== "connected") return null;
      const given = await talk.ask({ kind: "request", ...request, body: body.toString("base64") });
      if (!given) return null;
      await marks.after(given.head as number, work.peek(() => get(LINK, "link"))?.applied ?? 0);
      const { status, headers, body: text } = given as unknown as Omit<HandedBack, "body"> & { body: string };
      return { status, headers, body: Buffer.from(text, "base64") };
    };
    const status = createStatusTeller({
      ...{ clock, health: needs.health, say: (said) => void dialer?.say(said) },
      queue() {
        const link = work.peek(() => get(LINK, "link"));
        return link && siteQueue(store, link);
      },
    });
    dialer = createDialer({
      ...{ clock, log, version: needs.version, random: needs.random, beatMs: needs.way.beatMs },
      address: () => addressOf(identity as OwnIdentity, needs.way),
      site: own,
      talk: talk.take,
      changed({ state }) {
        events.emit("link.changed", { endpointId: needs.endpointId() });
        tellCredential();
        if (state !== "connected") return;
        clock.soon(status.tell);
        clock.after(SETTLED_MS, () => void talk.renew(), { background: true });
      },
    });
    const renewal = clock.every(RENEWAL_MS, () => {
      tellCredential();
      void talk.renew();
    });
    unsubscribe = () => {
      stopTelling();
      stopWaking();
      renewal.cancel();
      status.stop();
      talk.stop();
    };
    dialer.start();
  }

  /** A link that goes on with another key keeps what it has; any other begins with nothing of the one before. */
  async function take(enrolled: Enrolled, mode: EnrolMode, goesOn: boolean): Promise<void> {
    const prepare = (tx: Transaction): void => {
      if (!goesOn) forgetLink(tx);
      work.within(tx, prepareLink(needs.endpointId(), types.fingerprint));
    };
    if (goesOn) await store.write(prepare);
    else await grounding.keep(enrolled.ground, mode, prepare);
    record();
  }

  function forgetLink(tx: Transaction): void {
    for (const kept of SITE_COLLECTIONS) work.within(tx, clear(kept));
    tx.run(`DELETE FROM ${TOLD_AT_END_TABLE.name}`);
  }

  function halt(): void {
    recording.recorder = null;
    grounding.stop();
    unsubscribe();
    dialer?.stop();
    site?.stop();
  }

  /** Raises the alarm while the cloud refuses the credential, or that is about to expire. @source decisions.md 13 */
  function tellCredential(): void {
    const state = dialer?.state();
    const [expiring] = identityFaults(identity?.facts ?? null, clock.now());
    const reason = state?.state === "refused" ? state.reason : (expiring?.reason ?? null);
    if (reason === credentialFault || (reason === null && state?.state !== "connected")) return;
    credentialFault = reason;
    events.emit("fault.changed", { ...CREDENTIAL, endpointId: needs.endpointId(), reason });
  }

  return {
    record,
    start,
    revoked,
    handOn: (request) => handOn(request),
    identity: () => identity ?? readIdentity(dataDir),
    tell: (beat) => void dialer?.say({ t: "beat", beat: JSON.stringify(beat) }),
    heardElsewhere: (id) => site?.peerHeard(id),
    isConnected: () => dialer?.state().state === "connected",
    report() {
      const state = identity && work.peek(() => get(LINK, "link"));
      const queue = state && siteQueue(store, state);
      return {
        hub: identity && (needs.way.address ?? identity.hub),
        mode: identity && dialer?.state().state === "connected" ? "cloud" : "solo",
        link: dialer?.state() ?? (identity && grounding.isOpen() ? PREPARING(clock.now()) : null),
        applied: state?.applied ?? null,
        queued: queue?.unsent ?? 0,
        parked: queue?.refused ?? 0,
        certificateUntil: identity?.facts.validTo ?? null,
      };
    },
    source() {
      if (!identity) return [];
      const grounds = isGroundingBroken ? "broken" : grounding.isOpen() ? "open" : "done";
      return linkFaults({ identity, state: dialer?.state() ?? null, grounding: grounds, now: clock.now() });
    },
    async enrol({ hub, code, mode, authority, found }) {
      requireHubUrl(hub);
      let enrolled: Enrolled | null = null;
      const endpoint = needs.endpointId();
      const present = work.peek(() => get(LINK, "link")) && readIdentity(dataDir);
      const way = { ...needs.way, clock, authority: authority ?? needs.way.authority, found };
      await enrol(dataDir, { hub, code, endpoint }, async (asked) => {
        enrolled = await askToEnrol(hub, asked, way);
        if (!present && mode === "adopt" && enrolled.mayAdopt === false)
          throw new ConflictError("The organisation has appliances already: join it, by another code.");
        if (!present || present.authority === enrolled.authority) return enrolled;
        throw new ConflictError("The appliance is linked to another cloud. Let it leave that one first.");
      });
      if (!enrolled) throw new BugError("an appliance was enrolled without an answer");
      await take(enrolled, mode, present !== null);
      return { endpoint };
    },
    async leave() {
      halt();
      [site, dialer, identity] = [null, null, null];
      handOn = async () => null;
      forgetIdentity(dataDir);
      await store.write((tx) => {
        forgetLink(tx);
        grounding.forget(tx);
      });
      events.emit("link.changed", { endpointId: needs.endpointId() });
    },
    cut: () => dialer?.cut(),
    stop: halt,
  };
}

/** The cloud is not called before the appliance knows what to say. */
const PREPARING = (since: number): LinkState => ({
  state: "waiting",
  since,
  connectedAt: null,
  reason: "The appliance's rows are being brought into the organisation.",
});
