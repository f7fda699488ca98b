import type { AudioTarget, Clock, DeliveryProfile } from "#plugin-api";
import type { PhoneAddress } from "./phone.ts";
import type { RequestPhone } from "./phone-client.ts";
import type { PushAuthentication } from "./push-authentication.ts";
import { type ExecuteItem, mediaRequest, pushRequest } from "./push-request.ts";
import { interpretPush, type PushItems, type PushResult } from "./push-result.ts";
import { sentence } from "./sentences.ts";

/** Result of a push with explained refusals. */
export type PushOutcome = Exclude<PushResult, { kind: "unauthorized" }>;

export interface Pusher {
  push(phone: PhoneAddress, pushed: PushItems): Promise<PushOutcome>;
  /** Pushes at most three internal URIs; null if the first succeeded, else the reason. */
  execute(phone: PhoneAddress, items: readonly [ExecuteItem, ...ExecuteItem[]]): Promise<string | null>;
  /**
   * Plays a stream through the RTP Streaming API, which calls `onStopped` at its end; null if accepted, else the
   * reason.
   */
  playMedia(phone: PhoneAddress, sound: MediaCommand): Promise<string | null>;
}

/** A stream for the RTP Streaming API. */
export interface MediaCommand {
  audio: AudioTarget;
  volume: DeliveryProfile["volume"];
  /** A Notify URI. */
  onStopped: string;
}

/** `authUrl` is the expected authentication URL of phones, `authorizationFor` gives the header value for a phone. */
export interface PusherDeps {
  clock: Clock;
  requestPhone: RequestPhone;
  authentication: PushAuthentication;
  authUrl: string;
  authorizationFor(phone: string): string;
}

export function createPusher(deps: PusherDeps): Pusher {
  const { clock, requestPhone, authentication, authUrl, authorizationFor } = deps;
  const send = async (phone: PhoneAddress, items: readonly ExecuteItem[], judged: PushItems): Promise<PushOutcome> => {
    const end = authentication.begin(phone.name);
    try {
      const startedAt = clock.monotonicMs();
      const exchange = await requestPhone(phone, pushRequest(items, authorizationFor(phone.name)));
      const result = interpretPush(exchange, judged, phone.model);
      if (result.kind !== "unauthorized") return result;
      const waited = clock.monotonicMs() - startedAt >= PHONE_AUTH_TIMEOUT_MS;
      return explainRefusal(authentication.verdictFor(phone.name), authUrl, waited);
    } finally {
      end();
    }
  };
  return {
    push: (phone, pushed) =>
      send(
        phone,
        [pushed.page, pushed.sound].filter((item) => item !== null),
        pushed,
      ),
    async playMedia(phone, { audio, volume, onStopped }) {
      const end = authentication.begin(phone.name);
      const request = mediaRequest(audio, volume, onStopped, authorizationFor(phone.name));
      const { answer, error } = await requestPhone(phone, request).finally(end);
      if (error) return error.message;
      if (answer.status === 200 && /<mediaStream\b[^>]*\bid\s*=/i.test(answer.body)) return null;
      return sentence("rtp-unsupported", { status: answer.status });
    },
    async execute(phone, items) {
      const outcome = await send(phone, items, { page: null, sound: items[0] });
      return outcome.kind === "failed" ? outcome.reason : null;
    },
  };
}

/** Timeout of a phone's authentication callback. @source docs/decisions/0032-phone-push.md, Authentication URL */
const PHONE_AUTH_TIMEOUT_MS = 3_000;

/**
 * Explains a refused push user. `asked` is the callback's result, null if the phone did not call back here; `waited`:
 * its callback may have timed out.
 */
function explainRefusal(asked: boolean | null, authUrl: string, waited: boolean): PushOutcome {
  if (asked === null) {
    const reason = sentence("user-refused-url", { url: authUrl });
    return { kind: "failed", reason, retryable: waited };
  }
  if (!asked) return { kind: "failed", reason: sentence("user-refused-password"), retryable: false };
  return { kind: "failed", reason: sentence("user-refused-late"), retryable: true };
}
