import { createHash, createHmac } from "node:crypto";
import type { RtpEndpoint } from "../rtp-endpoints.ts";
import { freePort } from "./free-port.ts";
import { openLoopbackHttpServer, type ReceivedRequest } from "./http-server.ts";
import { receivedAudioOf, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";

const HOST = "127.0.0.1";
const PASSWORD = "simulator";

/** A horn with the Algo API: verifies signatures, receives a stream on request, has a volume. @source Algo RESTful API Guide */
export async function openAlgoHorn({ sources }: SimulatedServiceDeps): Promise<SimulatedService> {
  const heard: RtpEndpoint[] = [];
  let volume = "-6dB";
  const server = await openLoopbackHttpServer(async (request) => {
    if (!isSigned(request)) return { status: 401 };
    const route = `${request.method} ${request.url}`;
    const given = request.body.length > 0 ? (JSON.parse(request.body.toString("utf8")) as Record<string, unknown>) : {};
    if (route === "POST /api/controls/rx/start")
      heard.push(await sources.openUnicast(HOST, Number(given.port), "0.0.0.0"));
    else if (route === "POST /api/controls/rx/stop") for (const source of heard) sources.close(source);
    else if (route === "PUT /api/settings") volume = String(given["audio.page.vol"] ?? volume);
    else if (route === "GET /api/settings/audio.page.vol") return json({ "audio.page.vol": volume });
    else if (route !== "GET /api/info/about") return { status: 404 };
    return json({});
  });
  return {
    connectionSettings: { url: server.url, port: String(await freePort()), password: PASSWORD },
    receptions: () => heard.flatMap((source) => receivedAudioOf(source, "horn", String(source.port))),
    async stop() {
      for (const source of heard) sources.close(source);
      await server.stop();
    },
  };
}

const json = (value: object): { status: number; body: string } => ({ status: 200, body: JSON.stringify(value) });

function isSigned({ method, url, headers, body }: ReceivedRequest): boolean {
  const [, nonce = "", mark = ""] = /^hmac admin:(\d+):([0-9a-f]+)$/i.exec(headers.authorization ?? "") ?? [];
  const time = Math.floor(Date.parse(headers.date ?? "") / 1_000);
  const content = body.length > 0 ? `:${createHash("md5").update(body).digest("hex")}:application/json` : "";
  const signed = createHmac("sha256", PASSWORD).update(`${method}:${url}${content}:${time}:${nonce}`).digest("hex");
  return mark.toLowerCase() === signed;
}
