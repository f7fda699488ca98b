import type { Handed, PluginContext, PluginRequest } from "#plugin-api";
import type { Carrier, CarrierNeeds } from "./carrier.ts";

/** A provider's gateway. */
export interface GatewayNeeds extends Pick<CarrierNeeds, "sender"> {
  url: string;
  /** Templates with `{{to}}`, `{{text}}`, `{{sender}}` and `{{id}}`. */
  body: string;
  type: "application/json" | "application/x-www-form-urlencoded";
  /** Value of the header; null for none. */
  authorization: string | null;
  fetch: PluginContext["fetch"];
}

const ANSWER_MS = 20_000;

/** Posts each message; a 2xx takes it. */
export function createHttpCarrier({ url, body, type, authorization, sender, fetch }: GatewayNeeds): Carrier {
  const inBody = type === "application/json" ? inJson : encodeURIComponent;
  return {
    async send(to, text, id) {
      const values = { to, text, sender: sender ?? "", id: String(id ?? "") };
      try {
        const { status, body: said } = await fetch(filled(url, values, encodeURIComponent), {
          method: "POST",
          headers: { "content-type": type, ...(authorization === null ? {} : { authorization }) },
          body: filled(body, values, inBody),
          timeoutMs: ANSWER_MS,
        });
        return verdict(status, said);
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        return { taken: false, reason: `the gateway: ${words}`, retryable: true, down: true };
      }
    },
    forget: () => undefined,
  };
}

/** A gateway that refuses who asks, or has a fault of its own, would refuse others as well. */
function verdict(status: number, said: string): Handed {
  if (status >= 200 && status < 300) return { taken: true, level: "accepted" };
  const reason = `the gateway answered ${status}${said === "" ? "" : `: ${said.slice(0, 200)}`}`;
  const isOwnFault = status >= 500 || status === 401 || status === 403;
  return { taken: false, reason, retryable: isOwnFault || status === 429, down: isOwnFault };
}

function filled(template: string, values: Readonly<Record<string, string>>, masked: (text: string) => string): string {
  return template.replace(/\{\{(to|text|sender|id)\}\}/g, (_, name: string) => masked(values[name] ?? ""));
}

/** The text as it stands between the quotes of a JSON string. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The values of a request: of its query, and of its body as JSON or as a form. */
export function valuesOf({ url, headers, body }: PluginRequest): Record<string, string> {
  const query = new URL(url, "http://here").searchParams;
  const text = Buffer.from(body).toString("utf8");
  const isJson = String(headers["content-type"] ?? "").startsWith("application/json");
  const form = isJson ? jsonOf(text) : Object.fromEntries(new URLSearchParams(text));
  return { ...Object.fromEntries(query), ...form };
}

function jsonOf(text: string): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text);
    const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(members.flatMap(([name, each]) => (typeof each === "string" ? [[name, each]] : [])));
  } catch {
    return {};
  }
}
