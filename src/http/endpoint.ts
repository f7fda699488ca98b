import { actorOf, type Principal } from "../auth/principal.ts";
import { CallerError, forbidden, invalidValue, notFound, UpstreamError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { DeniedRequestLog } from "../permissions/denied-request-log.ts";
import { camelCase } from "../schema/decoder.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import type { ActorContext } from "../store/store.ts";
import type { Action, ApiRequest, PublicAction, PublicRequest } from "./action.ts";
import { accessTokenInForm, accessTokenOf } from "./bearer-token.ts";
import {
  type BodyParserPlan,
  compileBodyParser,
  decodeBody,
  isUrlEncoded,
  mediaTypeOf,
  NO_BODY,
  type RawBody,
  readBody,
  unsupportedMediaType,
} from "./body/body.ts";
import { readUpload } from "./body/upload-stream.ts";
import type { ApiDeps } from "./dependencies.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { isBug, unauthorized } from "./error-response.ts";
import type { IdempotentExecutor } from "./idempotency.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { withCloudProxy } from "./proxy-to-cloud.ts";
import { textParameter } from "./query/query.ts";
import { executeDryRun, isDryRun } from "./rows/dry-run.ts";
import type { PresentationContext, Presenter } from "./rows/presenter.ts";
import type { UntypedRow } from "./rows/representation.ts";
import { canChangeRings, requestsRingDiff, withRingDiff } from "./rows/ring-diff-response.ts";
import type { RowOperation, RowRequest } from "./rows/row-operations.ts";
import { authenticateSession } from "./session-auth.ts";

/** One method of one path, ready to serve. */
export interface Endpoint {
  method: Method;
  /** The pattern: `v1/users/{userId}`. */
  at: string;
  /** Headers of every answer, refusals included. */
  headers?: Readonly<Record<string, string>>;
  serve(incoming: IncomingRequest): Promise<HttpResponse>;
}

/** What all endpoints share. */
export interface EndpointServices {
  presenter: Presenter;
  deniedRequests: DeniedRequestLog;
  idempotency: IdempotentExecutor;
}

const VERSION = "v1";

/**
 * Makes the endpoint of an action: who asks, in which domain, may it, what does the body say, then the action itself.
 * Nothing of a body is read before it is clear that the caller may send it, except for what says who and where.
 */
export function createEndpoint(action: Action | RowOperation, needs: ApiDeps, serving: EndpointServices): Endpoint {
  const plan = action.accepts ? compileBodyParser(action.accepts) : null;
  const parents = parentsIn(action.at);
  const at = action.outsideVersion ? action.at : `${VERSION}/${action.at}`;
  return {
    method: action.method,
    at,
    ...(action.deprecated ? { headers: deprecationHeaders(action.deprecated) } : {}),
    async serve(incoming) {
      const base = { ...incoming, ...locate(action, incoming), needs };
      if (action.permission === "open") return servePublic(action, base, plan);
      const known = { action, base, plan, parents };
      return serveAuthenticated(known, needs, serving);
    },
  };
}

async function servePublic(
  action: PublicAction,
  base: RequestBase,
  plan: BodyParserPlan | null,
): Promise<HttpResponse> {
  try {
    const body = await readRequestBody(base, plan, base.needs);
    return await withUploadCleanup(body, base.needs, () =>
      action.handle({ ...base, body: decodeRequestBody(base, body, plan) }),
    );
  } catch (error) {
    if (!action.respondToError || isBug(error)) throw error;
    return action.respondToError(error, base);
  }
}

/** Placeholders above the last collection of a pattern, which name rows that the body may not contradict. */
function parentsIn(at: string): string[] {
  const above = at.slice(0, at.lastIndexOf("/") + 1);
  return [...above.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

type RequestBase = IncomingRequest & Omit<PublicRequest, "body">;

interface AuthenticatedCall {
  action: Exclude<Action, { permission: "open" }> & Partial<RowOperation>;
  base: RequestBase;
  plan: BodyParserPlan | null;
  parents: readonly string[];
}

async function serveAuthenticated(
  { action, base, plan, parents }: AuthenticatedCall,
  needs: ApiDeps,
  { presenter, deniedRequests, idempotency }: EndpointServices,
): Promise<HttpResponse> {
  const { principal, early } = await identifyCaller(base, plan, needs);
  const keeps = !parseDryRun(action, base);
  const query = textParameter(base.query, "domain");
  const header = query === null ? base.header("x-service-domain") : null;
  const overruling = early ?? (await readOverridingBody(header, principal, { action, base, plan }, needs));
  let acting: ActorContext | null = null;
  const actorIn = (domain: string | null): ActorContext => {
    acting = createActor(principal, domain, base, needs);
    return acting;
  };
  const serve = async (): Promise<HttpResponse> => {
    const overruled = query === null && overruling ? domainIdIn(overruling) : null;
    const by = actorIn(query ?? overruled ?? header);
    const request = requestOf(action, base, principal, by, presenter);
    if (!action.completeRequest) authorize(action, request);
    const handle = async (body: RawBody): Promise<HttpResponse> => {
      assertSameParents(body, base.params, parents);
      const inBody = query === null && overruled === null ? domainIdIn(body) : null;
      const full = {
        ...request,
        ...(inBody === null ? {} : { by: actorIn(inBody) }),
        body: decodeRequestBody(base, body, plan),
      };
      const complete = action.completeRequest ? action.completeRequest(full) : full;
      if (action.completeRequest || inBody !== null) authorize(action, complete);
      const carryOut = (given: typeof complete): Promise<HttpResponse> => action.handle(given);
      const run = (): Promise<HttpResponse> => {
        if (parseDryRun(action, base)) return executeDryRun(complete, carryOut, canChangeRings(action));
        if (!requestsRingDiff(action, base.query)) return idempotency(complete, carryOut);
        return idempotency(complete, (given) => withRingDiff(given, carryOut));
      };
      return withCloudProxy(run, { base, principal, body }, needs.proxyToCloud);
    };
    if (overruling) return handle(overruling);
    const body = await readRequestBody(base, plan, needs);
    return withUploadCleanup(body, needs, () => handle(body), keeps);
  };
  try {
    return await (overruling ? withUploadCleanup(overruling, needs, serve, keeps) : serve());
  } catch (error) {
    const refused = error instanceof CallerError && error.type === "forbidden";
    if (acting && refused) deniedRequests.record(acting, { method: base.method, at: action.at, path: base.path });
    throw error;
  }
}

/** The body, where nothing could be done in the domain known so far: a domain in the body may win over it. Null elsewhere. */
async function readOverridingBody(
  domain: string | null,
  principal: Principal,
  { action, base, plan }: Pick<AuthenticatedCall, "action" | "base" | "plan">,
  needs: ApiDeps,
): Promise<RawBody | null> {
  if (base.method === "get" || textParameter(base.query, "domain") !== null) return null;
  try {
    const { scope } = createActor(principal, domain, base, needs);
    const judged = action.permission !== "anyone" && !action.completeRequest;
    if (!judged || scope.allows(base.method, base.path)) return null;
  } catch {
    // The domain is refused, unless the body names another one.
  }
  return readRequestBody(base, plan, needs);
}

/** Throws invalid-value where a rehearsal is asked of what can't be rehearsed: better than doing it. */
function parseDryRun({ method, supportsDryRun }: AuthenticatedCall["action"], { query }: RequestBase): boolean {
  if (method === "get" || !isDryRun(query)) return false;
  if (!supportsDryRun) throw invalidValue("dryRun", "This can't be rehearsed.");
  return true;
}

/** Keeps uploaded files when `run` succeeds and `keeps` is true, or when nobody knows whether it did. */
async function withUploadCleanup(
  body: RawBody,
  { store }: ApiDeps,
  run: () => Promise<HttpResponse>,
  keeps = true,
): Promise<HttpResponse> {
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
async function identifyCaller(
  base: RequestBase,
  plan: BodyParserPlan | null,
  needs: ApiDeps,
): Promise<{ principal: Principal; early: RawBody | null }> {
  let token = accessTokenOf(base.header("authorization"), base.query);
  const byCookie = token === null ? authenticateSession(base, needs.access) : null;
  if (byCookie) return { principal: byCookie, early: null };
  let early: RawBody | null = null;
  if (base.method !== "get" && isUrlEncoded(base.raw)) {
    early = await readBody(base.raw, plan ?? compileBodyParser({}), { clock: needs.clock, files: needs.store.files });
    token = accessTokenInForm(early.value as Record<string, unknown>, token);
  }
  const principal = token === null ? null : needs.access.authenticate(token);
  if (!principal) throw unauthorized();
  return { principal, early };
}

function createActor(
  principal: Principal,
  domain: string | null,
  { address }: RequestBase,
  { access }: ApiDeps,
): ActorContext {
  return { actor: actorOf(principal, address), scope: access.resolveScope(principal, domain) };
}

function authorize(action: Partial<RowOperation>, request: ApiRequest): void {
  if (action.permission === "anyone") return;
  const { scope } = request.by;
  const path = action.permissionPath ? action.permissionPath(request.path) : request.path;
  if (scope.allows(request.method, path)) return;
  throw action.isVisible && !action.isVisible(request, scope) ? notFound() : forbidden();
}

async function readRequestBody(base: RequestBase, plan: BodyParserPlan | null, needs: ApiDeps): Promise<RawBody> {
  if (!plan || base.method === "get") return NO_BODY;
  return readBody(base.raw, plan, { clock: needs.clock, files: needs.store.files });
}

/** A method that `_method` asked for has its parameters in the query. */
function decodeRequestBody(base: RequestBase, body: RawBody, plan: BodyParserPlan | null): Record<string, unknown> {
  if (!plan) return {};
  const given = base.overridden ? ({ ...NO_BODY, kind: "form", value: base.query } as const) : body;
  return decodeBody(given, plan);
}

/** Throws invalid-value where the body names another parent than the path. @source interfaces.md, Extensions, endpoints, devices */
function assertSameParents(
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

function domainIdIn({ value }: RawBody): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return textParameter(value as Record<string, unknown>, "domain");
}

function locate(
  { at, outsideVersion }: Action,
  { path, params: given }: IncomingRequest,
): { path: string; params: Record<string, string> } {
  const params = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.toLowerCase()]));
  return { path: outsideVersion ? `/${at}` : path.slice(VERSION.length), params };
}

function requestOf(
  { at, rowPath, binaryTypes = [] }: Pick<Action, "at" | "rowPath" | "binaryTypes">,
  base: RequestBase,
  principal: Principal,
  by: ActorContext,
  presenter: Presenter,
): RowRequest {
  /** An action at one of the resource's own paths shows rows as they stand there. */
  const showing = (
    resource: AnyResource,
    ids: Readonly<Record<string, unknown>>,
    request: ApiRequest,
  ): PresentationContext => {
    const path = rowPath ?? resource.paths.find((each) => each.at === at);
    const place = path ? { path, collection: collectionIn(base.path, at, path.at) } : presenter.locate(resource, ids);
    return { by: request.by, query: base.query, params: request.params, place };
  };
  return {
    ...base,
    principal,
    by,
    presenter,
    body: {},
    readBytes: () => bytesOf(binaryTypes, base),
    respondWithRow(resource, row) {
      const shown = row as unknown as UntypedRow;
      return presenter.presentRow(resource, shown, showing(resource, shown, this));
    },
    respondWithList(resource, restriction, sight) {
      return presenter.presentList(resource, restriction, showing(resource, base.params, this), sight);
    },
  };
}

function bytesOf(types: readonly string[], { raw, needs }: RequestBase): AsyncIterable<Uint8Array> {
  if (!types.includes(mediaTypeOf(raw))) throw unsupportedMediaType(`Send ${types.join(" or ")}.`);
  return readUpload(raw, needs.clock);
}

/** The concrete collection in a path that may name one of its items. */
function collectionIn(path: string, at: string, collection: string): string {
  return at === collection ? path : path.slice(0, path.lastIndexOf("/"));
}
