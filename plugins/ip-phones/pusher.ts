import type { AudioTarget, Clock, DeliveryProfile } from "#plugin-api";
import type { PhoneAddress } from "./phone.ts";
import type { RequestPhone } from "./phone-client.ts";
import type { PushAuthentication } from "./push-authentication.ts";
import { type ExecuteItem, mediaRequest, pushRequest } from "./push-request.ts";
import { interpretPush, type PushItems, type PushResult } from "./push-result.ts";

/** What came of a push, refusals explained. */
export type PushOutcome = Exclude<PushResult, { kind: "unauthorized" }>;

/** Pushes to phones. */
export interface Pusher {
  push(phone: PhoneAddress, pushed: PushItems): Promise<PushOutcome>;
  /** Pushes at most three internal URIs; null when the first was done, else in words why not. */
  execute(phone: PhoneAddress, items: readonly [ExecuteItem, ...ExecuteItem[]]): Promise<string | null>;
  /** Has a stream played by the other way, which calls `onStopped` at its end; null when it was taken, else why not. */
  playMedia(phone: PhoneAddress, sound: MediaCommand): Promise<string | null>;
}

/** A stream to play by the other way. */
export interface MediaCommand {
  audio: AudioTarget;
  volume: DeliveryProfile["volume"];
  /** A Notify URI. */
  onStopped: string;
}

/** What a pusher needs; `authUrl` is where phones should ask, `authorization` the value of the header. */
export interface PusherDeps {
  clock: Clock;
  ask: RequestPhone;
  authentication: PushAuthentication;
  authUrl: string;
  authorization: string;
}

/** Makes the pusher. */
export function createPusher(needs: PusherDeps): Pusher {
  const { clock, ask, authentication, authUrl, authorization } = needs;
  const send = async (phone: PhoneAddress, items: readonly ExecuteItem[], judged: PushItems): Promise<PushOutcome> => {
    authentication.forget(phone.name);
    const startedAt = clock.monotonicMs();
    const exchange = await ask(phone, pushRequest(items, authorization));
    const verdict = interpretPush(exchange, judged, phone.model);
    const asked = authentication.verdictFor(phone.name);
    authentication.forget(phone.name);
    if (verdict.kind !== "unauthorized") return verdict;
    return explainRefusal(asked, authUrl, clock.monotonicMs() - startedAt >= PHONE_AUTH_TIMEOUT_MS);
  };
  return {
    push: (phone, pushed) =>
      send(
        phone,
        [pushed.page, pushed.sound].filter((item) => item !== null),
        pushed,
      ),
    async playMedia(phone, { audio, volume, onStopped }) {
      const { answer, fault } = await ask(phone, mediaRequest(audio, volume, onStopped, authorization));
      if (fault) return fault.message;
      if (answer.status === 200 && /<mediaStream\b[^>]*\bid\s*=/i.test(answer.body)) return null;
      return `it does not take streams that way (HTTP ${answer.status})`;
    },
    async execute(phone, items) {
      const outcome = await send(phone, items, { page: null, sound: items[0] });
      return outcome.kind === "failed" ? outcome.reason : null;
    },
  };
}

/** How long a phone waits for the answer of its authentication URL. @source protocols.md 3 */
const PHONE_AUTH_TIMEOUT_MS = 3_000;

/**
 * Says where to look when a phone refuses the push user. `asked` is what it was told, null when it did not ask here;
 * one that `waited` may have asked in vain.
 */
function explainRefusal(asked: boolean | null, authUrl: string, waited: boolean): PushOutcome {
  const refused = "the phone refused the push user:";
  if (asked === null) {
    const reason = `${refused} it did not ask ${authUrl}, which must be its authentication URL`;
    return { kind: "failed", reason, retryable: waited };
  }
  if (!asked) return { kind: "failed", reason: `${refused} it asked with another user or password`, retryable: false };
  return { kind: "failed", reason: `${refused} it was told that it may obey, perhaps too late`, retryable: true };
}
