import type { PluginRequest, PluginResponse, TextMessage } from "#plugin-api";
import { isSame, isSignatureValid } from "./callback-signatures.ts";
import type { DeliveryReceipt } from "./delivery-receipts.ts";
import { isRecord, parseGatewayBody, valuesAtFirst } from "./gateway-values.ts";
import type { InboundForm, ProviderForm, ReceiptForm } from "./providers/provider-form.ts";

export interface GatewayCallbackDeps {
  form: Pick<ProviderForm, "receipt" | "inbound" | "signature">;
  /** Required as `?token=` or bearer token; null to require a signature. */
  token: string | null;
  /** Key of the provider's signatures; null to require the token. */
  signatureSecret: string | null;
  /** Public URL of the plugin's routes. */
  baseUrl: string;
  /** Wall time, epoch ms. */
  now(): number;
  /** Resolves with false if the message could not be stored. */
  onMessage(message: TextMessage): Promise<boolean>;
  /** `delivery` is the delivery that the receipt's URL names; null if it names none. */
  onReceipt(receipt: DeliveryReceipt, delivery: number | null): void;
}

/** Handlers of the plugin's routes. Providers that have one URL for all events may use either. */
export interface GatewayCallbacks {
  /** 204 when stored, 503 to be retried. */
  inbound(request: PluginRequest): Promise<PluginResponse>;
  /** 204, also for unknown messages. */
  receipts(request: PluginRequest): Promise<PluginResponse>;
}

/** Parameter of receipt URLs with the id of the delivery. */
export const DELIVERY_PARAMETER = "delivery";

export function createGatewayCallbacks(deps: GatewayCallbackDeps): GatewayCallbacks {
  const { receipt: receiptForm, inbound: inboundForm } = deps.form;

  const inbound = async (values: unknown): Promise<PluginResponse> => {
    const [from] = valuesAtFirst(values, inboundForm.from);
    const text = textAt(values, inboundForm.text);
    if (from === undefined || text === null)
      return { status: 400, body: `${inboundForm.from} and ${inboundForm.text} must be given` };
    return { status: (await deps.onMessage({ from, text })) ? 204 : 503 };
  };

  const receipt = (values: unknown): PluginResponse => {
    const [delivery = ""] = valuesAtFirst(values, DELIVERY_PARAMETER);
    const read = receiptForm && parseGatewayReceipt(values, receiptForm, delivery);
    if (!read) {
      const names = receiptForm === null ? "a state" : `${receiptForm.id} and ${receiptForm.state}`;
      return { status: 400, body: `${names} must be given` };
    }
    deps.onReceipt(read, /^\d{1,15}$/.test(delivery) ? Number(delivery) : null);
    return { status: 204 };
  };

  const handle = async (
    request: PluginRequest,
    kindOf: (values: unknown) => "inbound" | "receipt",
  ): Promise<PluginResponse> => {
    const values = requestValues(request);
    if (!isAllowed(request, values, deps)) return { status: 401 };
    return kindOf(values) === "inbound" ? inbound(values) : receipt(values);
  };
  return {
    inbound: (request) =>
      handle(request, (values) => (isOtherEvent(values, inboundForm) && receiptForm ? "receipt" : "inbound")),
    receipts: (request) => handle(request, (values) => (isInboundEvent(values, inboundForm) ? "inbound" : "receipt")),
  };
}

/** Parses a receipt; null if its id or state is missing. `id` is used if the receipt itself has none. */
function parseGatewayReceipt(values: unknown, form: ReceiptForm, id = ""): DeliveryReceipt | null {
  const [name = id] = valuesAtFirst(values, form.id);
  const states = valuesAtFirst(values, form.state);
  const [first] = states;
  if (name === "" || first === undefined) return null;
  const isOneOf = (list: string) => (state: string) =>
    list.split(",").some((each) => each.trim().toLowerCase() === state.trim().toLowerCase());
  const lost = states.find(isOneOf(form.lost));
  const arrived = lost !== undefined ? false : states.every(isOneOf(form.arrived)) ? true : null;
  const [error] = form.error === null ? [] : valuesAtFirst(values, form.error);
  const state = lost ?? first;
  return { name, arrived, state: arrived === false && error !== undefined ? `${state}, ${error}` : state };
}

function isInboundEvent(values: unknown, { event }: InboundForm): boolean {
  return event !== null && valuesAtFirst(values, event.path).some((each) => event.pattern.test(each));
}

function isOtherEvent(values: unknown, form: InboundForm): boolean {
  return form.event !== null && valuesAtFirst(values, form.event.path).length > 0 && !isInboundEvent(values, form);
}

/** An empty text is a text; a missing one is not. */
function textAt(values: unknown, paths: string): string | null {
  const [text] = valuesAtFirst(values, paths);
  if (text !== undefined) return text;
  const names = paths.split(",").map((each) => each.trim());
  return isRecord(values) && names.some((name) => values[name] === "") ? "" : null;
}

/** Values of a request: its query, and its body as JSON, XML or form. */
function requestValues({ url, headers, body }: PluginRequest): Readonly<Record<string, unknown>> {
  const query = Object.fromEntries(new URL(url, "http://here").searchParams);
  const text = Buffer.from(body).toString("utf8");
  const type = String(headers["content-type"] ?? "");
  const parsed = /^application\/x-www-form-urlencoded/i.test(type) ? null : parseGatewayBody(text);
  const isStructured = parsed !== null && (parsed.kind === "json" || parsed.kind === "xml");
  const members = isStructured ? firstRecord(parsed.value) : Object.fromEntries(new URLSearchParams(text));
  // Parameters that the appliance put into the URL win, so that a body cannot replace them.
  const own = Object.fromEntries(
    ["token", DELIVERY_PARAMETER].flatMap((name) => (name in query ? [[name, query[name]]] : [])),
  );
  return { ...query, ...members, ...own };
}

/** Some gateways send a list with one event. */
function firstRecord(value: unknown): Readonly<Record<string, unknown>> {
  const found = Array.isArray(value) ? value.find(isRecord) : value;
  return isRecord(found) ? found : {};
}

function isAllowed(
  request: PluginRequest,
  values: Readonly<Record<string, unknown>>,
  deps: GatewayCallbackDeps,
): boolean {
  const { signature } = deps.form;
  if (deps.signatureSecret && signature !== null) {
    const signed = { url: `${deps.baseUrl}${request.url}`, headers: request.headers, now: deps.now() };
    return isSignatureValid(signature, deps.signatureSecret, { ...signed, body: Buffer.from(request.body) });
  }
  const bearer = /^Bearer (.+)$/i.exec(String(request.headers.authorization ?? ""))?.[1];
  const given = bearer ?? (typeof values.token === "string" ? values.token : "");
  return Boolean(deps.token) && isSame(given, deps.token ?? "");
}
