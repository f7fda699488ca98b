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

/** A client secret stands in the answer that makes it and nowhere else. own choice: its name is clientSecret. */
export const applicationActions: readonly Action[] = [
  {
    method: "post",
    at: "applications",
    doc: "Makes an application; its secret is told here and never again.",
    response: WITH_SECRET,
    accepts: applications.fields,
    async handle(request) {
      const { needs, body, by } = request;
      return presentApplication(request, await createApplication(needs.store, body, by, needs.clock.now()));
    },
  },
  {
    method: "post",
    at: "applications/{applicationId}/rotate-secret",
    doc: "Gives an application a new secret, told here and never again; the old one is refused at once, tokens stay.",
    response: WITH_SECRET,
    async handle(request) {
      const { needs, params, by } = request;
      const { id } = requireVisibleRow(request, applications, params.applicationId ?? "");
      return presentApplication(request, await rotateClientSecret(needs.store, id, by, needs.clock.now()));
    },
  },
];

async function presentApplication(
  request: ApiRequest,
  { row, clientSecret }: ApplicationWithSecret,
): Promise<HttpResponse> {
  return addMembers(await request.respondWithRow(applications, row), { clientSecret });
}
