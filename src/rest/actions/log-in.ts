import { brandingOf } from "../../access/branding.ts";
import { logInCookie, logInValueIn } from "../../access/log-in-cookie.ts";
import { sessionCookie } from "../../access/session-cookie.ts";
import { notFound } from "../../base/errors.ts";
import { LOG_IN_MS } from "../../identity/kept-log-in.ts";
import type { Coming, LoggedIn } from "../../identity/log-in.ts";
import { LogInFault } from "../../identity/log-in-fault.ts";
import { text } from "../../schema/field.ts";
import type { Action, Answer, OpenRequest } from "../action.ts";
import { onwardPage, refusedLogInPage } from "../log-in-page.ts";
import { type LogInWords, logInWords } from "../log-in-words.ts";
import { singleText } from "../query.ts";

const AT = "log-in/{identityProviderId}";
const PAGE = { kind: "page" } as const;
/** Longest answer of a provider that is taken. own choice */
const ANSWER = { max: 500_000 } as const;
/** What an OpenID provider sends back. @source OpenID Connect Core 1.0 §3.1.2.5; RFC 9207 §2 */
const BROUGHT = ["code", "state", "iss", "error"] as const;

type Handle = (request: OpenRequest, id: string) => Promise<Answer>;

/** A step of log-in by another site's pages; whatever goes wrong is told by a page. */
function step(
  method: "get" | "post",
  at: string,
  doc: string,
  handle: Handle,
  more: Pick<Action, "query" | "accepts"> = {},
): Action {
  return {
    ...{ method, at, doc, outsideVersion: true, permission: "open", answers: PAGE, refuses: PAGE, ...more },
    handle: async (request) => {
      try {
        return await handle(request, request.params.identityProviderId ?? "");
      } catch (error) {
        return refusedLogInPage(wordsOf(request), brandingOf(request.needs.store), error);
      }
    },
  } as Action;
}

/**
 * Log-in by way of the pages of another identity provider, and its metadata. They need no scripts.
 * @source OpenID Connect Core 1.0 §3.1; SAML 2.0 Bindings §3.4 and §3.5; own choice: the paths
 */
export const logInActions: readonly Action[] = [
  step(
    "get",
    AT,
    "Leads a browser to an identity provider's pages.",
    async ({ needs, query, secure }, id) => {
      const { location, cookie } = await needs.identity.logIn.begin(id, singleText(query, "to"));
      return redirect(location, logInCookie(cookie, secure, LOG_IN_MS));
    },
    { query: { to: text("Path of this appliance to go on to.", { max: 2_000 }) } },
  ),
  step(
    "get",
    `${AT}/back`,
    "Takes a browser that comes back from an OpenID provider, and begins a session.",
    async (request, id) => {
      const { needs, query, address } = request;
      const found = BROUGHT.map((name) => [name, singleText(query, name)] as const);
      const brought = Object.fromEntries(found.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
      return loggedIn(request, await needs.identity.logIn.finish(id, brought, comingIn(request, address)));
    },
    { query: Object.fromEntries(BROUGHT.map((name) => [name, text(`${name} of OpenID Connect.`, { max: 4_000 })])) },
  ),
  step(
    "post",
    `${AT}/consume`,
    "Takes what a SAML provider's page posts.",
    async (request, id) => {
      const { needs, body, address } = request;
      const brought = { SAMLResponse: textOf(body.SAMLResponse), RelayState: textOf(body.RelayState) };
      const { ticket } = await needs.identity.logIn.take(id, brought, address);
      return onwardPage(wordsOf(request), brandingOf(needs.store), `/api/log-in/${id}/done?ticket=${ticket}`);
    },
    {
      accepts: {
        SAMLResponse: text("The answer, in Base64.", ANSWER),
        RelayState: text("What the request brought along.", { max: 1_000 }),
      },
    },
  ),
  step(
    "get",
    `${AT}/done`,
    "Takes the browser that brings the ticket of such an answer, and begins a session.",
    async (request, id) => {
      const { needs, query, address } = request;
      const coming = comingIn(request, address);
      return loggedIn(request, await needs.identity.logIn.complete(id, singleText(query, "ticket") ?? "", coming));
    },
    { query: { ticket: text("The ticket.", { max: 100 }) } },
  ),
  step("get", `${AT}/out`, "Leads whoever logged out here to the provider's log-out.", async ({ needs }, id) =>
    redirect(await needs.identity.logIn.logOut(id)),
  ),
  {
    method: "get",
    at: `${AT}/metadata`,
    outsideVersion: true,
    doc: "Describes this appliance to a SAML provider.",
    answers: { kind: "bytes", types: ["application/samlmetadata+xml"] },
    permission: "open",
    async handle({ needs, params }) {
      const body = await needs.identity.logIn.metadata(params.identityProviderId ?? "").catch((error: unknown) => {
        throw error instanceof LogInFault && error.code === "off" ? notFound() : error;
      });
      return { type: "application/samlmetadata+xml", body };
    },
  },
];

function comingIn({ header }: OpenRequest, address: string | null): Coming {
  return { cookie: logInValueIn(header("cookie")), address };
}

function loggedIn(request: OpenRequest, { session, to }: LoggedIn): Answer {
  const { needs, secure } = request;
  const page = onwardPage(wordsOf(request), brandingOf(needs.store), to);
  return { ...page, headers: { ...page.headers, "Set-Cookie": sessionCookie(session, secure) } };
}

function redirect(location: string, cookie?: string): Answer {
  const headers = { Location: location, "Referrer-Policy": "no-referrer", ...(cookie ? { "Set-Cookie": cookie } : {}) };
  return { status: 303, headers, body: null };
}

function wordsOf({ header }: Pick<OpenRequest, "header">): LogInWords {
  return logInWords(header("accept-language"));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
