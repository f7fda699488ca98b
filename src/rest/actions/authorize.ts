import { type AuthorizationRequest, readAuthorization, refusalLocation } from "../../access/authorization.ts";
import { brandingOf } from "../../access/branding.ts";
import { OAuthRefusal } from "../../access/oauth-refusal.ts";
import type { Principal } from "../../access/principal.ts";
import { sessionCookie, tokenInCookie } from "../../access/session-cookie.ts";
import { CallerError, TooManyRequests, UpstreamError } from "../../base/errors.ts";
import { option, text } from "../../schema/field.ts";
import type { Action, Answer, OpenRequest } from "../action.ts";
import { consentPage, logInPage, refusedPage } from "../authorize-page.ts";
import { authorizeWords, filled } from "../authorize-words.ts";
import { refuseForeignOrigin } from "../caller-by-cookie.ts";
import { answerOf } from "../error-answer.ts";
import { singleText } from "../query.ts";

const ANSWERS = { kind: "page" } as const;
const PARAMETERS = [
  "client_id",
  "response_type",
  "redirect_uri",
  "state",
  "scope",
  "code_challenge",
  "code_challenge_method",
] as const;
const QUERY = {
  ...Object.fromEntries(PARAMETERS.map((name) => [name, text(`${name} of OAuth 2.`, { max: 4_000 })])),
  prompt: option("login: asks for an account even if there is a session.", ["login"]),
};
const form = Object.fromEntries(
  ["form_token", "decision", "email", "password", "new_password"].map((name) => [name, text(`${name} of the form.`)]),
);

/**
 * The page on which a user lets an application act: log-in, then consent. It needs no scripts.
 * @source decisions.md 3; RFC 6749 §4.1; interfaces.md, Log-in and drill
 */
export const authorizeActions: readonly Action[] = [
  ...["authorize", "login"].map(
    (at): Action => ({
      ...{
        method: "get",
        at,
        outsideVersion: true,
        permission: "open",
        handle: ask,
        refusal,
        answers: ANSWERS,
        refuses: ANSWERS,
      },
      doc: "The page on which a user logs in and lets an application act (OAuth 2, code with PKCE).",
      query: QUERY,
    }),
  ),
  {
    method: "post",
    at: "authorize",
    outsideVersion: true,
    doc: "Takes the forms of that page and sends the browser on.",
    answers: ANSWERS,
    refuses: ANSWERS,
    query: QUERY,
    permission: "open",
    accepts: form,
    handle: take,
    refusal,
  },
];

/** What a request is about and who makes it; `principal` is null before log-in. */
interface Asked {
  request: AuthorizationRequest;
  principal: Principal | null;
}

function readAsked(incoming: OpenRequest): Asked {
  const { needs, query, header, secure } = incoming;
  const request = readAuthorization(needs.store, parametersIn(incoming));
  const token = tokenInCookie(header("cookie"), secure);
  const wantsLogIn = singleText(query, "prompt") === "login";
  const known = token === null || wantsLogIn ? null : needs.access.authenticate(token, "cookie");
  // What reaches less than its user, as a device that was invited, must not hand out all that the user may do.
  return { request, principal: known?.scopes === null ? known : null };
}

async function ask(incoming: OpenRequest): Promise<Answer> {
  const asked = readAsked(incoming);
  return asked.principal ? consent(incoming, asked, asked.principal) : logIn(incoming, asked);
}

async function take(incoming: OpenRequest): Promise<Answer> {
  refuseForeignOrigin(incoming);
  const asked = readAsked(incoming);
  const { needs, body, address } = incoming;
  const { request, principal } = asked;
  const isGood = needs.oauth.forms.isGood(textOf(body.form_token), subjectOf(asked));
  const { outdated } = wordsFor(incoming);
  if (!principal) {
    return isGood ? withPassword(incoming, asked) : logIn(incoming, asked, { status: 400, notice: outdated });
  }
  if (!isGood) return consent(incoming, asked, principal, { status: 400, notice: outdated });
  if (body.decision === "allow") return redirect(await needs.oauth.allow(request, principal, address));
  return redirect(refusalLocation(request, "access_denied", "The user did not allow it."));
}

/** Begins a session of the console, which the next page is asked with. */
async function withPassword(incoming: OpenRequest, asked: Asked): Promise<Answer> {
  const { needs, body, address, secure } = incoming;
  const account = { email: textOf(body.email), password: textOf(body.password) };
  try {
    const token = await needs.signIn.byPassword({ ...account, newPassword: textOf(body.new_password) }, address);
    return redirect(pageOf(incoming), { "Set-Cookie": sessionCookie(token, secure) });
  } catch (error) {
    if (!(error instanceof CallerError || error instanceof UpstreamError)) throw error;
    return logIn(incoming, asked, faultOf(error, incoming));
  }
}

interface Fault {
  status: number;
  notice: string | null;
  asksNewPassword?: boolean;
  headers?: Readonly<Record<string, string>>;
}

const NO_FAULT: Fault = { status: 200, notice: null };

function faultOf(error: CallerError | UpstreamError, incoming: OpenRequest): Fault {
  const words = wordsFor(incoming);
  const { status, headers } = answerOf(error, incoming.requestId);
  if (error instanceof TooManyRequests) {
    return { status, headers, notice: filled(words.wait, { seconds: String(error.retryAfterS) }) };
  }
  if (error instanceof UpstreamError) return { status, headers, notice: words.away };
  if (error.faults[0]?.field !== "newPassword") return { status, notice: words.wrong };
  return { status, notice: error.type === "required" ? words.setNew : words.badNew, asksNewPassword: true };
}

function logIn(incoming: OpenRequest, { request }: Asked, fault = NO_FAULT): Answer {
  const { status, notice, asksNewPassword = false, headers } = fault;
  const { identity } = incoming.needs;
  const back = new URLSearchParams({ to: pageOf(incoming) });
  const doors = identity.doors().map(({ id, name }) => ({ name, href: `/api/log-in/${id}?${back}` }));
  const page = logInPage({
    ...{ request, status, notice, asksNewPassword, ...faceFor(incoming), email: textOf(incoming.body.email) },
    ...{ action: pageOf(incoming, "login"), formToken: proofFor(incoming, { request, principal: null }) },
    ...{ doors, passwords: identity.passwords() },
  });
  return { ...page, headers: { ...page.headers, ...headers } };
}

function consent(incoming: OpenRequest, asked: Asked, { name, email }: Principal, fault = NO_FAULT): Answer {
  const { status, notice } = fault;
  return consentPage({
    ...{ request: asked.request, status, notice, ...faceFor(incoming) },
    ...{ action: pageOf(incoming), formToken: proofFor(incoming, asked), otherAccount: pageOf(incoming, "login") },
    userName: email === null ? name : `${name} (${email})`,
  });
}

/** Sends the browser back to the application where it can be trusted, else says on the page what is wrong. */
function refusal(error: unknown, incoming: Omit<OpenRequest, "body">): Answer {
  if (error instanceof OAuthRefusal && error.location !== null) return redirect(error.location);
  const { status, headers, body } = answerOf(error, incoming.requestId);
  // A browser would ask for a password of its own at 401.
  const page = refusedPage({ ...faceFor(incoming), status: status === 401 ? 400 : status, reason: body.message });
  const { "WWW-Authenticate": _challenge, ...more } = headers;
  return { ...page, headers: { ...page.headers, ...more } };
}

function redirect(location: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: 303, headers: { ...headers, Location: location, "Referrer-Policy": "no-referrer" }, body: null };
}

/** The page with the same request; `prompt` login asks for an account even if there is a session. */
function pageOf(incoming: Omit<OpenRequest, "body">, prompt: "login" | null = null): string {
  const given = Object.entries(parametersIn(incoming)).filter(([, value]) => value !== null) as [string, string][];
  if (prompt !== null) given.push(["prompt", prompt]);
  return `/api/authorize?${new URLSearchParams(given)}`;
}

function parametersIn({ query }: Omit<OpenRequest, "body">): Record<(typeof PARAMETERS)[number], string | null> {
  const given = PARAMETERS.map((name) => [name, singleText(query, name) || null]);
  return Object.fromEntries(given) as Record<(typeof PARAMETERS)[number], string | null>;
}

function proofFor({ needs }: OpenRequest, asked: Asked): string {
  return needs.oauth.forms.issue(subjectOf(asked));
}

/** What a form is good for: this request of this session. */
function subjectOf({ request, principal }: Asked): string {
  const { application, redirectUri, scopes, state, codeChallenge } = request;
  return JSON.stringify([application.id, redirectUri, scopes, state, codeChallenge, principal?.tokenId ?? null]);
}

function faceFor(incoming: Omit<OpenRequest, "body">) {
  return { words: wordsFor(incoming), branding: brandingOf(incoming.needs.store) };
}

function wordsFor({ header }: Omit<OpenRequest, "body">) {
  return authorizeWords(header("accept-language"));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
