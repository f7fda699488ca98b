import { type ApplicationWithSecret, createApplication, rotateClientSecret } from "../../auth/oauth-clients.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import applications from "../../resources/security/applications.ts";
import { text } from "../../schema/field.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { addMembers } from "./add-members.ts";

const WITH_SECRET = {
  kind: "row",
  resource: applications,
  with: { clientSecret: text("The client secret; null for a public application.") },
} as const;

/** The client secret is returned only by the request that creates it. */
export const applicationActions: readonly Action[] = [
  {
    method: "post",
    at: "applications",
    doc: "Creates an application. The client secret is returned only here.",
    response: WITH_SECRET,
    accepts: applications.fields,
    async handle(request) {
      const { deps, body, by } = request;
      return presentApplication(request, await createApplication(deps.store, body, by, deps.clock.now()));
    },
  },
  {
    method: "post",
    at: "applications/{applicationId}/rotate-secret",
    doc: "Replaces the client secret; it is returned only here. The old secret becomes invalid immediately; tokens stay valid.",
    response: WITH_SECRET,
    async handle(request) {
      const { deps, params, by } = request;
      const { id } = requireVisibleRow(request, applications, params.applicationId ?? "");
      return presentApplication(request, await rotateClientSecret(deps.store, id, by, deps.clock.now()));
    },
  },
];

async function presentApplication(
  request: ApiRequest,
  { row, clientSecret }: ApplicationWithSecret,
): Promise<HttpResponse> {
  return addMembers(await request.respondWithRow(applications, row), { clientSecret });
}
