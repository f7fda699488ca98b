import { createApplication, rotateSecret, type WithSecret } from "../../access/clients.ts";
import applications from "../../resources/security/applications.ts";
import { text } from "../../schema/field.ts";
import { type Action, type Answer, type ApiRequest, visibleRow } from "../action.ts";
import { withMembers } from "./answer-members.ts";

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
    answers: WITH_SECRET,
    accepts: applications.fields,
    async handle(request) {
      const { needs, body, by } = request;
      return shown(request, await createApplication(needs.store, body, by, needs.clock.now()));
    },
  },
  {
    method: "post",
    at: "applications/{applicationId}/rotate-secret",
    doc: "Gives an application a new secret, told here and never again; the old one is refused at once, tokens stay.",
    answers: WITH_SECRET,
    async handle(request) {
      const { needs, params, by } = request;
      const { id } = visibleRow(request, applications, params.applicationId ?? "");
      return shown(request, await rotateSecret(needs.store, id, by, needs.clock.now()));
    },
  },
];

async function shown(request: ApiRequest, { row, clientSecret }: WithSecret): Promise<Answer> {
  return withMembers(await request.show(applications, row), { clientSecret });
}
