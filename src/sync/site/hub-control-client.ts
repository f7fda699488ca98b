import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import type { IssuedIdentity } from "../identity/enrolment-service.ts";
import { type LocalIdentity, renewIdentityIfDue, signChallenge } from "../identity/local-identity.ts";
import type { RevokedKeys } from "../identity/revoked-keys.ts";
import type { ControlRequest, HubControlMessage, SiteControlMessage } from "../protocol/control-messages.ts";
import { buildChallenge } from "../protocol/key-challenge.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/** What the appliance needs to talk with its cloud. */
export interface HubControlClientDeps {
  dataDir: string;
  clock: Clock;
  log: Log;
  identity(): LocalIdentity;
  revoked: RevokedKeys;
  /** False when there is no link. */
  sendControl(talk: SiteControlMessage): boolean;
  /** A neighbour's beat came. */
  onHeartbeat(text: string): void;
  /** Others are trusted now, or not any more. */
  trustChanged(): void;
  /** The appliance has another certificate. */
  onRenewed(identity: LocalIdentity): void;
}

/** What an appliance and its cloud say to each other beside the feeds. */
export interface HubControlClient {
  handle(said: HubControlMessage, say: (talk: SiteControlMessage) => void): void;
  /**
   * Null when there is no link: nothing was asked. Rejects with UpstreamError in words: `upstream` when the cloud refused,
   * `outcome-unknown` when there is no answer in time.
   */
  request(question: ControlRequest, patienceMs?: number): Promise<RowBody | null>;
  /** Fetches the next certificate if it is time to. */
  renew(): Promise<void>;
  stop(): void;
}

/** own choice: people wait no longer */
const REQUEST_TIMEOUT_MS = 15_000;

/** Makes it. */
export function createHubControlClient(needs: HubControlClientDeps): HubControlClient {
  const { clock, log, identity } = needs;
  const open = new Map<string, { answer(talk: HubControlMessage & { t: "answer" }): void; timer: Timer }>();
  let isRenewing = false;

  function request(of: ControlRequest, patienceMs = REQUEST_TIMEOUT_MS): Promise<RowBody | null> {
    const ref = newId();
    return new Promise((resolve, reject) => {
      const over = (): void => {
        timer.cancel();
        open.delete(ref);
      };
      const timer = clock.after(
        patienceMs,
        () => {
          over();
          reject(new UpstreamError("outcome-unknown", "The cloud did not answer; whether it did that is not known."));
        },
        { background: true },
      );
      const answer = ({ given, refused }: HubControlMessage & { t: "answer" }): void => {
        over();
        if (given) resolve(given);
        else reject(new UpstreamError("upstream", refused ?? "The cloud refused."));
      };
      open.set(ref, { answer, timer });
      if (needs.sendControl({ t: "ask", ref, of })) return;
      over();
      resolve(null);
    });
  }

  async function renew(): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    try {
      const fetched = await renewIdentityIfDue(
        needs.dataDir,
        identity(),
        clock.now(),
        async ({ request: certificateRequest }) => {
          const given = await request({ kind: "renew", request: certificateRequest });
          if (!given) throw new UpstreamError("upstream", "There is no link to the cloud.");
          return given as unknown as IssuedIdentity;
        },
      );
      if (!fetched) return;
      log.info({ until: fetched.facts.validTo }, "the certificate for the link was renewed");
      needs.onRenewed(fetched);
    } catch (error) {
      // It is tried again long before the certificate ends; then it is told.
      log.warn({ err: error }, "the certificate for the link was not renewed");
    } finally {
      isRenewing = false;
    }
  }

  function updateRevokedKeys(keys: readonly string[]): void {
    try {
      if (needs.revoked.update(keys)) needs.trustChanged();
    } catch (error) {
      log.error({ err: error }, "the list of keys that are not good any more was not kept");
    }
  }

  return {
    request,
    renew,
    handle(said, say) {
      switch (said.t) {
        case "challenge": {
          const { key, facts } = identity();
          return say({ t: "proof", proof: signChallenge(key, buildChallenge(facts.endpoint, said.nonce)) });
        }
        case "revoked":
          return updateRevokedKeys(said.keys);
        case "beat":
          return needs.onHeartbeat(said.beat);
        case "answer":
          return open.get(said.ref)?.answer(said);
      }
    },
    stop() {
      for (const { timer } of open.values()) timer.cancel();
      open.clear();
    },
  };
}
