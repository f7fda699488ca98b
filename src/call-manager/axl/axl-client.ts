import { sleep } from "../../lib/clock.ts";
import { ClusterError } from "../cluster-error.ts";
import type { AxlAccess } from "../cluster-types.ts";
import { createSoapClient, type SoapClientDeps, type SoapResponse } from "./soap-client.ts";
import { asSoapElement, escapeXmlText, type SoapElement, soapBody, textOfElement } from "./xml.ts";

/** Releases of the schema, newest first. @source AXL schemas 11.0 to 15.0 */
const AXL_VERSIONS = ["15.0", "14.0", "12.5", "12.0", "11.5", "11.0"] as const;
const DEFAULT_PORT = 8_443;
/** Pauses before a call is made again that the cluster was too busy for. own choice: the alarm must follow within a minute */
const BUSY_PAUSES_MS = [1_000, 3_000];

/** A cluster refuses so many rows at once; `rows` is how many there are, `suggested` how many it would rather send. */
export class TooManyRowsError extends ClusterError {
  readonly suggested: number;

  constructor(host: string, rows: number, suggested: number) {
    super("rows", `${host} refuses to send ${rows} rows at once; it suggests less than ${suggested}.`);
    this.suggested = suggested;
  }
}

/** What the client needs beside its access. */
export type AxlClientDeps = Pick<SoapClientDeps, "policy" | "clock" | "signal" | "authorities">;

/** The administration interface of one cluster. */
export interface AxlClient {
  /** Host and port, as people know them. */
  readonly hostAndPort: string;
  /** Requests that were made so far. */
  readonly requests: number;
  /** Release that the cluster tells of itself; asked once. Throws ClusterFault. */
  version(): Promise<string>;
  /** Calls an operation with the XML of its arguments, one call at a time; its `return`, or its whole answer without one. Throws ClusterFault. */
  call(operation: string, args: string): Promise<SoapElement>;
  /** Posts to another service of the same host, in the same turn. Throws ClusterFault. */
  post(path: string, soapAction: string, envelope: string): Promise<SoapElement>;
  close(): void;
}

/**
 * Makes the client. It signs in with each request until the cluster hands out a session, then shows that; a session that
 * has ended (401, 404) is followed by one more try with the password.
 * @source AXL developer guide: sessions, throttling, one request at a time
 */
export function createAxlClient(access: AxlAccess, needs: AxlClientDeps): AxlClient {
  const { clock, signal } = needs;
  const { host, port } = parseAddress(access.address);
  const place = `${host}:${port}`;
  const caller = createSoapClient({ ...needs, host, port, fingerprint: access.fingerprint });
  const password = `Basic ${Buffer.from(`${access.user}:${access.password}`, "utf8").toString("base64")}`;
  let session: string | null = null;
  let schema: string | null = null;
  let release: string | null = null;
  let requests = 0;
  let queue: Promise<unknown> = Promise.resolve();

  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const run = queue.then(work);
    queue = run.catch(() => undefined);
    return run;
  }

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
    if (answer.status !== 200) throw new ClusterError("answer", `${place} answers HTTP ${answer.status}.`);
    return body;
  }

  async function callWith(version: string, operation: string, args: string): Promise<SoapElement> {
    const body = await exchange("/axl/", `CUCM:DB ver=${version} ${operation}`, envelopeOf(version, operation, args));
    const answer = body[`${operation}Response`];
    if (answer === undefined) throw new ClusterError("answer", `${place} answers ${operation} with something else.`);
    return asSoapElement(answer);
  }

  /** Asks in the newest schema first, since no answer says which ones a cluster knows. */
  async function negotiate(): Promise<{ schema: string; release: string }> {
    for (const each of AXL_VERSIONS) {
      try {
        const answer = asSoapElement((await callWith(each, "getCCMVersion", "")).return);
        const told = textOfElement(asSoapElement(answer.componentVersion).version);
        const [, number] = /^(\d+\.\d+)/.exec(told) ?? [];
        return { schema: AXL_VERSIONS.find((known) => known === number) ?? each, release: told };
      } catch (error) {
        const code = error instanceof ClusterError ? error.code : null;
        if (code !== "version" && code !== "fault") throw error;
      }
    }
    throw new ClusterError("version", `${place} knows none of the versions ${AXL_VERSIONS.join(", ")} of AXL.`);
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
    version: () => enqueue(async () => (await negotiated()).release),
    call: (operation, args) =>
      enqueue(async () => {
        const answer = await callWith((await negotiated()).schema, operation, args);
        return "return" in answer ? asSoapElement(answer.return) : answer;
      }),
    post: (path, soapAction, envelope) => enqueue(() => exchange(path, soapAction, envelope)),
    close: caller.close,
  };
}

/** Host and port of `host`, `host:port`, `[address]:port` or a bare IPv6 address. */
function parseAddress(address: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(address) ?? [];
  return { host: bracketed ?? plain ?? address, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** A request. Elements are unqualified inside the operation's. @source AXL schemas */
function envelopeOf(version: string, operation: string, args: string): string {
  const namespace = `http://www.cisco.com/AXL/API/${version}`;
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">' +
    `<soapenv:Body><axl:${operation} xmlns:axl="${namespace}">${args}</axl:${operation}></soapenv:Body></soapenv:Envelope>`
  );
}

/** An element without attributes. */
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
  if (status === 401)
    return new ClusterError(
      "credentials",
      `${place} does not know the user ${user}, or not with this password (HTTP 401).`,
    );
  if (status === 403)
    return new ClusterError(
      "role",
      `${place} knows the user ${user}, who lacks the role Standard AXL API Access (HTTP 403).`,
    );
  if (status === 404)
    return new ClusterError(
      "not-there",
      `${place} has no such service (HTTP 404): the AXL web service must be activated.`,
    );
  if (status === 503) return new ClusterError("busy", `${place} is too busy to answer (HTTP 503).`);
  if (status === 599) return new ClusterError("version", `${place} does not know this version of AXL (HTTP 599).`);
  return new ClusterError("answer", `${place} answers HTTP ${status}.`);
}

/** The words differ by release. @source AXL developer guide, data throttling */
const ROW_LIMIT = /Total rows matched:\s*(\d+).*?Suggest\w*\s+row\s+fetch:\s*less\s+than\s*(\d+)/is;
const MEMORY = /Maximum AXL Memory Allocation Consumed/i;

function toSoapError(fault: SoapElement, place: string): ClusterError {
  const told = textOfElement(fault.faultstring);
  const words = told === "" ? textOfElement(asSoapElement(asSoapElement(fault.detail).axlError).axlmessage) : told;
  const [, rows, suggested] = ROW_LIMIT.exec(words) ?? [];
  if (rows !== undefined) return new TooManyRowsError(place, Number(rows), Number(suggested));
  if (MEMORY.test(words)) return new ClusterError("busy", `${place} has no memory left for AXL at the moment.`);
  return new ClusterError("fault", `${place} refuses: ${words.slice(0, 500) || "it does not say why"}`);
}
