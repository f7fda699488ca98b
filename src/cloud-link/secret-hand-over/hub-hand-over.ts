import type { Clock } from "../../lib/clock.ts";
import { ConflictError, forbidden, invalidValue, notFound } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../resources/callmgr/callmgr-onprem-servers.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import { findIdentityByKey } from "../../sync/identity/enrolment-records.ts";
import { verifyChallenge } from "../../sync/identity/local-identity.ts";
import type { ControlRequest } from "../../sync/protocol/control-messages.ts";
import { secretMark } from "../../sync/protocol/secret-marks.ts";
import type { SqliteProgramRunner } from "../../sync/storage/sqlite-program-runner.ts";
import {
  type Collection,
  defineCollection,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../../sync/storage/transaction-program.ts";
import { exchangeKeyFingerprint, exchangeKeyStatement, sealForAppliance } from "./sealed-secret.ts";
import { secretTarget, storedClusterSecrets } from "./secret-targets.ts";

/** The exchange key that an appliance has shown last, signed with the key of its certificate. */
interface ExchangeKeyRecord {
  endpoint: string;
  publicKey: string;
  since: number;
}

const EXCHANGE_KEYS: Collection<ExchangeKeyRecord> = defineCollection<ExchangeKeyRecord>(
  "hub_exchange_key",
  ["endpoint"],
  {
    endpoint: "text",
    publicKey: "text",
    since: "integer",
  },
);

/** Consent of an administrator: the secrets of one cluster may go to one key of one appliance. */
interface ConsentRecord {
  cluster: string;
  endpoint: string;
  publicKey: string;
  at: number;
  /** When secrets were handed over last, and which ones: fields with their marks. */
  sentAt: number | null;
  sent: string | null;
}

const CONSENTS: Collection<ConsentRecord> = defineCollection<ConsentRecord>(
  "hub_secret_consent",
  ["cluster", "endpoint"],
  { cluster: "text", endpoint: "text", publicKey: "text", at: "integer", sentAt: "integer", sent: "text" },
  { endpoint: ["endpoint"] },
);

/** Tables of the hand-over at the cloud. */
export const HAND_OVER_COLLECTIONS = [EXCHANGE_KEYS, CONSENTS] as unknown as Collection<never>[];

/** An appliance that serves a cluster, as far as secrets go. Times are epoch ms. */
export interface HandOverAppliance {
  endpointId: string;
  name: string | null;
  /** Fingerprint of its key; null if it has shown none yet. */
  fingerprint: string | null;
  /** `stale`: the consent was for an earlier key, so that nothing is handed over. */
  consent: "none" | "given" | "stale";
  consentedAt: number | null;
  handedOverAt: number | null;
}

/** Appliances that get the secrets of a cluster, and the fingerprints that the administrator has seen. */
export interface SecretConsentInput {
  endpointIds: readonly string[];
  /** Null or absent: not compared. */
  fingerprints?: readonly string[] | null;
}

export interface SecretHandOver {
  /** Appliances that serve a cluster. Throws not-found. */
  appliances(clusterId: string): HandOverAppliance[];
  /** Consents to exactly these appliances, with the keys that they have now. Throws CallerError. */
  setConsent(clusterId: string, given: SecretConsentInput, by: ActorContext): Promise<void>;
  /** Answers an appliance: pins its key, and seals what was consented to. Throws CallerError. */
  handOver(endpoint: string, keyHash: string, asked: ControlRequest & { kind: "secrets" }): Promise<RowBody>;
  /** Forgets key and consents of a revoked appliance. */
  forget(endpoint: string): TransactionProgram<void>;
}

export interface SecretHandOverDeps {
  store: Store;
  runner: SqliteProgramRunner;
  clock: Clock;
  log: Log;
  /** Actor of audit entries. */
  by: ActorContext;
}

/** Hands secrets of clusters to appliances, sealed for each. @source docs/decisions/0493-sealed-secrets.md */
export function createSecretHandOver({ store, runner, clock, log, by }: SecretHandOverDeps): SecretHandOver {
  const servers = (clusterId: string): string[] => [
    ...new Set(store.find(callmgrOnpremServers, { cucmClusterId: clusterId }).map(({ endpointId }) => endpointId)),
  ];

  function audit(clusterId: string, change: string, who: ActorContext, write: () => TransactionProgram<void>) {
    return store.write((tx) => {
      runner.runWithin(tx, write());
      const entry = {
        op: "trust-change",
        resource: callmgrClusters.name,
        rowId: clusterId,
        details: { change },
      } as const;
      tx.addAuditEvent(entry, who);
    });
  }

  function appliances(clusterId: string): HandOverAppliance[] {
    if (!store.get(callmgrClusters, clusterId)) throw notFound();
    return servers(clusterId).map((endpointId) => {
      const key = runner.readSync(() => getRecord(EXCHANGE_KEYS, endpointId));
      const consent = runner.readSync(() => getRecord(CONSENTS, clusterId, endpointId));
      return {
        endpointId,
        name: store.get(endpoints, endpointId)?.name ?? null,
        fingerprint: key && exchangeKeyFingerprint(key.publicKey),
        consent: !consent ? "none" : consent.publicKey === key?.publicKey ? "given" : "stale",
        consentedAt: consent?.at ?? null,
        handedOverAt: consent?.sentAt ?? null,
      };
    });
  }

  /** Pins the key to the appliance; a new one ends what was consented to for the old one. */
  async function pin(endpoint: string, publicKey: string): Promise<void> {
    const known = runner.readSync(() => getRecord(EXCHANGE_KEYS, endpoint));
    if (known?.publicKey === publicKey) return;
    if (known)
      log.warn({ event: "secret_hand_over.key_changed", endpoint }, "the exchange key of an appliance changed");
    await runner.transact(() => putRecord(EXCHANGE_KEYS, { endpoint, publicKey, since: clock.now() }));
  }

  function sealCluster({ cluster, endpoint, publicKey }: ConsentRecord): RowBody[] {
    const row = store.get(callmgrClusters, cluster) as Readonly<Record<string, unknown>> | null;
    if (!row || !servers(cluster).includes(endpoint)) return [];
    return storedClusterSecrets(row).flatMap(([field, stored]) => {
      const target = secretTarget(row, field);
      if (!target) return [];
      const about = { type: callmgrClusters.name, id: cluster, field, mark: secretMark(stored) };
      const sealed = sealForAppliance(store.secrets.open(stored), publicKey, { ...about, endpoint, target });
      return [{ ...about, sealed }];
    });
  }

  async function recordHandOver(consent: ConsentRecord, sealed: readonly RowBody[]): Promise<void> {
    const sent = JSON.stringify(sealed.map(({ field, mark }) => [field, mark]));
    if (sent === consent.sent) return;
    const { cluster, endpoint } = consent;
    const fields = sealed.map(({ field }) => field).join(", ");
    const name = store.get(endpoints, endpoint)?.name ?? endpoint;
    await audit(cluster, sentence("audit.secrets-handed", { fields, name }), by, function* () {
      const current = yield* getRecord(CONSENTS, cluster, endpoint);
      if (current) yield* putRecord(CONSENTS, { ...current, sentAt: clock.now(), sent });
    });
  }

  return {
    appliances,
    async setConsent(clusterId, { endpointIds, fingerprints }, who) {
      const known = appliances(clusterId);
      const chosen = new Set(endpointIds);
      for (const id of chosen) {
        const appliance = known.find(({ endpointId }) => endpointId === id);
        if (!appliance) throw invalidValue("endpointIds", sentence("field.must-be-appliances-that-serve-the-cluster"));
        if (appliance.fingerprint === null)
          throw invalidValue("endpointIds", sentence("field.must-be-appliances-that-have-shown-their-key"));
        if (fingerprints && !fingerprints.includes(appliance.fingerprint))
          throw new ConflictError(sentence("error.an-appliance-has-another-key-by-now"));
      }
      const names = known.flatMap(({ endpointId, name }) => (chosen.has(endpointId) ? [name ?? endpointId] : []));
      const change =
        names.length === 0
          ? sentence("audit.secrets-for-no-appliance")
          : sentence("audit.secrets-for-appliances", { names: names.join(", ") });
      await audit(clusterId, change, who, function* () {
        for (const { endpoint } of yield* scanRecords(CONSENTS, { where: [clusterId] }))
          if (!chosen.has(endpoint)) yield* deleteRecord(CONSENTS, clusterId, endpoint);
        for (const endpoint of chosen) {
          const before = yield* getRecord(CONSENTS, clusterId, endpoint);
          const { publicKey } = (yield* getRecord(EXCHANGE_KEYS, endpoint)) as ExchangeKeyRecord;
          if (before?.publicKey === publicKey) continue;
          yield* putRecord(CONSENTS, {
            ...{ cluster: clusterId, endpoint, publicKey, at: clock.now(), sentAt: null, sent: null },
          });
        }
      });
    },
    async handOver(endpoint, keyHash, { publicKey, proof }) {
      const identity = await runner.transact(() => findIdentityByKey(keyHash, clock.now()));
      const isOwn =
        identity?.endpoint === endpoint &&
        verifyChallenge(identity.publicKey, exchangeKeyStatement(endpoint, publicKey), proof);
      if (!isOwn) throw forbidden();
      await pin(endpoint, publicKey);
      const consents = runner.readSync(() => scanRecords(CONSENTS, { by: "endpoint", where: [endpoint] }));
      const secrets: RowBody[] = [];
      for (const consent of consents) {
        if (consent.publicKey !== publicKey) continue;
        const sealed = sealCluster(consent);
        if (sealed.length === 0) continue;
        await recordHandOver(consent, sealed);
        secrets.push(...sealed);
      }
      return { secrets };
    },
    *forget(endpoint) {
      yield* deleteRecord(EXCHANGE_KEYS, endpoint);
      for (const { cluster } of yield* scanRecords(CONSENTS, { by: "endpoint", where: [endpoint] }))
        yield* deleteRecord(CONSENTS, cluster, endpoint);
    },
  };
}
