import { sleep } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { createSerialQueue } from "../../lib/serial-queue.ts";
import { ClusterError } from "../cluster-error.ts";
import type { AxlAccess } from "../cluster-types.ts";
import { createSoapClient, type SoapClientDeps, type SoapResponse } from "./soap-client.ts";
import { asSoapElement, escapeXmlText, type SoapElement, soapBody, textOfElement } from "./xml.ts";

/** AXL schema versions, newest first. @source AXL schemas 11.0 to 15.0 */
const AXL_VERSIONS = ["15.0", "14.0", "12.5", "12.0", "11.5", "11.0"] as const;
const DEFAULT_PORT = 8_443;
/** Backoff before a call is retried that the cluster was too busy for; an alarm must follow within a minute. @source docs/decisions/0205-call-manager.md, AXL */
const BUSY_PAUSES_MS = [1_000, 3_000];

/** The cluster refuses to send so many rows at once; `rows` is the row count, `suggested` the limit that it suggests. */
export class TooManyRowsError extends ClusterError {
  readonly suggested: number;

  constructor(host: string, rows: number, suggested: number) {
    super(
      "rows",
      sentence("error.host-refused-to-send-rows-rows-at-once-it-suggests-fewer-than-suggested", {
        host,
        rows,
        suggested,
      }),
    );
    this.suggested = suggested;
  }
}

export type AxlClientDeps = Pick<SoapClientDeps, "policy" | "clock" | "signal" | "authorities">;

/** AXL client of one cluster. */
export interface AxlClient {
  /** Host and port as configured. */
  readonly hostAndPort: string;
  /** Number of requests so far. */
  readonly requests: number;
  /** Release of the cluster; requested once. Throws ClusterError. */
  version(): Promise<string>;
  /** Calls an operation with its arguments as XML, one call at a time; returns its `return` element, or the whole response without one. Throws ClusterError. */
  call(operation: string, args: string): Promise<SoapElement>;
  /** Posts to another service of the same host, in the same queue. Throws ClusterError. */
  post(path: string, soapAction: string, envelope: string): Promise<SoapElement>;
  close(): void;
}

/**
 * Authenticates with the password until the cluster issues a session cookie, then uses the session; after an expired session
 * (401, 404) it retries once with the password. @source AXL developer guide: sessions, throttling, one request at a time
 */
export function createAxlClient(access: AxlAccess, deps: AxlClientDeps): AxlClient {
  const { clock, signal } = deps;
  const { host, port } = parseAddress(access.address);
  const place = `${host}:${port}`;
  const caller = createSoapClient({ ...deps, host, port, fingerprint: access.fingerprint });
  const password = `Basic ${Buffer.from(`${access.user}:${access.password}`, "utf8").toString("base64")}`;
  let session: string | null = null;
  let schema: string | null = null;
  let release: string | null = null;
  let requests = 0;
  const queue = createSerialQueue();

  async function send(path: string, soapAction: string, envelope: string): Promise<SoapResponse> {
    for (let tries = 0; ; tries++) {
      const usedSession = session;
      const sign: Record<string, string> = usedSession === null ? { Authorization: password } : { Cookie: usedSession };
      const headers = { ...sign, "Content-Type": "text/xml; charset=utf-8", SOAPAction: `"${soapAction}"` };
      requests += 1;
      const answer = await caller.post(path, headers, envelope);
      session = sessionIn(answer.cookies) ?? usedSession;
      if (usedSession !== null && (answer.status === 401 || answer.status === 404)) session = null;
      else if (answer.status === 503 && tries < BUSY_PAUSES_MS.length)
        await sleep(clock, BUSY_PAUSES_MS[tries] ?? 0, signal);
      else return answer;
    }
  }

  async function exchange(path: string, soapAction: string, envelope: string): Promise<SoapElement> {
    const answer = await send(path, soapAction, envelope);
    if (answer.status !== 200 && answer.status !== 500) throw httpStatusError(answer, place, access.user);
    const body = soapBody(answer.body, place);
    if ("Fault" in body) throw toSoapError(asSoapElement(body.Fault), place);
    if (answer.status !== 200)
      throw new ClusterError("answer", sentence("cluster.status", { host: place, status: answer.status }));
    return body;
  }

  async function callWith(version: string, operation: string, args: string): Promise<SoapElement> {
    const body = await exchange("/axl/", `CUCM:DB ver=${version} ${operation}`, envelopeOf(version, operation, args));
    const answer = body[`${operation}Response`];
    if (answer === undefined)
      throw new ClusterError("answer", sentence("cluster.operation-invalid", { host: place, operation }));
    return asSoapElement(answer);
  }

  /** Tries the newest schema first, since no response lists the schemas that a cluster supports. */
  async function negotiate(): Promise<{ schema: string; release: string }> {
    for (const each of AXL_VERSIONS) {
      try {
        const answer = asSoapElement((await callWith(each, "getCCMVersion", "")).return);
        const release = textOfElement(asSoapElement(answer.componentVersion).version);
        const [, number] = /^(\d+\.\d+)/.exec(release) ?? [];
        return { schema: AXL_VERSIONS.find((known) => known === number) ?? each, release };
      } catch (error) {
        const code = error instanceof ClusterError ? error.code : null;
        if (code !== "version" && code !== "fault") throw error;
      }
    }
    throw new ClusterError(
      "version",
      sentence("cluster.no-version", { host: place, versions: AXL_VERSIONS.join(", ") }),
    );
  }

  async function negotiated(): Promise<{ schema: string; release: string }> {
    if (schema === null || release === null) ({ schema, release } = await negotiate());
    return { schema, release };
  }

  return {
    hostAndPort: place,
    get requests() {
      return requests;
    },
    version: () => queue.run(async () => (await negotiated()).release),
    call: (operation, args) =>
      queue.run(async () => {
        const answer = await callWith((await negotiated()).schema, operation, args);
        return "return" in answer ? asSoapElement(answer.return) : answer;
      }),
    post: (path, soapAction, envelope) => queue.run(() => exchange(path, soapAction, envelope)),
    close: caller.close,
  };
}

/** Host and port of `host`, `host:port`, `[address]:port` or a bare IPv6 address. */
function parseAddress(address: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(address) ?? [];
  return { host: bracketed ?? plain ?? address, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** SOAP request. Child elements of the operation are unqualified. @source AXL schemas */
function envelopeOf(version: string, operation: string, args: string): string {
  const namespace = `http://www.cisco.com/AXL/API/${version}`;
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">' +
    `<soapenv:Body><axl:${operation} xmlns:axl="${namespace}">${args}</axl:${operation}></soapenv:Body></soapenv:Envelope>`
  );
}

export function soapElement(name: string, text: string | number): string {
  return `<${name}>${escapeXmlText(String(text))}</${name}>`;
}

function sessionIn(cookies: readonly string[]): string | null {
  for (const cookie of cookies) {
    const [, value] = /^(JSESSIONIDSSO=[^;\s]+)/.exec(cookie) ?? [];
    if (value !== undefined) return value;
  }
  return null;
}

function httpStatusError({ status }: SoapResponse, place: string, user: string): ClusterError {
  if (status === 401) return new ClusterError("credentials", sentence("cluster.credentials", { host: place, user }));
  if (status === 403) return new ClusterError("role", sentence("cluster.role", { user, host: place }));
  if (status === 404) return new ClusterError("not-there", sentence("cluster.no-service", { host: place }));
  if (status === 503) return new ClusterError("busy", sentence("cluster.busy", { host: place }));
  if (status === 599) return new ClusterError("version", sentence("cluster.version", { host: place }));
  return new ClusterError("answer", sentence("cluster.status", { host: place, status }));
}

/** The wording differs by release. @source AXL developer guide, data throttling */
const ROW_LIMIT = /Total rows matched:\s*(\d+).*?Suggest\w*\s+row\s+fetch:\s*less\s+than\s*(\d+)/is;
const MEMORY = /Maximum AXL Memory Allocation Consumed/i;

function toSoapError(fault: SoapElement, place: string): ClusterError {
  const faultString = textOfElement(fault.faultstring);
  const message =
    faultString === "" ? textOfElement(asSoapElement(asSoapElement(fault.detail).axlError).axlmessage) : faultString;
  const [, rows, suggested] = ROW_LIMIT.exec(message) ?? [];
  if (rows !== undefined) return new TooManyRowsError(place, Number(rows), Number(suggested));
  if (MEMORY.test(message)) return new ClusterError("busy", sentence("cluster.memory", { host: place }));
  return new ClusterError(
    "fault",
    message === ""
      ? sentence("cluster.refused-silently", { host: place })
      : sentence("cluster.refused", { host: place, reason: message.slice(0, 500) }),
  );
}
