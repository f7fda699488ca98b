import type { Log } from "../../lib/log.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import { type LocalIdentity, signChallenge } from "../../sync/identity/local-identity.ts";
import type { ControlRequest } from "../../sync/protocol/control-messages.ts";
import { listSecretMarks } from "../../sync/site/secret-marks.ts";
import type { RowBody } from "../../sync/storage/transaction-program.ts";
import type { NamedSecretTask } from "../secret-tasks.ts";
import { loadExchangeKeys } from "./exchange-key-file.ts";
import { exchangeKeyStatement, openSealedSecret } from "./sealed-secret.ts";
import { secretTarget } from "./secret-targets.ts";

export interface SecretReceiverDeps {
  dataDir: string;
  store: Store;
  log: Log;
  /** Actor of replicated writes. */
  by: ActorContext;
  endpointId(): string;
  identity(): LocalIdentity;
  tasks(): readonly NamedSecretTask[];
  /** Null without a link. */
  ask(request: ControlRequest & { kind: "secrets" }): Promise<RowBody | null>;
}

export interface SecretReceiver {
  /**
   * Shows the cloud the exchange key, and stores the secrets that it hands over for this appliance. Asks only a cloud that has
   * secrets of clusters; after the first time of a connection only while one is missing here.
   */
  fetch(): Promise<void>;
  /** The next `fetch` shows the key again. */
  connected(): void;
}

/** Takes secrets of clusters from the cloud. @source docs/decisions/0493-sealed-secrets.md */
export function createSecretReceiver(deps: SecretReceiverDeps): SecretReceiver {
  const { dataDir, store, log, by } = deps;
  let hasShownKey = false;
  let running: Promise<void> | null = null;

  async function fetchOnce(): Promise<void> {
    const marks = listSecretMarks(store, callmgrClusters.name);
    const isMissing = deps.tasks().some(({ type }) => type === callmgrClusters.name);
    if (marks.length === 0 || (hasShownKey && !isMissing)) return;
    const identity = deps.identity();
    const endpoint = deps.endpointId();
    const { publicKey, privateKey } = loadExchangeKeys(dataDir, identity.hub, endpoint);
    const proof = signChallenge(identity.key, exchangeKeyStatement(endpoint, publicKey));
    const given = await deps.ask({ kind: "secrets", publicKey, proof });
    if (!given) return;
    hasShownKey = true;
    const secrets = Array.isArray(given.secrets) ? (given.secrets as RowBody[]) : [];
    for (const { id, field, mark } of marks) {
      const found = secrets.find((each) => each.id === id && each.field === field);
      if (typeof found?.sealed === "string" && isWanted(id, field))
        await take(id, field, mark, found.sealed, privateKey);
    }
  }

  const isWanted = (id: string, field: string): boolean =>
    deps.tasks().some((task) => task.type === callmgrClusters.name && task.id === id && task.field === field);

  /** Opens with what this side knows of the row: a secret for another target, or an older one, does not open. */
  async function take(id: string, field: string, mark: string, sealed: string, privateKey: string): Promise<void> {
    const row = store.get(callmgrClusters, id) as Readonly<Record<string, unknown>> | null;
    const target = row && secretTarget(row, field);
    if (!target) return;
    const binding = { endpoint: deps.endpointId(), type: callmgrClusters.name, id, field, mark, target };
    const plain = openSealedSecret(sealed, privateKey, binding);
    if (plain === null) {
      log.warn(
        { event: "secret_hand_over.refused", callmgrClusterId: id, field },
        "a secret of the cloud does not fit",
      );
      return;
    }
    await store.write((tx) => {
      // The target may have changed since.
      const now = tx.get(callmgrClusters, id) as Readonly<Record<string, unknown>> | null;
      if (!now || JSON.stringify(secretTarget(now, field)) !== JSON.stringify(target)) return;
      tx.update(callmgrClusters, id, { [field]: plain }, { ...by, replicated: true });
    });
    log.info(
      { event: "secret_hand_over.stored", callmgrClusterId: id, field },
      "stored a secret that the cloud handed over",
    );
  }

  return {
    fetch() {
      running ??= fetchOnce()
        .catch((error: unknown) =>
          log.warn(
            { event: "secret_hand_over.failed", err: error },
            "failed to fetch secrets from the cloud; retrying later",
          ),
        )
        .finally(() => {
          running = null;
        });
      return running;
    },
    connected() {
      hasShownKey = false;
    },
  };
}
