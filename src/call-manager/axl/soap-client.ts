import { Agent, request } from "node:https";
import type { Socket } from "node:net";
import { rootCertificates, type TLSSocket, connect as tlsConnect } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import type { ResolvedAddress, SsrfGuard } from "../../lib/ssrf-guard.ts";
import { ClusterError } from "../cluster-error.ts";

/** Longest answer that is taken. @source AXL developer guide: a cluster refuses to send more than 8 MB */
const MAX_BYTES = 16 * 1_048_576;
/** A connection, and a whole answer, take at most so long, so that an alarm follows a silent cluster within a minute. */
const CONNECT_MS = 8_000;
const ANSWER_MS = 40_000;

/** What calls to one host need. */
export interface SoapClientDeps {
  policy: SsrfGuard;
  clock: Clock;
  signal: AbortSignal;
  host: string;
  port: number;
  /** Fingerprint that the certificate must have; null: an authority must have signed it. */
  fingerprint: string | null;
  /** Authorities beside those that Node brings along, PEM. */
  authorities: string | null;
}

/** What came back. */
export interface SoapResponse {
  status: number;
  cookies: readonly string[];
  body: string;
}

/** Calls to one host over connections that stay open. */
export interface SoapClient {
  /** Throws ClusterFault: dns, connect, tls, timeout, too-long, stopped. */
  post(path: string, headers: Record<string, string>, body: string): Promise<SoapResponse>;
  close(): void;
}

/** Makes the caller. The certificate is judged before a byte of a request is sent. */
export function createSoapClient(needs: SoapClientDeps): SoapClient {
  const { host, port, clock, signal } = needs;
  let address: ResolvedAddress | null = null;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = ((_options: object, done: (error: Error | null, socket?: Socket) => void) => {
    openTlsConnection(needs, address as ResolvedAddress).then((socket) => done(null, socket), done);
    // Node takes what is handed to `done`.
    return undefined;
  }) as unknown as typeof agent.createConnection;

  async function post(path: string, headers: Record<string, string>, body: string): Promise<SoapResponse> {
    if (signal.aborted) throw new ClusterError("stopped", `${host}: called off`);
    address = await resolve(needs);
    return new Promise((fulfil, reject) => {
      const bytes = Buffer.from(body, "utf8");
      const call = request(
        { host, port, path, method: "POST", agent, headers: { ...headers, "Content-Length": bytes.length } },
        (response) => {
          const parts: Buffer[] = [];
          let length = 0;
          response.on("data", (part: Buffer) => {
            length += part.length;
            if (length > MAX_BYTES)
              fail(new ClusterError("too-long", `${host} sends an answer of more than ${MAX_BYTES / 1_048_576} MB.`));
            else parts.push(part);
          });
          response.on("error", fail);
          response.on("end", () => {
            settle();
            const cookies = response.headers["set-cookie"] ?? [];
            fulfil({ status: response.statusCode ?? 0, cookies, body: Buffer.concat(parts).toString("utf8") });
          });
        },
      );
      const onAbort = (): void => fail(new ClusterError("stopped", `${host}: called off`));
      const timer = clock.after(ANSWER_MS, () =>
        fail(new ClusterError("timeout", `${host} gave no whole answer within ${ANSWER_MS / 1000} s.`)),
      );
      const settle = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", onAbort);
      };
      const fail = (error: Error): void => {
        settle();
        call.destroy();
        reject(toCallError(error, host));
      };
      signal.addEventListener("abort", onAbort, { once: true });
      call.on("error", fail);
      call.end(bytes);
    });
  }

  return { post, close: () => agent.destroy() };
}

async function resolve({ policy, host }: SoapClientDeps): Promise<ResolvedAddress> {
  return policy.resolveAllowed(host).catch((error: Error) => {
    throw new ClusterError("dns", error.message, error);
  });
}

/** Opens a connection to a host that has shown the right certificate. */
function openTlsConnection(needs: SoapClientDeps, address: ResolvedAddress): Promise<TLSSocket> {
  const { host, port, fingerprint, authorities, clock } = needs;
  return new Promise((fulfil, reject) => {
    const ca = authorities === null ? {} : { ca: [...rootCertificates, authorities] };
    // Names are no part of what a fingerprint or an authority vouches for when the host is named by its address.
    const socket = tlsConnect({
      ...{ host: address.address, port, ...ca, rejectUnauthorized: false },
      ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }),
    });
    const timer = clock.after(CONNECT_MS, () => {
      socket.destroy();
      reject(new ClusterError("connect", `${host}:${port} does not take a connection within ${CONNECT_MS / 1000} s.`));
    });
    socket.once("error", (error) => {
      timer.cancel();
      reject(toCallError(error, `${host}:${port}`));
    });
    socket.once("secureConnect", () => {
      timer.cancel();
      const words = certificateProblem(socket, fingerprint);
      if (words === null) return fulfil(socket);
      socket.destroy();
      reject(new ClusterError("tls", `The certificate of ${host}:${port} ${words}`));
    });
  });
}

/** Why the certificate is not good, null when it is. */
function certificateProblem(socket: TLSSocket, fingerprint: string | null): string | null {
  const shown = socket.getPeerCertificate().fingerprint256 ?? "";
  if (fingerprint !== null) {
    if (normalizeFingerprint(shown) === normalizeFingerprint(fingerprint)) return null;
    return `is another one than axlFingerprint says. It shows SHA-256 ${shown}`;
  }
  if (socket.authorized) return null;
  return `is not trusted (${socket.authorizationError}). If it is the right one, set axlFingerprint to ${shown}`;
}

function normalizeFingerprint(fingerprint: string): string {
  return fingerprint.replaceAll(":", "").toLowerCase();
}

const CONNECTION_ERROR_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections",
  EHOSTUNREACH: "can't be reached",
  ENETUNREACH: "can't be reached",
  ETIMEDOUT: "does not answer",
  ECONNRESET: "broke off the connection",
  EPIPE: "broke off the connection",
};

function toCallError(error: Error, host: string): ClusterError {
  if (error instanceof ClusterError) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const words = CONNECTION_ERROR_TEXTS[code];
  if (words !== undefined) return new ClusterError("connect", `${host} ${words}.`, error);
  if (/SSL|TLS|CERT|EPROTO/.test(code))
    return new ClusterError("tls", `${host} does not speak TLS as it should.`, error);
  if (/^HPE_/.test(code)) return new ClusterError("answer", `${host} does not answer in HTTP.`, error);
  return new ClusterError("connect", `${host}: ${error.message}.`, error);
}
