import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
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
import type { By, Recorder, Store } from "../../store/store.ts";
import { createBlobFolder } from "../blobs.ts";
import { bodyOf, travels } from "../bodies.ts";
import { type CoverGroups, createCoverGroups } from "../failover/cover-groups.ts";
import { LIMITS } from "../frames.ts";
import { createHub, type Hub } from "../hub/hub.ts";
import { head, publishWritten } from "../hub/publish.ts";
import { CONFLICTS, type Conflict, ROWS } from "../hub/tables.ts";
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
import { get, scan } from "../work.ts";
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
}

/** The cloud's end of all links. */
export interface HubLink {
  start(): Promise<void>;
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
  stop(): void;
}

/** Rows that are looked at in one transaction. own choice */
const AT_ONCE = 50;
const MOST_CONFLICTS = 1_000;

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
  const orders = createOrderSender({
    ...{ store, work, clock, events, by, hub, endpointId: needs.endpointId, onFault },
    offered: () => offeredUpgrade(store),
  });
  let enrolment: HubEnrolment | null = null;
  let acceptor: Acceptor | null = null;
  let groups: CoverGroups | null = null;
  let presences: PresenceBook | null = null;
  let unsubscribe = (): void => undefined;

  function record(endpointId: string, what: "takeover" | "doubled", notificationId: string, message: string): void {
    log.warn({ endpointId, notificationId, what }, message);
    const severity = what === "doubled" ? "warn" : "info";
    const at = { extensionId: ONPREM_EXTENSION_ID, endpointId, type: "log-message", severity } as const;
    store
      .write((tx) => void tx.create(endpointActivities, { ...at, value: { what, notificationId, message } }, by))
      .catch(onFault);
  }

  /** What was written while nothing recorded it, such as the first data, enters the feed. */
  async function catchUp(): Promise<void> {
    const kinds = [...types.fromCloud].sort((a, b) => types.rankOf(a) - types.rankOf(b));
    for (const type of kinds) {
      const resource = catalogue.byName(type);
      for (let after = 0; after !== -1; ) {
        after = await store.write((tx) => {
          const rows = tx.all<{ pk: number; id: string }>(
            `SELECT pk, id FROM ${tableOf(resource)} WHERE pk > ? ORDER BY pk LIMIT ${AT_ONCE}`,
            after,
          );
          for (const { id } of rows) enterIfOther(type, id, tx);
          return rows.at(-1)?.pk ?? -1;
        });
      }
    }
  }

  function enterIfOther(type: string, id: string, tx: Parameters<Parameters<Store["write"]>[0]>[0]): void {
    const resource = catalogue.byName(type);
    const row = tx.get(resource, id) as Readonly<Record<string, unknown>> | null;
    if (!row || !travels(resource, row)) return;
    const body = bodyOf(resource, row);
    const known = work.within(tx, get(ROWS, type, id));
    if (known && known.gone === 0 && JSON.stringify(known.body) === JSON.stringify(body)) return;
    work.within(tx, publishWritten([{ type, id, body, scope: null, at: clock.now() }], types));
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
    beside: carrier.beside,
    conflicts: () => work.peek(() => scan(CONFLICTS, { limit: MOST_CONFLICTS })),
    async start() {
      await hub.start();
      recording.recorder = createHubRecorder({ work, clock, types });
      await catchUp();
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
      const connected = (): string[] => acceptor?.connected() ?? [];
      presences = createPresenceBook({ store: work, clock, connected, onFault });
    },
    accept: (request, socket, head) => (acceptor ? acceptor.accept(request, socket, head) : void socket.destroy()),
    offer(endpoint) {
      return (enrolment as HubEnrolment).offer(endpoint);
    },
    codes: () => work.peek(() => openCodes(clock.now())),
    withdraw: (codeId) => work.transact(() => withdrawCode(codeId, clock.now())),
    revoke,
    connected: () => acceptor?.connected() ?? [],
    stop() {
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
