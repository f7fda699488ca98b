import { CallerError } from "../../base/errors.ts";
import { readBeat } from "../failover/beats.ts";
import type { CoverGroups } from "../failover/cover-groups.ts";
import type { HubEnrolment } from "../identity/hub-enrolment.ts";
import type { HubTalk, Question, SiteTalk } from "../talk.ts";
import type { Body } from "../work.ts";
import type { Linked } from "./acceptor.ts";

/** What the cloud needs to talk with its appliances. */
export interface HubTalkNeeds {
  groups: Pick<CoverGroups, "all">;
  enrolment: Pick<HubEnrolment, "renew">;
  /** Says something to an appliance, if its link stands. */
  say(endpoint: string, talk: HubTalk): void;
  /** Number of the newest row of the feed. */
  head(): Promise<number>;
  /** Carries out a request of the API in the name of a user. Throws CallerError. */
  request(endpoint: string, asked: Question & { kind: "request" }): Promise<Body>;
  onFault(error: unknown): void;
}

/** Questions of one connection that are not answered yet; more are refused. own choice */
const MOST_ASKED = 32;

/** Makes what answers appliances, and hands what they tell each other on. */
export function createHubTalk({ groups, enrolment, say, request, head, onFault }: HubTalkNeeds) {
  const open = new WeakMap<Linked, number>();

  async function answerTo({ endpoint, keyHash }: Linked, of: Question): Promise<Body> {
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

  function handOn(by: string, text: string): void {
    // Nobody speaks for another.
    if (readBeat(text)?.endpoint !== by) return;
    const mates = groups.all().flatMap(({ members }) => (members.includes(by) ? members : []));
    for (const mate of new Set(mates)) if (mate !== by) say(mate, { t: "beat", beat: text });
  }

  return (by: Linked, said: SiteTalk): void => {
    if (said.t === "beat") handOn(by.endpoint, said.beat);
    if (said.t !== "ask") return;
    const asked = open.get(by) ?? 0;
    if (asked >= MOST_ASKED) {
      by.say({ t: "answer", ref: said.ref, refused: "Too much is asked at once." });
      return;
    }
    open.set(by, asked + 1);
    answerTo(by, said.of)
      .then(
        (given) => by.say({ t: "answer", ref: said.ref, given }),
        (error: unknown) => {
          if (!(error instanceof CallerError)) onFault(error);
          const words =
            error instanceof CallerError ? error.message : "The cloud failed at it; whether it was done is not known.";
          by.say({ t: "answer", ref: said.ref, refused: words });
        },
      )
      .finally(() => open.set(by, (open.get(by) ?? 1) - 1));
  };
}
