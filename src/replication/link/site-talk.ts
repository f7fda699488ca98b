import type { Clock, Timer } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { EnrolAnswer } from "../identity/hub-enrolment.ts";
import { type OwnIdentity, proveKey, renewIfDue } from "../identity/own-identity.ts";
import type { RevokedKeys } from "../identity/revoked-keys.ts";
import type { HubTalk, Question, SiteTalk } from "../talk.ts";
import type { Body } from "../work.ts";
import { challengeText } from "./challenge.ts";

/** What the appliance needs to talk with its cloud. */
export interface SiteTalkNeeds {
  dataDir: string;
  clock: Clock;
  log: Log;
  identity(): OwnIdentity;
  revoked: RevokedKeys;
  /** False when there is no link. */
  say(talk: SiteTalk): boolean;
  /** A neighbour's beat came. */
  beat(text: string): void;
  /** Others are trusted now, or not any more. */
  trustChanged(): void;
  /** The appliance has another certificate. */
  renewed(identity: OwnIdentity): void;
}

/** What an appliance and its cloud say to each other beside the feeds. */
export interface SiteTalkDesk {
  take(said: HubTalk, say: (talk: SiteTalk) => void): void;
  /**
   * Null when there is no link: nothing was asked. Rejects with UpstreamError in words: `upstream` when the cloud refused,
   * `outcome-unknown` when there is no answer in time.
   */
  ask(question: Question, patienceMs?: number): Promise<Body | null>;
  /** Fetches the next certificate if it is time to. */
  renew(): Promise<void>;
  stop(): void;
}

/** own choice: people wait no longer */
const PATIENCE_MS = 15_000;

/** Makes it. */
export function createSiteTalk(needs: SiteTalkNeeds): SiteTalkDesk {
  const { clock, log, identity } = needs;
  const open = new Map<string, { answer(talk: HubTalk & { t: "answer" }): void; timer: Timer }>();
  let isRenewing = false;

  function ask(of: Question, patienceMs = PATIENCE_MS): Promise<Body | null> {
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
      const answer = ({ given, refused }: HubTalk & { t: "answer" }): void => {
        over();
        if (given) resolve(given);
        else reject(new UpstreamError("upstream", refused ?? "The cloud refused."));
      };
      open.set(ref, { answer, timer });
      if (needs.say({ t: "ask", ref, of })) return;
      over();
      resolve(null);
    });
  }

  async function renew(): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    try {
      const fetched = await renewIfDue(needs.dataDir, identity(), clock.now(), async ({ request }) => {
        const given = await ask({ kind: "renew", request });
        if (!given) throw new UpstreamError("upstream", "There is no link to the cloud.");
        return given as unknown as EnrolAnswer;
      });
      if (!fetched) return;
      log.info({ until: fetched.facts.validTo }, "the certificate for the link was renewed");
      needs.renewed(fetched);
    } catch (error) {
      // It is tried again long before the certificate ends; then it is told.
      log.warn({ err: error }, "the certificate for the link was not renewed");
    } finally {
      isRenewing = false;
    }
  }

  function takeRevoked(keys: readonly string[]): void {
    try {
      if (needs.revoked.take(keys)) needs.trustChanged();
    } catch (error) {
      log.error({ err: error }, "the list of keys that are not good any more was not kept");
    }
  }

  return {
    ask,
    renew,
    take(said, say) {
      switch (said.t) {
        case "challenge": {
          const { key, facts } = identity();
          return say({ t: "proof", proof: proveKey(key, challengeText(facts.endpoint, said.nonce)) });
        }
        case "revoked":
          return takeRevoked(said.keys);
        case "beat":
          return needs.beat(said.beat);
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
