import { answerChallenge, type DigestChallenge, type SipCredentials, selectChallenge } from "./digest.ts";
import { rawHeaders, type SipHeaders, type SipResponse } from "./sip-message.ts";

const CHALLENGE_HEADERS: Readonly<Record<number, readonly [asks: string, answers: string]>> = {
  401: ["WWW-Authenticate", "Authorization"],
  407: ["Proxy-Authenticate", "Proxy-Authorization"],
};

/** Digest authentication of one request, by servers on the path and the target. */
export interface DigestSession {
  readonly headers: SipHeaders;
  /** Adds the challenge of a response, so that the request can be resent. False if that is useless. */
  addChallenge(response: SipResponse, request: { method: string; uri: string }): boolean;
}

/** Two servers, each with one stale challenge. */
export const MAX_ROUNDS = 4;

/** Creates a session without challenges; `credentials` null never authenticates. @source RFC 3261 §22 */
export function createDigestSession(credentials: SipCredentials | null, cnonce: () => string): DigestSession {
  const challenges = new Map<string, { answers: string; challenge: DigestChallenge; count: number }>();
  let headers: SipHeaders = [];
  let rounds = 0;
  return {
    get headers() {
      return headers;
    },
    addChallenge(response, request) {
      const [asks, answers] = CHALLENGE_HEADERS[response.status] ?? [];
      if (asks === undefined || answers === undefined || !credentials) return false;
      const challenge = selectChallenge(rawHeaders(response, asks));
      const key = `${answers} ${challenge?.realm}`;
      // A repeated challenge means that the password was refused.
      if (!challenge || (challenges.has(key) && !challenge.isStale) || ++rounds > MAX_ROUNDS) return false;
      challenges.set(key, { answers, challenge, count: 0 });
      // Each server accepts a nonce count only once.
      headers = [...challenges.values()].map((each) => [
        each.answers,
        answerChallenge(each.challenge, request, credentials, cnonce(), ++each.count),
      ]);
      return true;
    },
  };
}
