import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenMutePeer, PeerDeps } from "../peer.ts";

const NAME = "SEP00CA00000001";
const SILENT_STATISTICS =
  '<?xml version="1.0" encoding="UTF-8"?><StreamingStatistics><StreamStatus>Active</StreamStatus>' +
  "<RcvrPackets>0</RcvrPackets></StreamingStatistics>";

/** A phone that asks whether it may obey, says that it did, and counts no packet however often it is asked. */
const openMutePeer: OpenMutePeer = async (needs) => {
  let onAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/StreamingStatisticsX")) response.once("finish", onAsked);
    answer(request, needs).then(
      (body) => send(response, 200, body),
      () => send(response, 500, ""),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: { pushUser: "bell", pushPassword: "a mute phone's secret" },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f001",
      deviceIdentifier: NAME,
      attributes: { Name: NAME, IPAddress: "127.0.0.1", HttpPort: String(port), DeviceProduct: "Cisco 8845" },
    },
    proves: "accepted",
    asked: () => asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

export default openMutePeer;

async function answer(request: IncomingMessage, needs: PeerDeps): Promise<string> {
  if (request.url !== "/CGI/Execute") return SILENT_STATISTICS;
  const body = new URLSearchParams(await text(request)).get("XML") ?? "";
  if (!(await mayObey(request.headers.authorization ?? "", needs))) return '<CiscoIPPhoneError Number="4"/>';
  const items = [...body.matchAll(/ URL="([^"]*)"/g)].map(
    ([, url]) => `<ResponseItem Status="0" Data="Success" URL="${url}"/>`,
  );
  return `<CiscoIPPhoneResponse>${items.join("")}</CiscoIPPhoneResponse>`;
}

async function mayObey(authorization: string, needs: PeerDeps): Promise<boolean> {
  const [user = "", password = ""] = Buffer.from(authorization.slice(6), "base64").toString("utf8").split(":");
  const query = new URLSearchParams({ UserID: user, Password: password, devicename: NAME });
  const asked = await fetch(`${needs.urls()["ip-phones/auth"]}?${query}`);
  return (await asked.text()) === "AUTHORIZED";
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "Content-Type": "text/xml; charset=utf-8", Connection: "close" });
  response.end(body);
}
