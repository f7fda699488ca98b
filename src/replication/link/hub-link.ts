import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type Clock, nextTurn, type Timer } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { Events } from "../../base/events.ts";
import { newId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { Broadcaster } from "../../broadcast/broadcaster.ts";
import type { Providers } from "../../broadcast/providers.ts";
import { prepareAuthority } from "../../operations/certificates.ts";
import { offeredUpgrade } from "../../operations/ordered-upgrade.ts";
import endpointActivities from "../../resources/devices/endpoint-activities.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import { type Catalogue, tableOf } from "../../schema/catalogue.ts";
import type { SharedLog } from "../../store/shared-log.ts";
import type { By, Reader, Recorder, Store, Transaction } from "../../store/store.ts";
import { createBlobFolder } from "../blobs.ts";
import { bodyOf, travels } from "../bodies.ts";
import { type CoverGroups, createCoverGroups } from "../failover/cover-groups.ts";
import { LIMITS } from "../frames.ts";
import { createHub, type Hub } from "../hub/hub.ts";
import { head, publishWritten } from "../hub/publish.ts";
import { CONFLICTS, type Conflict, LINKS, ROWS } from "../hub/tables.ts";
import {
  confirmIdentity,
  type OpenCode,
  openCodes,
  revokedKeys,
  revokeIdentities,
  whoHolds,
  whoShows,
  withdrawCode,
} from "../identity/enrolment.ts";
import { createHubEnrolment, type HubEnrolment } from "../identity/hub-enrolment.ts";
import { createSqliteWork } from "../sqlite-work.ts";
import { createUpgradeWaves, type UpgradeWaves } from "../upgrades/upgrade-waves.ts";
import { type Body, get, scan } from "../work.ts";
import { type Acceptor, createAcceptor } from "./acceptor.ts";
import { createHubRecorder } from "./capture.ts";
import { type CarrierNeeds, createCarrier } from "./carrier.ts";
import { groundOf } from "./ground.ts";
import { createHubTalk, type HubTalkNeeds } from "./hub-talk.ts";
import { createOrderSender } from "./order-sender.ts";
import { createPresenceBook, type PresenceBook } from "./presence.ts";
import { productTypes } from "./product-types.ts";

/** What the cloud's end of all links needs. */
export interface HubLinkNeeds {
  dataDir: string;
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  by: By;
  recording: { recorder: Recorder | null };
  endpointId(): string;
  broadcaster(): Pick<Broadcaster, "takeOutcomes">;
  /** Appliances that may activate devices. Called once all runs. */
  candidates: CarrierNeeds["candidates"];
  /** Carries out a request of the API that an appliance hands on. Throws CallerError. */
  request: HubTalkNeeds["request"];
  /** Where the rows lie, if not here alone. */
  shared?: Pick<SharedLog, "isHeard">;
}

/** The cloud's end of all links. */
export interface HubLink {
  start(): Promise<void>;
  /** Throws what the API would answer: CallerError, UpstreamError (`starting`). */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A code by which one appliance may be enrolled; epoch ms. */
  offer(endpoint: string | null): Promise<{ code: string; until: number }>;
  /** Codes that can still be used. */
  codes(): OpenCode[];
  /** Takes a code back; false where there is none. */
  withdraw(codeId: string): Promise<boolean>;
  /** Takes an appliance's keys away and ends its link: it must be enrolled anew. */
  revoke(endpoint: string): Promise<void>;
  /** Ids of the appliances whose link stands. */
  connected(): string[];
  /** All channels of the cloud: the given ones, and that to appliances. */
  beside(providers: Providers): Providers;
  /** Edits of appliances that lost against the cloud, newest last; at most 1,000. */
  conflicts(): Conflict[];
  readonly hub: Hub;
  /** Upgrades of many appliances. */
  readonly upgrades: UpgradeWaves;
  stop(): void;
}

/** Rows that are looked at in one transaction. own choice */
const AT_ONCE = 50;
const MOST_CONFLICTS = 1_000;
const LOOK_EVERY_MS = 1_000;

/** Makes it. */
export function createHubLink(needs: HubLinkNeeds): HubLink {
  const { dataDir, store, catalogue, clock, events, log, by, recording } = needs;
  const types = productTypes(catalogue);
  const work = createSqliteWork(store, catalogue, by);
  const onFault = (error: unknown): void => log.error({ err: error }, "a link failed");
  const hub = createHub({
    ...{ store: work, clock, types, limits: LIMITS, newId, onFault },
    blobs: createBlobFolder(join(dataDir, "files")),
    isInGroup: (endpoint, group) =>
      groups?.all().some(({ id, members }) => id === group && members.includes(endpoint)) === true,
    onOutcome: (endpoint, cid, told) => carrier.told(endpoint, cid, told),
    onBadPeer: (endpoint, reason) => log.warn({ endpoint, reason }, "an appliance sent what it should not"),
  });
  const carrier = createCarrier({
    ...{ store, work, clock, types, hub, onFault, candidates: needs.candidates },
    isLinked: (endpoint) => acceptor?.connected().includes(endpoint) === true,
    record,
    takeOutcomes: (outcomes) => needs.broadcaster().takeOutcomes(outcomes),
  });
  const offered = () => offeredUpgrade(store);
  const connected = (): string[] => acceptor?.connected() ?? [];
  const common = { store, clock, events, by, endpointId: needs.endpointId, offered, onFault };
  const orders = createOrderSender({ ...common, work, hub });
  const upgrades = createUpgradeWaves({ ...common, connected });
  let enrolment: HubEnrolment | null = null;
  let acceptor: Acceptor | null = null;
  let groups: CoverGroups | null = null;
  let presences: PresenceBook | null = null;
  let unsubscribe = (): void => undefined;
  let watching: Timer | null = null;
  let isStopped = false;
  /** Whoever does not reach the rows can take nothing, and another node may act by now, which appliances are to find. */
  const isHeard = (): boolean => needs.shared?.isHeard() ?? true;

  function record(endpointId: string, what: "takeover" | "doubled", notificationId: string, message: string): void {
    log.warn({ endpointId, notificationId, what }, message);
    const severity = what === "doubled" ? "warn" : "info";
    const at = { extensionId: ONPREM_EXTENSION_ID, endpointId, type: "log-message", severity } as const;
    store
      .write((tx) => void tx.create(endpointActivities, { ...at, value: { what, notificationId, message } }, by))
      .catch(onFault);
  }

  /**
   * What was written while nothing recorded it, such as the first data, enters the feed. All rows are looked at, so only
   * those that differ take a turn to write.
   */
  async function catchUp(): Promise<void> {
    const kinds = [...types.fromCloud].sort((a, b) => types.rankOf(a) - types.rankOf(b));
    for (const type of kinds) {
      const sql = `SELECT pk, id FROM ${tableOf(catalogue.byName(type))} WHERE pk > ? ORDER BY pk LIMIT ${AT_ONCE}`;
      for (let after = 0; !isStopped; ) {
        await store.settled();
        const rows = store.all<{ pk: number; id: string }>(sql, after);
        const others = rows.filter(({ id }) => unrecorded(type, id, store) !== null);
        if (others.length > 0) {
          await store.write((tx) => others.forEach(({ id }) => void enterIfOther(type, id, tx)));
          hub.wake();
        }
        const last = rows.at(-1);
        if (!last) break;
        after = last.pk;
        await nextTurn(clock);
      }
    }
  }

  /** What the feed does not have of a row as it is; null for nothing. */
  function unrecorded(type: string, id: string, reader: Reader): Body | null {
    const resource = catalogue.byName(type);
    const row = reader.get(resource, id) as Readonly<Record<string, unknown>> | null;
    if (!row || !travels(resource, row)) return null;
    const body = bodyOf(resource, row);
    const known = work.peek(() => get(ROWS, type, id));
    return known?.gone === 0 && JSON.stringify(known.body) === JSON.stringify(body) ? null : body;
  }

  function enterIfOther(type: string, id: string, tx: Transaction): void {
    const body = unrecorded(type, id, tx);
    if (body) work.within(tx, publishWritten([{ type, id, body, scope: null, at: clock.now() }], types));
  }

  const feedHead = async (): Promise<number> => (await work.transact(head)).seq;
  const say: Acceptor["say"] = (endpoint, talk) => acceptor?.say(endpoint, talk);

  /** An appliance's newest key is at work: those before it are not good any more. */
  async function settleKeys(endpoint: string, keyHash: string): Promise<void> {
    const isNewer = await work.transact(() => confirmIdentity(keyHash, clock.now()));
    await tellRevoked(isNewer ? (acceptor?.connected() ?? []) : [endpoint]);
  }

  /** Appliances meet on their local networks, where the cloud can't refuse anybody. */
  async function tellRevoked(endpoints: readonly string[]): Promise<void> {
    const keys = await work.transact(() => revokedKeys(clock.now()));
    for (const endpoint of endpoints) say(endpoint, { t: "revoked", keys });
  }

  async function revoke(endpoint: string): Promise<void> {
    if (!(await work.transact(() => revokeIdentities(endpoint, clock.now())))) return;
    acceptor?.cut(endpoint);
    await tellRevoked(acceptor?.connected() ?? []);
  }

  return {
    hub,
    upgrades,
    beside: carrier.beside,
    conflicts: () => work.peek(() => scan(CONFLICTS, { limit: MOST_CONFLICTS })),
    async start() {
      await hub.start();
      recording.recorder = createHubRecorder({ work, clock, types });
      // Where an appliance was linked before, the feed was whole then: what it lacks now comes like any other change.
      const wasWhole = (await work.read(() => scan(LINKS, { limit: 1 }))).length > 0;
      if (!wasWhole) await catchUp();
      const authority = await prepareAuthority(dataDir, clock.now());
      const desk = createHubEnrolment({ store: work, authority, now: clock.now });
      enrolment = desk;
      const stopWaking = events.on("replication.recorded", hub.wake);
      const stopSending = orders.follow();
      const known = createCoverGroups({ reader: store, events, ownId: null });
      groups = known;
      const stopRevoking = events.on("row.changed", ({ resource, id, op }) => {
        if (resource === endpoints.name && op === "delete") revoke(id).catch(onFault);
      });
      unsubscribe = () => {
        for (const stop of [stopWaking, stopSending, stopRevoking, known.stop]) stop();
      };
      const answer = createHubTalk({
        groups: known,
        enrolment: desk,
        say,
        head: feedHead,
        request: needs.request,
        onFault,
      });
      acceptor = createAcceptor({
        ...{ clock, log },
        hub,
        async desk(asked) {
          const answer = await desk.enrol(asked);
          // Whoever holds one of its keys of before is not this appliance any more.
          acceptor?.cut(asked.endpoint);
          await tellRevoked(acceptor?.connected() ?? []);
          return { ...answer, ground: groundOf(store) };
        },
        identify: (shown) =>
          work.transact(() =>
            "token" in shown ? whoHolds(shown.token, clock.now()) : whoShows(shown.keyHash, clock.now()),
          ),
        talk(by, said) {
          if (said.t === "status") presences?.told(by.endpoint, said);
          else answer(by, said);
        },
        changed(endpoint, linked) {
          if (!linked) return presences?.went(endpoint);
          presences?.came(endpoint, versionOf(linked.software));
          settleKeys(endpoint, linked.keyHash).catch(onFault);
        },
      });
      presences = createPresenceBook({ store: work, clock, connected, onFault });
      upgrades.start();
      watching = clock.every(LOOK_EVERY_MS, () => {
        if (!isHeard()) acceptor?.endAll();
      });
      if (wasWhole) catchUp().catch((error: unknown) => isStopped || onFault(error));
    },
    accept(request, socket, head) {
      // Whoever hears that comes again in a second; one that is cut off waits for longer each time.
      if (!acceptor || !isHeard()) throw new UpstreamError("starting", "The cloud is starting.");
      acceptor.accept(request, socket, head);
    },
    offer(endpoint) {
      return (enrolment as HubEnrolment).offer(endpoint);
    },
    codes: () => work.peek(() => openCodes(clock.now())),
    withdraw: (codeId) => work.transact(() => withdrawCode(codeId, clock.now())),
    revoke,
    connected,
    stop() {
      isStopped = true;
      watching?.cancel();
      upgrades.stop();
      recording.recorder = null;
      unsubscribe();
      acceptor?.stop();
      presences?.stop();
      hub.stop();
    },
  };
}

/** Of `carillon/1.2.3`. */
function versionOf(software: string | null): string | null {
  return /^carillon\/(\S{1,40})$/.exec(software ?? "")?.[1] ?? null;
}
