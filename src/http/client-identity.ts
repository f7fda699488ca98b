import type { IncomingMessage } from "node:http";
import { basicCredentialsIn } from "../auth/basic-authentication.ts";
import type { AccessControl, Principal } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import type { ScimServer } from "../scim/server.ts";
import { accessTokenOf } from "./bearer-token.ts";
import { clientAddress, clientOf } from "./forwarded-client.ts";
import { splitTarget } from "./incoming-request.ts";
import { parseQuery } from "./query/query.ts";

/** The client of a request, before its permissions are checked. */
export interface ClientIdentity {
  /** `user <id>` (tokens), `console <id>` (sessions of a user), `directory <name>`, or `address <IP address>` for a client without a valid token or session. */
  key: string;
  /** False for a client that anybody could be. */
  isKnown: boolean;
  /** The valid token; null for sessions and unknown clients. */
  token: string | null;
}

/** Identifies the client of a request by user token, SCIM token or session cookie; at most once per request. */
export type ClientIdentifier = (raw: IncomingMessage) => ClientIdentity;

/** Creates it; does not count as use of a session. */
export function createClientIdentifier({
  access,
  scim,
}: {
  access: Pick<AccessControl, "authenticate">;
  scim: Pick<ScimServer, "authenticate">;
}): ClientIdentifier {
  const known = new WeakMap<IncomingMessage, ClientIdentity>();

  function identify(raw: IncomingMessage): ClientIdentity {
    const address = clientAddress(raw);
    const token = presentedToken(raw);
    if (token !== null) {
      const principal = access.authenticate(token, "bearer", false, address);
      if (principal) return user(principal, token);
      const directory = scim.authenticate(token, address);
      if (directory) return { key: `directory ${directory.name}`, isKnown: true, token };
    } else {
      const session = readSessionCookie(raw.headers.cookie ?? null, clientOf(raw).secure);
      const principal = session === null ? null : access.authenticate(session, "cookie", false);
      if (principal) return user(principal, null);
    }
    return { key: `address ${address ?? ""}`, isKnown: false, token: null };
  }

  return (raw) => {
    let identity = known.get(raw);
    if (!identity) {
      identity = identify(raw);
      known.set(raw, identity);
    }
    return identity;
  };
}

/** A program with the user's token must not keep the same person's console waiting, so that they are two clients. */
function user({ userId }: Principal, token: string | null): ClientIdentity {
  return { key: `${token === null ? "console" : "user"} ${userId}`, isKnown: true, token };
}

/** The token that would authenticate the request; null without one. */
function presentedToken({ url = "/", headers }: IncomingMessage): string | null {
  try {
    const authorization = headers.authorization ?? null;
    return (
      basicCredentialsIn(authorization)?.password ?? accessTokenOf(authorization, parseQuery(splitTarget(url).search))
    );
  } catch {
    return null;
  }
}
