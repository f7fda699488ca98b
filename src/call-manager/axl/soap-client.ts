import { Agent, request } from "node:https";
import type { Socket } from "node:net";
import { rootCertificates, type TLSSocket, connect as tlsConnect } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { type SentenceCode, sentence } from "../../lib/sentences/sentences.ts";
import type { ResolvedAddress, SsrfGuard } from "../../lib/ssrf-guard.ts";
import { ClusterError } from "../cluster-error.ts";

/** Longest accepted response. @source AXL developer guide: a cluster refuses to send more than 8 MB */
const MAX_BYTES = 16 * 1_048_576;
/** Timeouts of a connection and of a whole response: an alarm must follow a silent cluster within a minute. */
const CONNECT_TIMEOUT_MS = 8_000;
const RESPONSE_TIMEOUT_MS = 40_000;

export interface SoapClientDeps {
  policy: SsrfGuard;
  clock: Clock;
  signal: AbortSignal;
  host: string;
  port: number;
  /** Required fingerprint of the certificate; null: it must be signed by a trusted authority. */
  fingerprint: string | null;
  /** Trusted authorities besides those of Node.js, PEM. */
  authorities: string | null;
}

export interface SoapResponse {
  status: number;
  cookies: readonly string[];
  body: string;
}

/** HTTP client for one host with persistent connections. */
export interface SoapClient {
  /** Throws ClusterError: dns, connect, tls, timeout, too-long, stopped. */
  post(path: string, headers: Record<string, string>, body: string): Promise<SoapResponse>;
  close(): void;
}

/** The certificate is verified before a byte of a request is sent. */
export function createSoapClient(deps: SoapClientDeps): SoapClient {
  const { host, port, clock, signal } = deps;
  let address: ResolvedAddress | null = null;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = ((_options: object, done: (error: Error | null, socket?: Socket) => void) => {
    openTlsConnection(deps, address as ResolvedAddress).then((socket) => done(null, socket), done);
    // Node.js uses the socket that is passed to `done`.
    return undefined;
  }) as unknown as typeof agent.createConnection;

  async function post(path: string, headers: Record<string, string>, body: string): Promise<SoapResponse> {
    if (signal.aborted) throw new ClusterError("stopped", `${host}: cancelled`);
    address = await resolve(deps);
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
              fail(new ClusterError("too-long", sentence("cluster.too-long", { host, size: MAX_BYTES / 1_048_576 })));
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
      const onAbort = (): void => fail(new ClusterError("stopped", `${host}: cancelled`));
      const timer = clock.after(RESPONSE_TIMEOUT_MS, () =>
        fail(
          new ClusterError(
            "timeout",
            sentence("cluster.response-timeout", { host, seconds: RESPONSE_TIMEOUT_MS / 1000 }),
          ),
        ),
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

/** Opens a TLS connection and verifies the certificate. */
function openTlsConnection(deps: SoapClientDeps, address: ResolvedAddress): Promise<TLSSocket> {
  const { host, port, fingerprint, authorities, clock } = deps;
  return new Promise((fulfil, reject) => {
    const ca = authorities === null ? {} : { ca: [...rootCertificates, authorities] };
    // For a host that is given by its IP address, neither a fingerprint nor an authority vouches for a name.
    const socket = tlsConnect({
      ...{ host: address.address, port, ...ca, rejectUnauthorized: false },
      ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }),
    });
    const timer = clock.after(CONNECT_TIMEOUT_MS, () => {
      socket.destroy();
      reject(
        new ClusterError(
          "connect",
          sentence("cluster.connect-timeout", { host: `${host}:${port}`, seconds: CONNECT_TIMEOUT_MS / 1000 }),
        ),
      );
    });
    socket.once("error", (error) => {
      timer.cancel();
      reject(toCallError(error, `${host}:${port}`));
    });
    socket.once("secureConnect", () => {
      timer.cancel();
      const problem = certificateProblem(socket, `${host}:${port}`, fingerprint);
      if (problem === null) return fulfil(socket);
      socket.destroy();
      reject(new ClusterError("tls", problem));
    });
  });
}

/** Error text for an invalid certificate; null if it is valid. */
function certificateProblem(socket: TLSSocket, host: string, fingerprint: string | null): string | null {
  const shown = socket.getPeerCertificate().fingerprint256 ?? "";
  if (fingerprint !== null) {
    if (normalizeFingerprint(shown) === normalizeFingerprint(fingerprint)) return null;
    return sentence("cluster.fingerprint", { host, shown });
  }
  if (socket.authorized) return null;
  return sentence("cluster.untrusted", { host, error: String(socket.authorizationError), shown });
}

function normalizeFingerprint(fingerprint: string): string {
  return fingerprint.replaceAll(":", "").toLowerCase();
}

const CONNECTION_ERRORS: Readonly<Record<string, SentenceCode>> = {
  ECONNREFUSED: "cluster.connection-refused",
  EHOSTUNREACH: "cluster.unreachable",
  ENETUNREACH: "cluster.unreachable",
  ETIMEDOUT: "cluster.timeout",
  ECONNRESET: "cluster.reset",
  EPIPE: "cluster.closed",
};

function toCallError(error: Error, host: string): ClusterError {
  if (error instanceof ClusterError) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const known = CONNECTION_ERRORS[code];
  if (known !== undefined) return new ClusterError("connect", sentence(known, { host }), error);
  if (/SSL|TLS|CERT|EPROTO/.test(code)) return new ClusterError("tls", sentence("cluster.tls", { host }), error);
  if (/^HPE_/.test(code)) return new ClusterError("answer", sentence("cluster.http-invalid", { host }), error);
  return new ClusterError("connect", `${host}: ${error.message}.`, error);
}
