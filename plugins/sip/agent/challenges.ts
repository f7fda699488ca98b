import { answerChallenge, type Credentials } from "./digest.ts";
import { type SipResponse, whole } from "./message.ts";

const CHALLENGES: Readonly<Record<number, readonly [asks: string, answers: string]>> = {
  401: ["WWW-Authenticate", "Authorization"],
  407: ["Proxy-Authenticate", "Proxy-Authorization"],
};

/** The header that answers what a response asks for; null where it asks for nothing, or for what can't be answered. */
export function authorizationFor(
  response: SipResponse,
  request: { method: string; uri: string },
  credentials: Credentials | null,
  cnonce: string,
): readonly [name: string, value: string] | null {
  const header = CHALLENGES[response.status];
  const answer = header && credentials && answerChallenge(whole(response, header[0]), request, credentials, cnonce);
  return header && answer ? [header[1], answer] : null;
}
