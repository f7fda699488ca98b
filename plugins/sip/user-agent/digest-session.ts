import { answerChallenge, type DigestChallenge, type SipCredentials, selectChallenge } from "./digest.ts";
import { rawHeaders, type SipHeaders, type SipResponse } from "./sip-message.ts";

const CHALLENGE_HEADERS: Readonly<Record<number, readonly [asks: string, answers: string]>> = {
  401: ["WWW-Authenticate", "Authorization"],
  407: ["Proxy-Authenticate", "Proxy-Authorization"],
};

/** What one request proves, as it is asked on its way: by a server, and by whoever stands behind it. */
export interface DigestSession {
  readonly headers: SipHeaders;
  /** Adds what a response asks for: then the request is to be sent again. False where that is of no use. */
  addChallenge(response: SipResponse, request: { method: string; uri: string }): boolean;
}

/** Two servers, each of which has one challenge that is out of date. own choice */
export const MAX_ROUNDS = 4;

/** Nothing is proven yet; `credentials` null proves nothing ever. @source RFC 3261 §22 */
export function createDigestSession(credentials: SipCredentials | null, cnonce: () => string): DigestSession {
  const asked = new Map<string, { answers: string; challenge: DigestChallenge; count: number }>();
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
      const whose = `${answers} ${challenge?.realm}`;
      // Who was answered and asks once more does not believe the password.
      if (!challenge || (asked.has(whose) && !challenge.isStale) || ++rounds > MAX_ROUNDS) return false;
      asked.set(whose, { answers, challenge, count: 0 });
      // A server on the way may take each count of its challenge once.
      headers = [...asked.values()].map((each) => [
        each.answers,
        answerChallenge(each.challenge, request, credentials, cnonce(), ++each.count),
      ]);
      return true;
    },
  };
}
