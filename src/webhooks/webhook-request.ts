import { interpolateAll } from "../lib/interpolation.ts";
import ruleActions from "../resources/scenarios/rule-actions.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import type triggers from "../resources/webhooks/triggers.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";
import { type AuditedWrite, webhookBody } from "./webhook-message.ts";

/** What is sent, without the signature. */
export interface WebhookRequest {
  method: string;
  headers: Record<string, string>;
  /** Null for a method without a body. */
  body: string | null;
}

const JSON_TYPE = "application/json; charset=utf-8";

/** The request for an event: a POST of the event, or what the rule action of the trigger says. */
export function webhookRequest(trigger: RowOf<typeof triggers>, entry: AuditedWrite, store: Store): WebhookRequest {
  const event = webhookBody(entry);
  const headers = { "content-type": JSON_TYPE, "user-agent": "Carillon" };
  const row = trigger.scenarioId === null ? null : store.get(ruleActions, trigger.id);
  const webhook = row?.action.webhook;
  if (!row || !webhook) return { method: "POST", headers, body: event };
  const method = webhook.method ?? "POST";
  const own = {
    ...(row.headers === null ? {} : (JSON.parse(store.secrets.open(row.headers)) as Record<string, string>)),
    ...(row.authorization === null ? {} : { authorization: store.secrets.open(row.authorization) }),
  };
  if (method === "GET" || method === "DELETE")
    return { method, headers: { "user-agent": "Carillon", ...own }, body: null };
  const template = webhook.body ?? null;
  if (template === null) return { method, headers: { ...headers, ...own }, body: event };
  const scenario = store.get(scenarios, row.scenarioId)?.name ?? "";
  const variables = new Map([["scenario", scenario], ...members("", JSON.parse(event))]);
  const body = filled(template, variables);
  const type = typeof template === "string" ? "text/plain; charset=utf-8" : JSON_TYPE;
  return { method, headers: { ...headers, "content-type": type, ...own }, body };
}

/** Text with its placeholders filled in; in JSON those of its strings, so that no value changes its structure. */
function filled(template: unknown, variables: ReadonlyMap<string, string>): string {
  const fill = (text: string): string => interpolateAll(text, variables, new Set());
  if (typeof template === "string") return fill(template);
  return JSON.stringify(template, (_name, value) => (typeof value === "string" ? fill(value) : value));
}

/** The single values of an event by their path, such as `data.row.id`. */
function members(prefix: string, value: unknown): [string, string][] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [[prefix, String(value)]];
  const below = prefix === "" ? "" : `${prefix}.`;
  return Object.entries(value).flatMap(([name, member]) => members(`${below}${name}`, member));
}
