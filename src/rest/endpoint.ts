import { actorOf, type Principal } from "../access/principal.ts";
import type { Refusals } from "../access/refusals.ts";
import { CallerError, forbidden, invalidValue, notFound, UpstreamError } from "../base/errors.ts";
import { camelCase } from "../schema/decode.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import type { By } from "../store/store.ts";
import type { Action, Answer, ApiRequest, OpenAction, OpenRequest } from "./action.ts";
import { arriving } from "./arriving.ts";
import { tokenInForm, tokenOf } from "./bearer.ts";
import {
  type BodyPlan,
  decodeBody,
  isUrlEncoded,
  mediaTypeOf,
  NO_BODY,
  planBody,
  type RawBody,
  readBody,
  unsupported,
} from "./body.ts";
import { callerByCookie } from "./caller-by-cookie.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { dryRun, isDryRun } from "./dry-run.ts";
import { isBug, unauthorized } from "./error-answer.ts";
import { orHandedOn } from "./handed-on.ts";
import type { Incoming } from "./incoming.ts";
import type { ApiNeeds } from "./needs.ts";
import type { OnceOnly } from "./once-only.ts";
import type { Presenter, Showing } from "./presenter.ts";
import { singleText } from "./query.ts";
import type { Row } from "./representation.ts";
import { asksForRings, movesRings, tellingRings } from "./ring-moves.ts";
import type { RowOperation, RowRequest } from "./row-operations.ts";

/** One method of one path, ready to serve. */
export interface Endpoint {
  method: Method;
  /** The pattern: `v1/users/{userId}`. */
  at: string;
  /** Headers of every answer, refusals included. */
  headers?: Readonly<Record<string, string>>;
  serve(incoming: Incoming): Promise<Answer>;
}

/** What all endpoints share. */
export interface Serving {
  presenter: Presenter;
  refusals: Refusals;
  onceOnly: OnceOnly;
}

const VERSION = "v1";

/**
 * Makes the endpoint of an action: who asks, in which domain, may it, what does the body say, then the action itself.
 * Nothing of a body is read before it is clear that the caller may send it, except for what says who and where.
 */
export function createEndpoint(action: Action | RowOperation, needs: ApiNeeds, serving: Serving): Endpoint {
  const plan = action.accepts ? planBody(action.accepts) : null;
  const parents = parentsIn(action.at);
  const at = action.outsideVersion ? action.at : `${VERSION}/${action.at}`;
  return {
    method: action.method,
    at,
    ...(action.deprecated ? { headers: deprecationHeaders(action.deprecated) } : {}),
    async serve(incoming) {
      const base = { ...incoming, ...placeOf(action, incoming), needs };
      if (action.permission === "open") return serveOpen(action, base, plan);
      const known = { action, base, plan, parents };
      return serveKnown(known, needs, serving);
    },
  };
}

async function serveOpen(action: OpenAction, base: Base, plan: BodyPlan | null): Promise<Answer> {
  try {
    const body = await bodyOf(base, plan, base.needs);
    return await releasing(body, base.needs, () => action.handle({ ...base, body: decoded(base, body, plan) }));
  } catch (error) {
    if (!action.refusal || isBug(error)) throw error;
    return action.refusal(error, base);
  }
}

/** Placeholders above the last collection of a pattern, which name rows that the body may not contradict. */
function parentsIn(at: string): string[] {
  const above = at.slice(0, at.lastIndexOf("/") + 1);
  return [...above.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

type Base = Incoming & Omit<OpenRequest, "body">;

interface Known {
  action: Exclude<Action, { permission: "open" }> & Partial<RowOperation>;
  base: Base;
  plan: BodyPlan | null;
  parents: readonly string[];
}

async function serveKnown(
  { action, base, plan, parents }: Known,
  needs: ApiNeeds,
  { presenter, refusals, onceOnly }: Serving,
): Promise<Answer> {
  const { principal, early } = await identify(base, plan, needs);
  const keeps = !isRehearsal(action, base);
  const query = singleText(base.query, "domain");
  const header = query === null ? base.header("x-service-domain") : null;
  const overruling = early ?? (await bodyOverruling(header, principal, { action, base, plan }, needs));
  let acting: By | null = null;
  const actIn = (domain: string | null): By => {
    acting = byOf(principal, domain, base, needs);
    return acting;
  };
  const serve = async (): Promise<Answer> => {
    const overruled = query === null && overruling ? domainIn(overruling) : null;
    const by = actIn(query ?? overruled ?? header);
    const request = requestOf(action, base, principal, by, presenter);
    if (!action.complete) judge(action, request);
    const handle = async (body: RawBody): Promise<Answer> => {
      refuseOtherParents(body, base.params, parents);
      const inBody = query === null && overruled === null ? domainIn(body) : null;
      const full = {
        ...request,
        ...(inBody === null ? {} : { by: actIn(inBody) }),
        body: decoded(base, body, plan),
      };
      const complete = action.complete ? action.complete(full) : full;
      if (action.complete || inBody !== null) judge(action, complete);
      const carryOut = (given: typeof complete): Promise<Answer> => action.handle(given);
      const run = (): Promise<Answer> => {
        if (isRehearsal(action, base)) return dryRun(complete, carryOut, movesRings(action));
        if (!asksForRings(action, base.query)) return onceOnly(complete, carryOut);
        return onceOnly(complete, (given) => tellingRings(given, carryOut));
      };
      return orHandedOn(run, { base, principal, body }, needs.handOn);
    };
    if (overruling) return handle(overruling);
    const body = await bodyOf(base, plan, needs);
    return releasing(body, needs, () => handle(body), keeps);
  };
  try {
    return await (overruling ? releasing(overruling, needs, serve, keeps) : serve());
  } catch (error) {
    const refused = error instanceof CallerError && error.type === "forbidden";
    if (acting && refused) refusals.record(acting, { method: base.method, at: action.at, path: base.path });
    throw error;
  }
}

/** The body, where nothing could be done in the domain known so far: a domain in the body may win over it. Null elsewhere. */
async function bodyOverruling(
  domain: string | null,
  principal: Principal,
  { action, base, plan }: Pick<Known, "action" | "base" | "plan">,
  needs: ApiNeeds,
): Promise<RawBody | null> {
  if (base.method === "get" || singleText(base.query, "domain") !== null) return null;
  try {
    const { scope } = byOf(principal, domain, base, needs);
    const judged = action.permission !== "anyone" && !action.complete;
    if (!judged || scope.allows(base.method, base.path)) return null;
  } catch {
    // The domain is refused, unless the body names another one.
  }
  return bodyOf(base, plan, needs);
}

/** Throws invalid-value where a rehearsal is asked of what can't be rehearsed: better than doing it. */
function isRehearsal({ method, rehearses }: Known["action"], { query }: Base): boolean {
  if (method === "get" || !isDryRun(query)) return false;
  if (!rehearses) throw invalidValue("dryRun", "This can't be rehearsed.");
  return true;
}

/** Keeps uploaded files when `run` succeeds and `keeps` is true, or when nobody knows whether it did. */
async function releasing(
  body: RawBody,
  { store }: ApiNeeds,
  run: () => Promise<Answer>,
  keeps = true,
): Promise<Answer> {
  let kept = false;
  try {
    const answer = await run();
    kept = keeps;
    return answer;
  } catch (error) {
    kept = error instanceof UpstreamError && error.type === "outcome-unknown";
    throw error;
  } finally {
    for (const upload of body.uploads) store.files.release(upload, kept);
  }
}

/** The holder of the token or of the session in a cookie; the body is read early when the token may be in it. Throws unauthorized. */
async function identify(
  base: Base,
  plan: BodyPlan | null,
  needs: ApiNeeds,
): Promise<{ principal: Principal; early: RawBody | null }> {
  let token = tokenOf(base.header("authorization"), base.query);
  const byCookie = token === null ? callerByCookie(base, needs.access) : null;
  if (byCookie) return { principal: byCookie, early: null };
  let early: RawBody | null = null;
  if (base.method !== "get" && isUrlEncoded(base.raw)) {
    early = await readBody(base.raw, plan ?? planBody({}), { clock: needs.clock, files: needs.store.files });
    token = tokenInForm(early.value as Record<string, unknown>, token);
  }
  const principal = token === null ? null : needs.access.authenticate(token);
  if (!principal) throw unauthorized();
  return { principal, early };
}

function byOf(principal: Principal, domain: string | null, { address }: Base, { access }: ApiNeeds): By {
  return { actor: actorOf(principal, address), scope: access.scopeOf(principal, domain) };
}

function judge(action: Partial<RowOperation>, request: ApiRequest): void {
  if (action.permission === "anyone") return;
  const { scope } = request.by;
  const path = action.judgedPath ? action.judgedPath(request.path) : request.path;
  if (scope.allows(request.method, path)) return;
  throw action.sees && !action.sees(request, scope) ? notFound() : forbidden();
}

async function bodyOf(base: Base, plan: BodyPlan | null, needs: ApiNeeds): Promise<RawBody> {
  if (!plan || base.method === "get") return NO_BODY;
  return readBody(base.raw, plan, { clock: needs.clock, files: needs.store.files });
}

/** A method that `_method` asked for has its parameters in the query. */
function decoded(base: Base, body: RawBody, plan: BodyPlan | null): Record<string, unknown> {
  if (!plan) return {};
  const given = base.overridden ? ({ ...NO_BODY, kind: "form", value: base.query } as const) : body;
  return decodeBody(given, plan);
}

/** Throws invalid-value where the body names another parent than the path. @source interfaces.md, Extensions, endpoints, devices */
function refuseOtherParents(
  { value }: RawBody,
  params: Readonly<Record<string, string>>,
  parents: readonly string[],
): void {
  if (typeof value !== "object" || value === null) return;
  for (const [given, id] of Object.entries(value)) {
    const name = camelCase(given);
    if (parents.includes(name) && (typeof id !== "string" || id.toLowerCase() !== params[name])) {
      throw invalidValue(name, "The path names another one.");
    }
  }
}

function domainIn({ value }: RawBody): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return singleText(value as Record<string, unknown>, "domain");
}

function placeOf(
  { at, outsideVersion }: Action,
  { path, params: given }: Incoming,
): { path: string; params: Record<string, string> } {
  const params = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.toLowerCase()]));
  return { path: outsideVersion ? `/${at}` : path.slice(VERSION.length), params };
}

function requestOf(
  { at, shownAt, takesBytes = [] }: Pick<Action, "at" | "shownAt" | "takesBytes">,
  base: Base,
  principal: Principal,
  by: By,
  presenter: Presenter,
): RowRequest {
  /** An action at one of the resource's own paths shows rows as they stand there. */
  const showing = (resource: AnyResource, ids: Readonly<Record<string, unknown>>, request: ApiRequest): Showing => {
    const path = shownAt ?? resource.paths.find((each) => each.at === at);
    const place = path ? { path, collection: collectionIn(base.path, at, path.at) } : presenter.placeOf(resource, ids);
    return { by: request.by, query: base.query, params: request.params, place };
  };
  return {
    ...base,
    principal,
    by,
    presenter,
    body: {},
    bytes: () => bytesOf(takesBytes, base),
    show(resource, row) {
      const shown = row as unknown as Row;
      return presenter.show(resource, shown, showing(resource, shown, this));
    },
    list(resource, restriction, sight) {
      return presenter.list(resource, restriction, showing(resource, base.params, this), sight);
    },
  };
}

function bytesOf(types: readonly string[], { raw, needs }: Base): AsyncIterable<Uint8Array> {
  if (!types.includes(mediaTypeOf(raw))) throw unsupported(`Send ${types.join(" or ")}.`);
  return arriving(raw, needs.clock);
}

/** The concrete collection in a path that may name one of its items. */
function collectionIn(path: string, at: string, collection: string): string {
  return at === collection ? path : path.slice(0, path.lastIndexOf("/"));
}
