import type { Principal } from "../auth/principal.ts";
import { notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource, Deprecation, Method, ResourcePath, RowOf } from "../schema/resource.ts";
import type { AccessScope, ActorContext, PageQuery, RowVisibility } from "../store/store.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { ResponseShape } from "./openapi/response-shape.ts";
import type { Query } from "./query/query.ts";

/** A request that needs no token. */
export interface PublicRequest {
  readonly method: Method;
  /** Path below /v1, however it was spelt, with ids as sent and a leading slash: `/users/0190…/tokens`. */
  readonly path: string;
  /** Ids of the path's placeholders by name, in lower case. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, names in camelCase. */
  readonly query: Query;
  /** The body's members that `accepts` names, decoded (an uploaded file is an UploadedFile), and `id`; {} without a body. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** Network address of the client. */
  readonly address: string | null;
  /** True when the request came over TLS. */
  readonly secure: boolean;
  readonly needs: ApiDeps;
  /** A request header by its name in lower case, null when absent. */
  header(name: string): string | null;
}

/** A request of a known user. */
export interface ApiRequest extends PublicRequest {
  readonly principal: Principal;
  /** The user and what it may do in the acting domain. */
  readonly by: ActorContext;
  /** The body as it arrives, for an action that `takesBytes`. Throws unsupported-media-type, and while reading what `arriving` throws. */
  readBytes(): AsyncIterable<Uint8Array>;
  /** The answer that shows one row, with what the query's `include…` flags ask for. */
  respondWithRow<R extends AnyResource>(resource: R, row: RowOf<R>): Promise<HttpResponse>;
  /**
   * The answer that lists a resource as the query's filters, `limit`, `start`, `sort` … ask, in what the user may see.
   * `restriction` narrows it further, `sight` replaces what the user may see; rows have the permissions of the action's
   * path if the resource is shown there, else of the first.
   */
  respondWithList(
    resource: AnyResource,
    restriction: Pick<PageQuery, "within" | "through" | "filters" | "pks" | "pksOf" | "ids">,
    sight?: RowVisibility,
  ): Promise<HttpResponse>;
}

/** Headers of requests that only some endpoints heed. */
export type HeaderName = "If-Match";

interface ActionBase {
  method: Method;
  /** Path below `/api/v1/`, such as `users/{userId}/tokens`. Replaces the generic operation of the same method and path. */
  at: string;
  /** True when `at` lies directly below `/api/`. */
  outsideVersion?: boolean;
  /** The path at which the rows of the answer stand, where no declaration says so. */
  rowPath?: ResourcePath;
  /** What it does, in one sentence; shown in the API's description, as is all below. */
  doc: string;
  /** What it answers when all is well. */
  response: ResponseShape;
  /** Members that a body may have, decoded by their kinds; bodies are not looked at without. */
  accepts?: Readonly<Record<string, Field>>;
  /** Content types of a body that is no form and no JSON but bytes of any length. */
  binaryTypes?: readonly string[];
  /** Query parameters beside those that come with what it answers, in camelCase. */
  query?: Readonly<Record<string, Field>>;
  /** Headers that it heeds. */
  headers?: readonly HeaderName[];
  /** That it should no longer be used, told in every answer's headers. */
  deprecated?: Deprecation;
  /** What it answers when something is wrong, where that is more than the API's usual error. */
  errorResponse?: Extract<ResponseShape, { kind: "page" | "members" }>;
}

/** An endpoint for known users. */
export interface GuardedAction extends ActionBase {
  /**
   * `path`: the user needs the permission for method and path as requested (such as a post on `/users/0190…/tokens`), else 403.
   * `anyone`: every known user; the function decides. `path` unless said otherwise.
   */
  permission?: "path" | "anyone";
  /** True when `?dryRun=true` rehearses it: it writes through the request's `needs.store` alone. Others refuse the parameter. */
  supportsDryRun?: boolean;
  /** Whether the caller sees what the path names: what it may not see is not found instead of forbidden. */
  isVisible?: (request: Pick<ApiRequest, "params" | "needs">, scope: AccessScope) => boolean;
  handle(request: ApiRequest): Promise<HttpResponse>;
}

/** An endpoint that needs no token, such as log-in. */
export interface PublicAction extends ActionBase {
  permission: "open";
  handle(request: PublicRequest): Promise<HttpResponse>;
  /** Answers a fault of the request in a form of its own, such as a page. Mistakes of ours never get here. */
  respondToError?(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse;
}

/**
 * An endpoint that is not create, read, update or delete of a row. It calls a function of a room and wraps what that
 * returns; it holds no logic.
 */
export type Action = GuardedAction | PublicAction;

/** Wraps a JSON value (times already as ISO texts). */
export function jsonResponse(value: unknown, status = 200): HttpResponse {
  return { status, body: JSON.stringify(value) };
}

/** The answer to a deletion. @source service-api.md, Common rules 6; decisions.md 1 */
export function deletedResponse(id: string): HttpResponse {
  return jsonResponse({ status: 200, message: `deleted ${id}`, resources: [{ id }] });
}

/** The row that the user may see under `id`. Throws not-found. */
export function requireVisibleRow<R extends AnyResource>(request: ApiRequest, resource: R, id: string): RowOf<R> {
  const row = request.needs.store.get(resource, id, request.by.scope);
  if (!row) throw notFound();
  return row;
}
