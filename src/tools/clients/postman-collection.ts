import type { OpenApiDocument } from "../../http/openapi/document.ts";
import { type ApiOperation, apiOperations } from "./api-operations.ts";

const SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/** A request of the basic workflow: an operation, its body, and the variable that gets the id of the new row. */
interface WorkflowStep {
  name: string;
  id: string;
  body?: object;
  variable?: string;
}

/** @source docs/decisions/0042-api-contract.md, Basic workflow */
const BASIC_WORKFLOW: readonly WorkflowStep[] = [
  {
    ...{ name: "1. Create a user", id: "createUsers", variable: "userId" },
    body: { name: "Ann", email: "ann.{{$timestamp}}@example.org", type: "regular" },
  },
  {
    ...{ name: "2. Create a list", id: "createDistributionLists", variable: "distributionListId" },
    body: { name: "Staff {{$timestamp}}" },
  },
  {
    ...{ name: "3. Subscribe the user", id: "createUsersSubscriptions" },
    body: { distributionListId: "{{distributionListId}}" },
  },
  {
    ...{ name: "4. Register a device", id: "createUsersDevices", variable: "deviceId" },
    body: { type: "Android", name: "Phone", deviceIdentifier: "phone-{{$timestamp}}" },
  },
  {
    ...{ name: "5. Create a question", id: "createConfirmationRequests", variable: "confirmationRequestId" },
    body: { name: "Safe? {{$timestamp}}", options: ["Yes", "No"] },
  },
  {
    ...{ name: "6. Create a template", id: "createMessageTemplates", variable: "messageTemplateId" },
    body: {
      ...{ name: "Fire drill {{$timestamp}}", subject: "Fire drill", body: "Please leave the building." },
      confirmationRequestId: "{{confirmationRequestId}}",
      distributionListIds: ["{{distributionListId}}"],
    },
  },
  {
    ...{ name: "7. Send it as a drill", id: "createNotifications", variable: "notificationId" },
    body: { messageTemplateId: "{{messageTemplateId}}", drill: true },
  },
  { name: "8. See who has answered", id: "listNotificationsRecipients" },
];

/**
 * A collection of requests in Postman's format 2.1, which Bruno and Insomnia import, too: one folder per family, and
 * before them the basic workflow, whose requests build on each other. `url` and `token` are variables. @source Postman Collection Format 2.1.0
 */
export function writePostmanCollection(document: OpenApiDocument): string {
  const folders = new Map<string, ApiOperation[]>();
  const operations = apiOperations(document);
  for (const operation of operations) folders.set(operation.tag, [...(folders.get(operation.tag) ?? []), operation]);
  const collection = {
    info: { name: String(document.info.title), schema: SCHEMA, description: String(document.info.description) },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{token}}", type: "string" }] },
    variable: [
      { key: "url", value: "http://127.0.0.1:8080" },
      { key: "token", value: "" },
      ...BASIC_WORKFLOW.flatMap(({ variable }) => (variable === undefined ? [] : [{ key: variable, value: "" }])),
    ],
    item: [
      { name: "Basic workflow", item: BASIC_WORKFLOW.flatMap((step) => workflowRequests(step, operations)) },
      ...[...folders].map(([name, within]) => ({ name, item: within.map(requestOf) })),
    ],
  };
  return JSON.stringify(collection, null, 1);
}

function workflowRequests(step: WorkflowStep, operations: readonly ApiOperation[]) {
  return operations.filter(({ id }) => id === step.id).map((operation) => workflowRequest(step, operation));
}

/** A step of the workflow, which checks its response and keeps the id for the next ones. */
function workflowRequest({ name, body, variable }: WorkflowStep, operation: ApiOperation) {
  const exec = [
    'pm.test("accepted", function () { pm.response.to.have.status(200); });',
    ...(variable === undefined ? [] : [`pm.collectionVariables.set("${variable}", pm.response.json().id);`]),
  ];
  const event = [{ listen: "test", script: { type: "text/javascript", exec } }];
  return { ...requestOf({ ...operation, queryNames: [], example: body ?? operation.example }), name, event };
}

function requestOf({ id, method, path, pathNames, summary, queryNames, contentTypes, example }: ApiOperation) {
  const segments = path
    .slice(1)
    .replace(/\{(\w+)\}/g, ":$1")
    .split("/");
  const isJson = contentTypes.includes("application/json");
  const body = isJson
    ? {
        mode: "raw",
        raw: JSON.stringify(example ?? {}, null, 2),
        options: { raw: { language: "json" } },
      }
    : { mode: "file" };
  return {
    name: id,
    request: {
      method: method.toUpperCase(),
      description: summary,
      header: isJson ? [{ key: "Content-Type", value: "application/json" }] : [],
      ...(contentTypes.length > 0 ? { body } : {}),
      url: {
        raw: `{{url}}/api/${segments.join("/")}`,
        host: ["{{url}}"],
        path: ["api", ...segments],
        variable: pathNames.map((key) => ({ key, value: `{{${key}}}` })),
        query: queryNames.map((key) => ({ key, value: "", disabled: true })),
      },
    },
  };
}
