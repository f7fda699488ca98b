import type { FailoverGroups } from "../failover/failover-groups.ts";
import { parseHeartbeat } from "../failover/heartbeat.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { EnrolmentService } from "../sync/identity/enrolment-service.ts";
import type { ControlRequest, HubControlMessage, SiteControlMessage } from "../sync/protocol/control-messages.ts";
import type { RowBody } from "../sync/storage/transaction-program.ts";
import type { LinkedSite } from "../sync/transport/acceptor.ts";

export interface HubControlHandlerDeps {
  groups: Pick<FailoverGroups, "all">;
  enrolment: Pick<EnrolmentService, "renew">;
  /** Sends a control message if the appliance is connected. */
  sendControl(endpoint: string, message: HubControlMessage): void;
  /** Head of the feed. */
  head(): Promise<number>;
  /** Runs an API request on behalf of a user. Throws CallerError. */
  request(endpoint: string, asked: ControlRequest & { kind: "request" }): Promise<RowBody>;
  /** Verifies a password; returns a `proof`. Throws CallerError. */
  logIn(endpoint: string, asked: ControlRequest & { kind: "log-in" }): Promise<RowBody>;
  /** What the cloud has of a type, for an appliance to compare. */
  inventory(endpoint: string, asked: ControlRequest & { kind: "inventory" }): Promise<RowBody>;
  /** Seals secrets for an appliance. Throws CallerError. */
  handOver(endpoint: string, keyHash: string, asked: ControlRequest & { kind: "secrets" }): Promise<RowBody>;
  onFault(error: unknown): void;
}

/** Concurrent requests per connection; more are refused. @source docs/decisions/0300-sync-limits.md */
const MAX_OPEN_REQUESTS = 32;

/** Handles control messages of appliances: answers requests and relays heartbeats to peers. */
export function createHubControlHandler({
  groups,
  enrolment,
  sendControl,
  request,
  logIn,
  head,
  inventory,
  handOver,
  onFault,
}: HubControlHandlerDeps) {
  const open = new WeakMap<LinkedSite, number>();

  async function handleRequest({ endpoint, keyHash }: LinkedSite, of: ControlRequest): Promise<RowBody> {
    if (of.kind === "request") {
      const answer = await request(endpoint, of);
      // The request is done, even if the head cannot be read.
      const at = await head().catch((error: unknown) => {
        onFault(error);
        return 0;
      });
      return { ...answer, head: at };
    }
    if (of.kind === "inventory") return inventory(endpoint, of);
    if (of.kind === "log-in") return logIn(endpoint, of);
    if (of.kind === "secrets") return handOver(endpoint, keyHash, of);
    return { ...(await enrolment.renew(endpoint, keyHash, of.request)) };
  }

  function relayHeartbeat(by: string, text: string): void {
    // An appliance may send only its own heartbeats.
    if (parseHeartbeat(text)?.endpoint !== by) return;
    const peers = groups.all().flatMap(({ members }) => (members.includes(by) ? members : []));
    for (const peer of new Set(peers)) if (peer !== by) sendControl(peer, { t: "beat", beat: text });
  }

  return (by: LinkedSite, message: SiteControlMessage): void => {
    if (message.t === "beat") relayHeartbeat(by.endpoint, message.beat);
    if (message.t !== "ask") return;
    const asked = open.get(by) ?? 0;
    if (asked >= MAX_OPEN_REQUESTS) {
      by.sendControl({ t: "answer", ref: message.ref, refused: sentence("error.too-many-concurrent-requests") });
      return;
    }
    open.set(by, asked + 1);
    handleRequest(by, message.of)
      .then(
        (given) => by.sendControl({ t: "answer", ref: message.ref, given }),
        (error: unknown) => {
          if (!(error instanceof CallerError)) onFault(error);
          const refused =
            error instanceof CallerError
              ? error.message
              : sentence("error.the-request-failed-in-the-cloud-the-outcome-is-unknown");
          by.sendControl({ t: "answer", ref: message.ref, refused });
        },
      )
      .finally(() => open.set(by, (open.get(by) ?? 1) - 1));
  };
}
