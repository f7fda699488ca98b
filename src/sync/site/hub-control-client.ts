import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { SignedAuditNote } from "../../store/audit-types.ts";
import type { IssuedIdentity } from "../identity/enrolment-service.ts";
import { type LocalIdentity, renewIdentityIfDue, signChallenge } from "../identity/local-identity.ts";
import type { RevokedKeys } from "../identity/revoked-keys.ts";
import type { ControlRequest, HubControlMessage, SiteControlMessage } from "../protocol/control-messages.ts";
import { buildChallenge } from "../protocol/key-challenge.ts";
import type { RowBody } from "../storage/transaction-program.ts";

export interface HubControlClientDeps {
  dataDir: string;
  clock: Clock;
  log: Log;
  identity(): LocalIdentity;
  revoked: RevokedKeys;
  /** False if there is no link. */
  sendControl(message: SiteControlMessage): boolean;
  /** Called with a relayed peer heartbeat. */
  onHeartbeat(text: string): void;
  /** Ends of the own audit that the cloud kept. */
  onAuditEnds?(notes: readonly SignedAuditNote[]): void;
  /** The revocation list has changed. */
  trustChanged(): void;
  /** The certificate was renewed. */
  onRenewed(identity: LocalIdentity): void;
}

/** The appliance's side of the control messages. */
export interface HubControlClient {
  handle(message: HubControlMessage, say: (message: SiteControlMessage) => void): void;
  /**
   * Sends a request; null if there is no link and nothing was sent. Rejects with UpstreamError: `upstream` if the cloud
   * refused, `outcome-unknown` if it did not respond in time.
   */
  request(request: ControlRequest, timeoutMs?: number): Promise<RowBody | null>;
  /** Renews the certificate if that is due. */
  renew(): Promise<void>;
  /** The connection is closed: responses to open requests are lost. */
  disconnected(): void;
  stop(): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const REQUEST_TIMEOUT_MS = 15_000;

export function createHubControlClient(deps: HubControlClientDeps): HubControlClient {
  const { clock, log, identity } = deps;
  interface OpenRequest {
    answer(message: HubControlMessage & { t: "answer" }): void;
    fail(message: string): void;
    timer: Timer;
  }
  const open = new Map<string, OpenRequest>();
  let isRenewing = false;

  function request(of: ControlRequest, timeoutMs = REQUEST_TIMEOUT_MS): Promise<RowBody | null> {
    const ref = newId();
    return new Promise((resolve, reject) => {
      const over = (): void => {
        timer.cancel();
        open.delete(ref);
      };
      const fail = (message: string): void => {
        over();
        reject(new UpstreamError("outcome-unknown", message));
      };
      const timer = clock.after(
        timeoutMs,
        () =>
          fail(
            sentence("error.the-cloud-did-not-respond-within-seconds-s-the-outcome-is-unknown", {
              seconds: timeoutMs / 1_000,
            }),
          ),
        { background: true },
      );
      const answer = ({ given, refused }: HubControlMessage & { t: "answer" }): void => {
        over();
        if (given) resolve(given);
        else reject(new UpstreamError("upstream", refused ?? sentence("error.the-cloud-refused-the-request")));
      };
      open.set(ref, { answer, fail, timer });
      if (deps.sendControl({ t: "ask", ref, of })) return;
      over();
      resolve(null);
    });
  }

  async function renew(): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    try {
      const fetched = await renewIdentityIfDue(
        deps.dataDir,
        identity(),
        clock.now(),
        async ({ request: certificateRequest }) => {
          const given = await request({ kind: "renew", request: certificateRequest });
          if (!given) throw new UpstreamError("upstream", sentence("health.link-down"));
          return given as unknown as IssuedIdentity;
        },
      );
      if (!fetched) return;
      log.info({ event: "link_certificate.renewed", until: fetched.facts.validTo }, "link certificate renewed");
      deps.onRenewed(fetched);
    } catch (error) {
      // It is retried long before the certificate expires; near the end an alarm is raised.
      log.warn(
        { event: "link_certificate.renewal_failed", err: error },
        "failed to renew the link certificate; retrying later",
      );
    } finally {
      isRenewing = false;
    }
  }

  function updateRevokedKeys(keys: readonly string[]): void {
    try {
      if (deps.revoked.update(keys)) deps.trustChanged();
    } catch (error) {
      log.error({ event: "revoked_keys.save_failed", err: error }, "failed to save the revocation list");
    }
  }

  return {
    request,
    renew,
    disconnected() {
      for (const { fail } of [...open.values()])
        fail(sentence("error.the-link-to-the-cloud-closed-before-the-cloud-responded-the-outcome-is-unknown"));
    },
    handle(message, say) {
      switch (message.t) {
        case "challenge": {
          const { key, facts } = identity();
          return say({ t: "proof", proof: signChallenge(key, buildChallenge(facts.endpoint, message.nonce)) });
        }
        case "revoked":
          return updateRevokedKeys(message.keys);
        case "beat":
          return deps.onHeartbeat(message.beat);
        case "audit-ends":
          return deps.onAuditEnds?.(message.notes);
        case "answer":
          return open.get(message.ref)?.answer(message);
      }
    },
    stop() {
      for (const { timer } of open.values()) timer.cancel();
      open.clear();
    },
  };
}
