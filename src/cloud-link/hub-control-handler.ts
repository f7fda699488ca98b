import type { FailoverGroups } from "../failover/failover-groups.ts";
import { parseHeartbeat } from "../failover/heartbeat.ts";
import { CallerError } from "../lib/errors.ts";
import type { EnrolmentService } from "../sync/identity/enrolment-service.ts";
import type { ControlRequest, HubControlMessage, SiteControlMessage } from "../sync/protocol/control-messages.ts";
import type { RowBody } from "../sync/storage/transaction-program.ts";
import type { LinkedSite } from "../sync/transport/acceptor.ts";

/** What the cloud needs to talk with its appliances. */
export interface HubControlHandlerDeps {
  groups: Pick<FailoverGroups, "all">;
  enrolment: Pick<EnrolmentService, "renew">;
  /** Says something to an appliance, if its link stands. */
  sendControl(endpoint: string, talk: HubControlMessage): void;
  /** Number of the newest row of the feed. */
  head(): Promise<number>;
  /** Carries out a request of the API in the name of a user. Throws CallerError. */
  request(endpoint: string, asked: ControlRequest & { kind: "request" }): Promise<RowBody>;
  onFault(error: unknown): void;
}

/** Questions of one connection that are not answered yet; more are refused. own choice */
const MAX_OPEN_REQUESTS = 32;

/** Makes what answers appliances, and hands what they tell each other on. */
export function createHubControlHandler({
  groups,
  enrolment,
  sendControl,
  request,
  head,
  onFault,
}: HubControlHandlerDeps) {
  const open = new WeakMap<LinkedSite, number>();

  async function handleRequest({ endpoint, keyHash }: LinkedSite, of: ControlRequest): Promise<RowBody> {
    if (of.kind === "request") {
      const answer = await request(endpoint, of);
      // It is done by now, whatever is known of the feed.
      const at = await head().catch((error: unknown) => {
        onFault(error);
        return 0;
      });
      return { ...answer, head: at };
    }
    return { ...(await enrolment.renew(endpoint, keyHash, of.request)) };
  }

  function relayHeartbeat(by: string, text: string): void {
    // Nobody speaks for another.
    if (parseHeartbeat(text)?.endpoint !== by) return;
    const mates = groups.all().flatMap(({ members }) => (members.includes(by) ? members : []));
    for (const mate of new Set(mates)) if (mate !== by) sendControl(mate, { t: "beat", beat: text });
  }

  return (by: LinkedSite, said: SiteControlMessage): void => {
    if (said.t === "beat") relayHeartbeat(by.endpoint, said.beat);
    if (said.t !== "ask") return;
    const asked = open.get(by) ?? 0;
    if (asked >= MAX_OPEN_REQUESTS) {
      by.sendControl({ t: "answer", ref: said.ref, refused: "Too much is asked at once." });
      return;
    }
    open.set(by, asked + 1);
    handleRequest(by, said.of)
      .then(
        (given) => by.sendControl({ t: "answer", ref: said.ref, given }),
        (error: unknown) => {
          if (!(error instanceof CallerError)) onFault(error);
          const words =
            error instanceof CallerError ? error.message : "The cloud failed at it; whether it was done is not known.";
          by.sendControl({ t: "answer", ref: said.ref, refused: words });
        },
      )
      .finally(() => open.set(by, (open.get(by) ?? 1) - 1));
  };
}
